// Elements from data. Text goes in as text, never as markup, so nothing that a commit's subject says can become part of
// the page.

/** An element: attributes by name, `on…` as listeners; children are elements, texts, or nothing. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** A link for http and https, else its text alone: an address in the data may be anything. */
export function link(address, text, attributes = {}) {
  if (!isWebAddress(address)) return element('span', attributes, text);
  return element('a', { href: address, rel: 'noopener noreferrer', ...attributes }, text);
}

export function isWebAddress(address) {
  return /^https?:\/\//i.test(address ?? '');
}

/**
 * A table. Columns: {title, number, head} where `head` marks the column that names the row. Cells are texts or elements.
 * It lies in a box of its own that scrolls where the screen is narrow, reachable by keyboard.
 */
export function table(caption, columns, rows, attributes = {}) {
  const cell = (content, column, index) => {
    const shared = { class: column.number ? 'number' : undefined };
    return (column.head ?? index === 0)
      ? element('th', { scope: 'row', ...shared }, content ?? '–')
      : element('td', shared, content ?? '–');
  };
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    element('table', attributes,
      element('caption', {}, caption),
      element('thead', {}, element('tr', {}, columns.map((column) =>
        element('th', { scope: 'col', class: column.number ? 'number' : undefined }, column.title)))),
      element('tbody', {}, rows.map((row) =>
        element('tr', {}, row.map((content, index) => cell(
          columns[index].number && typeof content === 'string' ? withQuietInterval(content) : content, columns[index], index)))))));
}

/** Elements of SVG, as icons. */
export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The value and, in brackets and quieter, its interval. */
export function withQuietInterval(text) {
  const [value, interval] = (text ?? '').split(' (');
  return interval === undefined ? text : [`${value} `, element('span', { class: 'muted' }, `(${interval}`)];
}

let choosers = 0;

/** A labelled <select>. Groups: [{label?, options: [[value, text], …]}, …]. */
export function chooser(label, groups, chosen, onchange) {
  const option = ([value, text]) => element('option', { value, selected: value === chosen }, text);
  const id = `chooser-${(choosers += 1)}`;
  const select = element('select', { id, onchange: () => onchange(select.value) },
    groups.map((group) => group.label
      ? element('optgroup', { label: group.label }, group.options.map(option))
      : group.options.map(option)));
  return element('div', { class: 'chooser' }, element('label', { for: id }, label), select);
}

/** Buttons of which one is pressed. Options: [[value, text], …]. */
export function switcher(label, options, chosen, onchange) {
  const group = element('div', { class: 'switcher', role: 'group', 'aria-label': label });
  const press = (value) => {
    for (const button of group.children) button.setAttribute('aria-pressed', button.dataset.value === value);
  };
  for (const [value, text] of options) {
    group.append(element('button', {
      type: 'button', 'data-value': value, onclick: () => { press(value); onchange(value); },
    }, text));
  }
  press(chosen);
  return group;
}
