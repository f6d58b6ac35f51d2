// The sections of the page. Each gives {id, title, content}, or undefined when the data has nothing for it.

import { look } from './charts.js';
import { ComparisonChart } from './comparison.js';
import {
  changesOf, comparisons, estimateOf, figuresOf, isOurs, point, referencesOf, scenariosWith, seriesOf, serverName, serversOf, titleOf,
} from './data.js';
import { chooser, element, link, switcher, table } from './dom.js';
import { LatencyChart } from './latency.js';
import { isWorse, scaleOf, TrendChart } from './trend.js';
import {
  day, duration, figure, figureNames, microseconds, minute, percent, ratio, shortId, verdictMark, verdictText, withInterval,
} from './words.js';

const kDefaultMargin = 0.02;
const kMostButtons = 2;  // more choices than these are a list
const marginOf = (data) => data.latest?.method?.margin ?? kDefaultMargin;
const note = (...content) => element('p', { class: 'note' }, ...content);

/** What may be opened: a figure as a table. `rows()` is asked when it is opened, and by refresh() while it is. */
function figureAsTable(summary, rows) {
  const body = element('div');
  const details = element('details', {}, element('summary', {}, summary), body);
  const refresh = () => { if (details.open) body.replaceChildren(rows()); else body.replaceChildren(); };
  details.addEventListener('toggle', refresh);
  return { element: details, refresh };
}

const verdictCell = (verdict, text) => element('span', {},
  element('span', { class: `verdict ${verdict}`, 'aria-hidden': 'true' }, verdictMark[verdict] ?? '?'), ` ${text}`);

const commitCell = (commit) => [link(commit?.url, shortId(commit), { class: 'id' }), ' ', commit?.subject ?? ''];

// ---- The latest run ----

export function latest({ data }) {
  const references = referencesOf(data);
  const figures = figuresOf(data, figureNames).filter((name) => seriesOf(data, { figure: name }).some((one) => one.to !== undefined));
  const servers = serversOf(data).filter((name) =>
    references.some((to) => figures.some((one) => comparisons(data, { figure: one, to, server: name }).length > 0)));
  if (servers.length === 0) {
    return { id: 'latest', title: 'Latest comparison', content: note('The latest run has no ratio to nginx or to the floor.') };
  }
  const margin = marginOf(data);
  const choice = { figure: figures[0], to: references[0], server: servers[0], scenario: undefined };
  const chart = new ComparisonChart('comparison', data, {
    choice: () => choice, margin, label: () => `Ratios to ${choice.to} in the latest run: ${figure(choice.figure).label}, with intervals`,
  });
  const nothing = note();
  const tabled = figureAsTable('As a table', () => comparisonTable(data, choice, margin));
  const meaning = note();
  const update = () => {
    chart.draw();
    tabled.refresh();
    nothing.hidden = comparisons(data, choice).length > 0;
    nothing.textContent = choice.server === choice.to ? `${choice.to} is what is compared with here: choose another server.`
      : 'The latest run has no such ratio.';
    meaning.textContent = `A bar goes from 1, which is ${choice.to}, to the median of the ratio; the whisker is its ` +
      `${Math.round((data.latest?.method?.confidence ?? 0.95) * 100)} % interval; the grey band is ±${margin * 100} %. ` +
      `${figure(choice.figure).better === 'less' ? 'Left of 1 is better.' : 'Right of 1 is better.'} A dashed bar is inconclusive: ` +
      'the run does not say on which side the truth is. An arrow: the bar goes on beyond the axis.';
  };
  const rowsChooser = chooser('Show', [
    { label: 'One server in every scenario', options: servers.map((name) => [`server ${name}`, name]) },
    {
      label: 'Every server in one scenario',
      options: data.latest.scenarios.map((one) => [`scenario ${one.name}`, one.title ?? one.name]),
    },
  ], `server ${servers[0]}`, (value) => {
    const [kind, ...rest] = value.split(' ');
    choice.server = kind === 'server' ? rest.join(' ') : undefined;
    choice.scenario = kind === 'scenario' ? rest.join(' ') : undefined;
    update();
  });
  const content = element('div', {},
    element('div', { class: 'controls' }, rowsChooser,
      (figures.length > kMostButtons ? (label, options, ...rest) => chooser(label, [{ options }], ...rest) : switcher)(
        'Figure', figures.map((name) => [name, figure(name).label]), choice.figure, (value) => { choice.figure = value; update(); }),
      references.length > 1
        ? switcher('Compared with', references.map((to) => [to, `÷ ${to}`]), choice.to, (value) => { choice.to = value; update(); }) : null),
    chart.element, nothing, meaning, tabled.element);
  update();
  return { id: 'latest', title: 'Latest comparison', content };
}

