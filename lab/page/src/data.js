// The data of the page as `leantea-lab report` writes it (lab/report_page.hpp says what is in it), and the questions
// that the sections ask. Pure functions.

export function read(text) {
  const data = JSON.parse(text);
  return { runs: [], scenarios: [], series: [], latest: undefined, ...data };
}

/** A point of a series: run is an index into `runs`. */
export const point = ([run, median, low, high, verdict]) => ({ run, median, low, high, verdict });

export function seriesOf(data, { scenario, figure, to, server }) {
  return data.series.filter((one) =>
    (scenario === undefined || one.scenario === scenario) && (figure === undefined || one.figure === figure) &&
    (to === undefined || (to === null ? one.to === undefined : one.to === to)) &&
    (server === undefined || one.server === server));
}

const unique = (list) => [...new Set(list)];

/** Names in the order of `known`, the others behind. */
const inOrder = (names, known) =>
  unique([...known.filter((name) => names.includes(name)), ...names]);

/** Every server, ours first, then the two references, then the rivals by name: its place is its colour. */
export function serversOf(data) {
  const names = unique(data.series.map((one) => one.server)
    .concat((data.latest?.scenarios ?? []).flatMap((scenario) => (scenario.servers ?? []).map(serverName))));
  const rank = (name) => (isOurs(name) ? 0 : name === 'nginx' ? 1 : name === 'floor' ? 2 : 3);
  return names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
export const isOurs = (name) => name === 'ours' || name.startsWith('ours ');

export const serverName = (server) => server.key ?? server.name;

export const figuresOf = (data, known) => inOrder(unique(data.series.map((one) => one.figure)), known);
export const scenariosWith = (data, filter) =>
  inOrder(unique(seriesOf(data, filter).map((one) => one.scenario)), data.scenarios.map((one) => one.name));
export const referencesOf = (data) =>
  inOrder(unique(data.series.map((one) => one.to).filter((to) => to !== undefined)), ['nginx', 'floor']);

export const titleOf = (data, name) => data.scenarios.find((one) => one.name === name)?.title ?? name;

/** All change points, the latest first, with the series they are in. */
export const changesOf = (data) => data.series
  .flatMap((series) => (series.changes ?? []).map((change) => ({ ...change, series })))
  .sort((a, b) => b.run - a.run || a.series.scenario.localeCompare(b.series.scenario));

/** A figure of a server, or of its ratios: "server_bound.requests_per_second" is inside "server_bound", or is it. */
export function estimateOf(holder, figure) {
  if (holder?.[figure] !== undefined) return holder[figure];
  const [outer, inner] = figure.split('.');
  return holder?.[outer]?.[inner] ?? (inner === undefined ? undefined : holder?.[outer]);
}

/** The rows of the comparison: estimates of the latest run against `to`. */
export function comparisons(data, { figure, to, server, scenario }) {
  const rows = [];
  for (const one of data.latest?.scenarios ?? []) {
    if (scenario !== undefined && one.name !== scenario) continue;
    for (const entry of one.servers ?? []) {
      if (serverName(entry) === to || (server !== undefined && serverName(entry) !== server)) continue;
      const estimate = estimateOf(entry.ratio_to?.[to], figure);
      if (!entry.void && estimate?.median === undefined) continue;
      rows.push({
        scenario: one, server: serverName(entry), estimate: entry.void ? undefined : estimate,
        void: entry.void ? (entry.why_void ?? []) : undefined, clientLimited: entry.client_limited,
      });
    }
  }
  return rows;
}
