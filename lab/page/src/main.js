// The page: reads the data inside it and builds one section after the other. A section without data says so.

import { read } from './data.js';
import { chartsByName } from './charts.js';
import { element } from './dom.js';
import { heading } from './heading.js';
import { latest, latencies, overTime, changes, rounds, machineAndMethod, allRuns } from './sections.js';
import { themeSwitch } from './theme.js';

const at = (id) => document.getElementById(id);

function empty() {
  at('headline').textContent = 'No run is recorded yet';
  at('summary').append(
    element('p', {}, 'This page shows the history of the benchmarks, and there is none yet. ',
      element('code', {}, './dev bench --record'), ' measures and records a run; then ',
      element('code', {}, './dev report'), ' makes this page anew.'));
}

function build(data) {
  heading(data, at('headline'), at('summary'));
  const context = { data, live: at('live') };
  const sections = [latest, overTime, changes, latencies, rounds, allRuns, machineAndMethod]
    .map((make) => make(context)).filter((section) => section !== undefined);
  at('sections').append(...sections.map(({ id, title }) => element('a', { href: `#${id}` }, title)));
  at('main').append(...sections.map(({ id, title, content }) =>
    element('section', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title), content)));
}

const data = read(at('report-data').textContent);
themeSwitch(at('theme'));
if (data.runs.length === 0) empty();
else build(data);
at('footer').append(`Made on ${data.made?.slice(0, 16).replace('T', ' ') ?? 'an unknown date'} UTC by leantea-lab report. `,
  'The charts are drawn with Apache ECharts.');

// For tests, and for whoever looks from the console.
window.report = { data, charts: chartsByName };