function comparisonTable(data, choice, margin) {
  const { unit, text, label } = figure(choice.figure);
  const valueOf = (row) => withInterval(
    estimateOf(row.scenario.servers.find((one) => serverName(one) === row.server), choice.figure), text, unit);
  return table(`${label} of the latest run, ÷ ${choice.to}`, [
    { title: 'Scenario', head: true }, { title: 'Server' }, { title: label, number: true },
    { title: `÷ ${choice.to}`, number: true }, { title: 'Verdict' }],
  comparisons(data, choice).map((row) => [
    row.scenario.title ?? row.scenario.name, row.server, valueOf(row), withInterval(row.estimate, ratio),
    row.void ? verdictCell('void', `void: ${row.void.join('; ')}`)
      : verdictCell(row.estimate.verdict, verdictText(row.estimate, choice.figure, choice.to, margin))]));
}

// ---- Over time ----

const kLastRuns = [20, 50];

export function overTime({ data, live }) {
  const figures = figuresOf(data, figureNames);
  if (figures.length === 0) return undefined;
  const references = referencesOf(data);
  const choice = { figure: figures[0], to: references[0] };
  choice.scenario = scenariosWith(data, { figure: choice.figure })[0];
  const charts = [];
  const tables = [];
  // Both charts show the same runs.
  const zoom = {
    start: 0, end: 100,
    set(start, end) { Object.assign(this, { start, end }); charts.forEach((chart) => chart.draw()); },
    changed(start, end) {
      if (start === this.start && end === this.end) return;
      Object.assign(this, { start, end });
      for (const { echart } of charts) echart?.dispatchAction({ type: 'dataZoom', start, end });
    },
  };
  const ratioSeries = () => seriesOf(data, { ...choice, to: choice.to ?? '' }).filter((one) => isOurs(one.server));
  const serverSeries = () => inServerOrder(data, seriesOf(data, { ...choice, to: null }));
  const chart = (name, series, label) => {
    const made = new TrendChart(name, data, { series, margin: marginOf(data), zoom, live, label });
    charts.push(made);
    return made;
  };
  const what = () => `${figure(choice.figure).label}, ${titleOf(data, choice.scenario)}`;
  const keys = 'Arrow keys go from run to run, Enter opens the commit.';
  const parity = chart('parity', ratioSeries, () => `${what()}: ours ÷ ${choice.to} over ${data.runs.length} runs. ${keys}`);
  const servers = chart('trend', serverSeries, () => `${what()}: every server over ${data.runs.length} runs. ${keys}`);
  tables.push(
    figureAsTable('The ratio as a table', () => trendTable(data, ratioSeries(), `${what()}: ours ÷ ${choice.to}`)),
    figureAsTable('The servers as a table', () => trendTable(data, serverSeries(), what())));
  const noRatio = note();
  const update = () => {
    charts.forEach((one) => one.draw());
    tables.forEach((one) => one.refresh());
    parityTitle.textContent = `Ours ÷ ${choice.to ?? 'a reference'}`;
    noRatio.hidden = ratioSeries().length > 0;
    noRatio.textContent = 'No ratio is made of this figure.';
  };
  const scenarioPlace = element('div');
  const placeScenarios = () => {
    const names = scenariosWith(data, { figure: choice.figure });
    if (!names.includes(choice.scenario)) choice.scenario = names[0];
    scenarioPlace.replaceChildren(chooser('Scenario', [{ options: names.map((name) => [name, titleOf(data, name)]) }],
      choice.scenario, (value) => { choice.scenario = value; update(); }));
  };
  placeScenarios();
  const parityTitle = element('h3');
  const content = element('div', {},
    element('div', { class: 'controls' },
      scenarioPlace,
      chooser('Figure', [{ options: figures.map((name) => [name, figure(name).label]) }], choice.figure, (value) => {
        choice.figure = value;
        placeScenarios();
        update();
      }),
      references.length > 1
        ? switcher('Compared with', references.map((to) => [to, `÷ ${to}`]), choice.to, (value) => { choice.to = value; update(); }) : null,
      zoomButtons(data, zoom)),
    data.runs.length < 2 ? note('One run is recorded: it has no trend yet.') : null,
    parityTitle,
    note('The ratio within each run: what the machine does to both servers alike is not in it. The shade is its interval, the grey ' +
      'band the margin within which two servers count as equivalent. A dashed upright line is a change that was found.'),
    noRatio, parity.element, tables[0].element,
    element('h3', {}, 'Every server'), servers.element, tables[1].element,
    data.runs.length < 2 ? null : note('A point links to its commit. Drag the bar under a chart, pinch, or turn the wheel with Ctrl to zoom; both charts follow.'));
  update();
  return { id: 'over-time', title: 'Over time', content };
}

