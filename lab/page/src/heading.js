// What stands first: the answer of the latest run in a sentence, and what it was made on.

import { comparisons, isOurs } from './data.js';
import { element, link } from './dom.js';
import { kVerdicts, minute, shortId, verdictMark } from './words.js';

const scenarios = (count) => `${count} ${count === 1 ? 'scenario' : 'scenarios'}`;

/** The verdicts of ours against nginx, counted. */
export function tally(data, figure) {
  const counts = { faster: 0, equivalent: 0, slower: 0, inconclusive: 0, void: 0, all: 0 };
  const rows = comparisons(data, { figure, to: 'nginx' }).filter((row) => isOurs(row.server));
  for (const row of rows) {
    counts.all += 1;
    counts[row.void ? 'void' : kVerdicts.includes(row.estimate.verdict) ? row.estimate.verdict : 'inconclusive'] += 1;
  }
  return counts;
}

function sentence(counts) {
  if (counts.all === 0) return 'The latest run did not compare LeanTea with nginx';
  const parts = [
    counts.faster && `less CPU per request than nginx in ${counts.faster} of ${scenarios(counts.all)}`,
    counts.equivalent && `as much in ${counts.equivalent}`,
    counts.slower && `more in ${counts.slower}`,
  ].filter(Boolean);
  const open = counts.inconclusive + counts.void;
  if (parts.length === 0) return `No verdict against nginx: ${open} of ${scenarios(counts.all)} ${open === 1 ? 'is' : 'are'} inconclusive or void`;
  if (!counts.faster) parts[0] = counts.equivalent ? `as much CPU per request as nginx in ${counts.equivalent} of ${scenarios(counts.all)}`
    : `more CPU per request than nginx in ${counts.slower} of ${scenarios(counts.all)}`;
  return `LeanTea needs ${parts.join(', ')}${open ? `; ${open} ${open === 1 ? 'is' : 'are'} open` : ''}`;
}

function tallyTable(data) {
  const figures = [['cpu_us_per_request', 'CPU per request'], ['requests_per_second', 'Requests per second']];
  const shown = [...kVerdicts, 'void'];
  const rows = figures.map(([name, label]) => [label, tally(data, name)]).filter(([, counts]) => counts.all > 0);
  if (rows.length === 0) return undefined;
  const verdicts = shown.filter((verdict) => rows.some(([, counts]) => counts[verdict] > 0));
  return element('table', { class: 'tally' },
    element('caption', {}, 'Ours against nginx: scenarios with each verdict'),
    element('thead', {}, element('tr', {}, element('td'), rows.map(([label]) => element('th', { scope: 'col' }, label)))),
    element('tbody', {}, verdicts.map((verdict) => element('tr', {},
      element('th', { scope: 'row' }, element('span', { class: `verdict ${verdict}`, 'aria-hidden': 'true' }, verdictMark[verdict]), ` ${verdict}`),
      rows.map(([, counts]) => element('td', { class: counts[verdict] ? '' : 'faint' }, counts[verdict]))))));
}

export function heading(data, title, place) {
  const run = data.runs.at(-1);
  const { latest } = data;
  title.textContent = `${sentence(tally(data, 'cpu_us_per_request'))}.`;
  const facts = [
    ['Latest run', minute(run.date)],
    ['Commit', [link(run.commit?.url, shortId(run.commit)), run.commit?.dirty ? ' with uncommitted changes' : '',
      run.commit?.subject ? element('span', { class: 'subject' }, run.commit.subject) : '']],
    ['Machine', [latest?.machine?.processor, latest?.machine?.cores && `${latest.machine.cores} cores`].filter(Boolean).join(', ') || 'unknown'],
    ['Recorded', `${data.runs.length} ${data.runs.length === 1 ? 'run' : 'runs'}`],
  ];
  place.append(element('div', {},
    element('p', { class: 'lead' }, 'LeanTea is an HTTP server library for C++23. Here it is measured beside nginx, other servers, ' +
      'and a floor (a bare loop of recv and send), on one machine in one run. The processor time of the server per request is ' +
      'the figure that tells servers apart.'),
    element('dl', { class: 'facts' }, facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))))),
    tallyTable(data) ?? '');
}