const inServerOrder = (data, list) => {
  const order = serversOf(data);
  return list.sort((a, b) => order.indexOf(a.server) - order.indexOf(b.server));
};

function zoomButtons(data, zoom) {
  const count = data.runs.length;
  const button = (text, runs) => element('button', {
    type: 'button', onclick: () => zoom.set(runs >= count ? 0 : 100 * (1 - (runs - 1) / (count - 1)), 100),
  }, text);
  const lengths = kLastRuns.filter((runs) => runs < count);
  if (lengths.length === 0) return null;
  return element('div', { class: 'switcher plain', role: 'group', 'aria-label': 'Runs shown' },
    lengths.map((runs) => button(`Last ${runs}`, runs)), button(`All ${count}`, count));
}

function trendTable(data, list, caption) {
  const cells = list.map((series) => new Map(series.points.map((raw) => [raw[0], point(raw)])));
  return table(`${caption}, latest run first`, [
    { title: 'Run', head: true }, { title: 'Commit' },
    ...list.map((series) => ({ title: series.to ? `${series.server} ÷ ${series.to}` : `${series.server}, ${figure(series.figure).unit}`, number: true })),
  ], data.runs.map((run, index) => [
    minute(run.date), commitCell(run.commit),
    ...cells.map((byRun, which) => {
      const found = byRun.get(index);
      return found && withInterval(found, scaleOf(list[which]).text);
    }),
  ]).reverse());
}

// ---- Changes ----

export function changes({ data }) {
  const found = changesOf(data);
  const title = 'Changes found';
  const method = note('Every ratio to a reference is searched for points from which on it is another one, and not only noise: ',
    'the whole history is looked at, so a change is found some runs after it came.',
    new Set(data.runs.map((run) => run.machine)).size > 1 ? ' Only runs of the newest run’s machine are compared.' : '');
  if (found.length === 0) return { id: 'changes', title, content: element('div', {}, note('No change was found in the recorded runs.'), method) };
  const isMain = ({ series }) => isOurs(series.server) && series.to === 'nginx';
  const main = found.filter(isMain);
  const others = found.filter((one) => !isMain(one));
  return {
    id: 'changes', title,
    content: element('div', {},
      main.length > 0 ? changesTable(data, main, 'Changes of ours ÷ nginx, latest first')
        : note('No change was found in the ratios of ours to nginx.'),
      others.length > 0 ? figureAsTable(`${others.length} of other ratios`,
        () => changesTable(data, others, 'Changes of other ratios, latest first')).element : null,
      method),
  };
}

/** Changes of one figure at one commit belong together: a row for them, with each scenario in it. */
function changesTable(data, found, caption) {
  const groups = new Map();
  for (const change of found) {
    const { run, series } = change;
    const key = [run, series.server, series.figure, series.to].join('|');
    groups.set(key, [...(groups.get(key) ?? []), change]);
  }
  const item = ({ factor, low, high, series }) => {
    const worse = isWorse({ factor }, series);
    return element('li', {}, verdictCell(worse ? 'slower' : 'faster', `${percent(factor - 1)} (${percent(low - 1)} to ${percent(high - 1)}), ` +
      `${worse ? 'worse' : 'better'}: ${titleOf(data, series.scenario)}`));
  };
  // Two columns, so that a phone has room for them.
  return table(caption, [{ title: 'Since', head: true }, { title: 'Change, with its interval' }],
    [...groups.values()].map((list) => {
      const [{ run, coincidences, series }] = list;
      const { commit, date } = data.runs[run];
      return [
        [day(date), ' ', link(commit?.url, shortId(commit), { class: 'id' }), element('span', { class: 'subject' }, commit?.subject ?? '')],
        [element('p', { class: 'plain' }, `${scaleOf(series).label}${series.server === 'ours' ? '' : `, ${series.server}`}`),
          element('ul', { class: 'plain' }, list.map(item)),
          coincidences.length > 0 ? element('p', { class: 'plain muted' }, `Different since then, too: ${coincidences.join('; ')}`) : null],
      ];
    }), { class: 'changes' });
}

// ---- Latencies ----

export function latencies({ data }) {
  const paced = (data.latest?.scenarios ?? []).filter((one) => one.servers?.some((server) => server.latency?.length > 0));
  const title = 'Latencies';
  if (paced.length === 0) return { id: 'latencies', title, content: note('The latest run has no scenario with a fixed rate.') };
  let chosen = paced[0];
  const chart = new LatencyChart('latency', data, {
    scenario: () => chosen, label: () => `Latency by percentile, ${chosen.title ?? chosen.name}`,
  });
  const tabled = figureAsTable('As a table', () => latencyTable(chosen));
  const rates = note();
  const update = () => {
    chart.draw();
    tabled.refresh();
    const rate = chosen.servers.find((one) => one.rate !== undefined)?.rate;
    rates.textContent = `${rate === undefined ? 'Requests' : `${figure('requests_per_second').text(rate)} requests per second`} are due at fixed ` +
      'times, whatever the server does, and a latency counts from the time its request was due: a server that stalls is not spared ' +
      'the requests of that time. Each step to the right is ten times as rare.';
  };
  const content = element('div', {},
    paced.length > 1 ? element('div', { class: 'controls' }, chooser('Scenario', [{ options: paced.map((one) => [one.name, one.title ?? one.name]) }],
      chosen.name, (value) => { chosen = paced.find((one) => one.name === value); update(); })) : null,
    chart.element, rates, tabled.element);
  update();
  return { id: 'latencies', title, content };
}

function latencyTable(scenario) {
  const servers = scenario.servers.filter((one) => one.latency?.length > 0 && !one.void);
  const percentiles = [...new Set(servers.flatMap((one) => one.latency.map(([percentile]) => percentile)))].sort((a, b) => a - b);
  return table(`Latency by percentile, ${scenario.title ?? scenario.name}`,
    [{ title: 'Percentile', head: true }, ...servers.map((one) => ({ title: serverName(one), number: true }))],
    percentiles.map((percentile) => [percentile >= 100 ? 'slowest' : `${percentile} %`, ...servers.map((one) => {
      const found = one.latency.find(([other]) => other === percentile);
      return found && microseconds(found[1]);
    })]));
}

// ---- Rounds ----

export function rounds({ data }) {
  const list = data.rounds?.rows ?? [];
  if (list.length === 0) return undefined;
  const cell = (estimate, name) => withInterval(estimate, figure(name).text);
  const run = data.runs[data.rounds.run];
  return {
    id: 'rounds', title: 'How it came to its speed',
    content: element('div', {}, table(`The backends, oldest idea first, measured on ${day(run.date)}`, [
      { title: 'Round', head: true }, { title: 'How it works' }, { title: 'Requests/s', number: true }, { title: '÷ nginx', number: true },
      { title: 'CPU per request, µs', number: true }, { title: '÷ nginx', number: true }],
    list.map((row) => [row.name, row.mechanism, cell(row.requests_per_second, 'requests_per_second'),
      withInterval(row.to_nginx?.requests_per_second, ratio), cell(row.cpu_us_per_request, 'cpu_us_per_request'),
      withInterval(row.to_nginx?.cpu_us_per_request, ratio)]))),
  };
}

// ---- All runs ----

export function allRuns({ data }) {
  const counts = data.runs.map((_, index) => data.series
    .filter((one) => one.to === undefined && one.points.some(([run]) => run === index)).length);
  const rows = data.runs.map((run, index) => [
    minute(run.date), [link(run.commit?.url, shortId(run.commit), { class: 'id' }), run.commit?.dirty ? ' + changes' : ''], run.commit?.subject,
    run.commit?.author, run.machine, run.voids?.length ? run.voids.join('; ') : 'none', String(counts[index]),
  ]).reverse();
  return {
    id: 'runs', title: 'All runs',
    content: element('details', {}, element('summary', {}, `The ${data.runs.length === 1 ? 'one run' : `${data.runs.length} runs`} as a table`),
      table('All recorded runs, the latest first', [{ title: 'Run', head: true }, { title: 'Commit' }, { title: 'Subject' }, { title: 'Author' },
        { title: 'Machine' }, { title: 'Void' }, { title: 'Figures', number: true }], rows)),
  };
}

// ---- Machine and method ----

function pairs(caption, entries) {
  const known = entries.filter(([, value]) => value !== undefined && value !== '');
  if (known.length === 0) return null;
  return table(caption, [{ title: 'What', head: true }, { title: 'Value' }], known.map(([name, value]) => [name, String(value)]), { class: 'pairs' });
}

export function machineAndMethod({ data }) {
  const run = data.latest ?? {};
  const { machine = {}, versions = {}, method = {} } = run;
  const order = method.order ?? 'A B B A';
  const confidence = Math.round((method.confidence ?? 0.95) * 100);
  const margin = marginOf(data) * 100;
  const paragraphs = [
    [element('b', {}, 'Blocks. '), `Two servers are measured in the order ${order}, both started anew for each block` +
      `${method.blocks ? `, ${method.blocks} blocks` : ''}${method.seconds ? ` of ${method.seconds} s per run` : ''}. What the machine does meanwhile ` +
      'falls on both alike. A block in which other work took processor time is thrown away and made again.'],
    [element('b', {}, 'Ratios and intervals. '), 'A ratio is taken within a block, from runs that are seconds apart. Shown are the median of these ' +
      `ratios and the ${confidence} % interval that a bootstrap over the blocks gives.`],
    [element('b', {}, 'Verdicts. '), element('i', {}, 'Faster'), ' or ', element('i', {}, 'slower'), ': the whole interval is on that side of 1. ',
      element('i', {}, 'Equivalent'), `: the whole interval is within ±${margin} % of 1, on whatever side. `,
      element('i', {}, 'Inconclusive'), ': none of them, or too few blocks; the run does not say. ', element('i', {}, 'Void'), ': the server answered wrongly or died, so it has no figure.'],
    [element('b', {}, 'What the figures are. '), 'CPU per request is the processor time of the server, user and system, divided by the answered requests. ' +
      'With one core each the load generator is often the slower side; requests per second then measure the generator, and the scenario is marked ' +
      'as limited by the client. Latencies are counted from the planned start of a request.'],
  ];
  const remarks = [...(run.remarks ?? []),
    ...(run.scenarios ?? []).flatMap((one) => (one.remarks ?? []).map((remark) => `${one.title ?? one.name}: ${remark}`))];
  return {
    id: 'method', title: 'Machine and method',
    content: element('div', {},
      element('div', { class: 'prose' }, paragraphs.map((content) => element('p', {}, content))),
      remarks.length > 0 ? element('div', { class: 'prose' }, element('h3', {}, 'Remarks of the latest run'), element('ul', {}, remarks.map((text) => element('li', {}, text)))) : null,
      element('div', { class: 'columns' },
        pairs('Machine', [['Processor', machine.processor], ['Cores', machine.cores], ['Memory', machine.memory_mib && `${Math.round(machine.memory_mib / 1024)} GiB`],
          ['Kernel', machine.kernel], ['System', machine.system], ['Cores of the servers', run.server_cores?.join(', ')],
          ['Cores of the load', run.client_cores?.join(', ')], ['CPU time from', run.cpu_time_from],
          ...Object.entries(machine.mitigations ?? {})]),
        pairs('Run and versions', [['Command', run.command], ['It took', run.seconds && duration(run.seconds)], ...Object.entries(versions)])),
      note('To make these figures on your machine: ', element('code', {}, './dev bench'), '.')),
  };
}
