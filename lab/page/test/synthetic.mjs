// Histories that were never measured, in the form of bench-data/runs.jsonl, for tests and for work on the page. Made from
// a seed, so that every call gives the same.
//
//   node test/synthetic.mjs DIRECTORY [RUNS]      writes DIRECTORY/runs.jsonl
//
// In the long one are: a step of 4 % in our CPU per request, an inconclusive verdict, a void server, servers and figures
// that some runs lack, names that are long, and commits whose subjects try to be markup.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Numbers from 0 to 1 that look random (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export const kStepAt = 38;  // the run from which on ours costs more
export const kStep = 1.04;
export const kInconclusive = 'json';
export const kVoid = { scenario: 'echo-64k', server: 'cpp-httplib', why: 'answered 500 to POST /echo' };

export const kNastySubjects = {
  3: '</script><script>window.broken = 1</script>',
  4: '<!--<script> a comment that is never closed',
  5: '<img src=x onerror="window.broken = 2"> & "quotes" \'too\' \u2028 \u0000',
  7: `net: ${'a subject that goes on and on about what was done and why it had to be done '.repeat(3)}`,
  8: 'ありがとう – Ünïcödé ✓',
};

const kSubjects = ['h1: the scanner looks at sixteen bytes at once', 'net: one send for a batch of answers', 'docs: what a verdict means',
  'app: routes are found without allocating', 'lab: blocks are repeated when others take the processor', 'base: the date is made once a second'];

// CPU per request of the floor, µs; the others as factors of it.
const kScenarios = [
  { name: 'health', title: 'GET /health, 128 connections', tool: 'wrk', connections: 128, base: 9.1 },
  { name: 'json', title: 'GET /json, 128 connections', tool: 'wrk', connections: 128, base: 9.2 },
  { name: 'browser-headers', title: 'GET /health with the header fields of a browser, 128 connections', tool: 'wrk', connections: 128, base: 9.3 },
  { name: 'pipelined-16', title: 'GET /health, 16 pipelined, 64 connections', tool: 'wrk', connections: 64, base: 0.6, nginx: 15, ours: 1.08 },
  { name: 'echo-64k', title: 'POST /echo, 64 KiB, 64 connections', tool: 'wrk', connections: 64, base: 38, nginx: undefined },
  { name: 'new-connection', title: 'GET /health, a new connection for each request', tool: 'ab', connections: 64, base: 29, nginx: 1.02, ours: 1.01 },
  { name: 'health-2000', title: 'GET /health, 2000 connections', tool: 'wrk', connections: 2000, base: 9.9 },
  { name: 'paced-25', title: 'GET /health at 25 % of the slowest maximum', tool: 'paced', connections: 64, base: 13, rate: 18000 },
  { name: 'paced-75', title: 'GET /health at 75 % of the slowest maximum', tool: 'paced', connections: 64, base: 10, rate: 54000 },
  { name: 'idle-15k', title: '15,000 idle connections', tool: 'idle', connections: 15000, idle: true },
];
const kServers = [
  { name: 'ours', backend: 'reactor', cost: 1.03, idle: 145 },
  { name: 'nginx', cost: 1.23, idle: 505 },
  { name: 'floor', cost: 1, idle: 0 },
  { name: 'h2o', cost: 1.34, idle: 730, from: 12 },
  { name: 'boost-beast', cost: 1.71, idle: 2900, from: 12 },
  { name: 'cpp-httplib', cost: 3.9, idle: 9800, from: 30 },
  { name: 'a-server-with-a-rather-long-name-of-the-user', cost: 1.5, idle: 1200, from: 55 },
];

function estimate(random, value, noise = 0.012, interval = 0.01) {
  const median = value * (1 + (random() + random() - 1) * noise);
  return { median, low: median * (1 - interval * (0.6 + random())), high: median * (1 + interval * (0.6 + random())) };
}

const kMargin = 0.02;
function judged(ratio, moreIsBetter) {
  const { low, high } = ratio;
  const verdict = low >= 1 - kMargin && high <= 1 + kMargin ? 'equivalent'
    : low > 1 || high < 1 ? ((low > 1) === moreIsBetter ? 'faster' : 'slower') : 'inconclusive';
  return { ...ratio, verdict };
}

/** Percentiles as of a queue that now and then has to wait. */
function latency(random, base, load) {
  let slowest = 0;
  return [0, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100].map((percentile) => {
    const rarity = percentile >= 100 ? 5.5 : -Math.log10(1 - percentile / 100);
    slowest = Math.max(slowest, base * (1 + load * rarity ** 2 * (0.8 + 0.3 * random())));
    return [percentile, slowest];
  });
}

function measured(random, index, scenario, server, machine) {
  if (scenario.idle) {
    if (server.idle === 0) return undefined;
    return {
      name: server.name, backend: server.backend, void: false, why_void: [], bytes_per_connection: estimate(random, server.idle, 0.004, 0.002),
      ratio_to: server.name === 'nginx' ? {}
        : { nginx: { bytes_per_connection: judged(estimate(random, server.idle / 505, 0.004, 0.002), false) } },
    };
  }
  const own = server.name in scenario ? scenario[server.name] : server.cost;
  if (own === undefined) return undefined;
  if (scenario.name === kVoid.scenario && server.name === kVoid.server)
    return { name: server.name, void: true, why_void: [kVoid.why] };
  const step = server.name === 'ours' && index >= kStepAt && scenario.name !== 'echo-64k' ? kStep : 1;
  const cpu = scenario.base * own * step;
  const result = {
    name: server.name, backend: server.backend, void: false, why_void: [],
    requests_per_second: estimate(random, machine * Math.min(800000 / cpu, 82000 * (scenario.base < 1 ? 12 : 1))),
    cpu_us_per_request: estimate(random, cpu / machine, 0.03),
    p50_us: estimate(random, 800 + 10 * cpu), p99_us: estimate(random, 1500 + 90 * cpu, 0.2, 0.12),
    client_limited: scenario.base < 12 && server.cost < 1.5,
    ratio_to: {}, blocks: [{ order: [server.name, 'nginx', 'nginx', server.name], runs: [{ requests: 1, seconds: 1 }] }],
  };
  if (scenario.rate) Object.assign(result, { rate: scenario.rate, latency: latency(random, 90 + 6 * cpu, scenario.rate / 30000) });
  // Not every run had the rights to make this one.
  if (server.name !== 'floor' && index % 3 !== 1)
    result.server_bound = { requests_per_second: estimate(random, 500000 / cpu), share: 0.5, by: 'cpu.max' };
  for (const reference of kServers.filter((one) => ['nginx', 'floor'].includes(one.name) && one.name !== server.name)) {
    const other = reference.name in scenario ? scenario[reference.name] : reference.cost;
    if (other === undefined) continue;
    const unsure = scenario.name === kInconclusive && reference.name === 'floor' ? 0.12 : 0.01;
    result.ratio_to[reference.name] = {
      cpu_us_per_request: judged(estimate(random, (own * step) / other, 0.012, unsure), false),
      requests_per_second: judged(estimate(random, scenario.base < 12 && own < 2 && other < 2 ? 1 + (random() - 0.5) * 0.02 : other / own, 0.006, 0.014), true),
      p99_us: judged(estimate(random, (1500 + 90 * cpu) / (1500 + 90 * scenario.base * other), 0.1, 0.12), false),
    };
    if (result.server_bound && reference.name === 'nginx')
      result.ratio_to.nginx.server_bound = judged(estimate(random, other / own), true);
  }
  return result;
}

function commitOf(random, index) {
  const id = Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join('');
  return {
    id, subject: kNastySubjects[index] ?? kSubjects[index % kSubjects.length], author: index % 7 === 0 ? 'A <b>bold</b> Author' : 'An Author',
    date: dateOf(index, 0), url: index === 6 ? 'javascript:window.broken=3' : index % 9 === 8 ? undefined : `https://example.org/leantea/commit/${id}`,
    dirty: index === 20,
  };
}

const dateOf = (index, minutes) => new Date(Date.UTC(2026, 8, 1, 6 + (index % 5), minutes) + index * 36 * 3600e3).toISOString().slice(0, 19) + 'Z';

/** The runs of a history of `count` runs, oldest first. */
export function history(count = 60, seed = 7) {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, index) => {
    const machine = 1 + (random() - 0.5) * 0.05;  // what the machine does to all servers alike
    const run = {
      format: 1, date: dateOf(index, 10), command: 'leantea-lab bench --record', commit: commitOf(random, index),
      machine: {
        processor: 'AMD EPYC 9B14', cores: 2, kernel: 'Linux 6.18.44 x86_64', system: 'Debian GNU/Linux 12 (bookworm)', memory_mib: 24053,
        mitigations: { spectre_v2: 'Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: disabled; RSB filling', meltdown: 'Not affected' },
      },
      versions: { compiler: 'GCC 12.2.0', nginx: '1.22.1', wrk: '4.1.0', h2o: '2.2.5' },
      server_cores: [0], client_cores: [1], cpu_time_from: "the processes' CPU clocks",
      method: { order: 'A B B A', blocks: 10, seconds: 1, confidence: 0.95, margin: kMargin }, seconds: 412 + index,
      scenarios: kScenarios.filter((scenario) => !(index === 25 && scenario.name === 'json')).map(({ name, title, tool, connections, ...rest }) => ({
        name, title, tool, connections, remarks: name === 'health' ? ['the load generator’s core was full, the servers’ were not'] : [],
        servers: kServers.filter((server) => index >= Math.min(server.from ?? 0, count - 1))
          .map((server) => measured(random, index, { name, title, ...rest }, server, machine)).filter(Boolean),
      })),
    };
    if (index % 10 === 4) run.rounds = roundsOf(random);
    return run;
  });
}

function roundsOf(random) {
  return [['libuv, no keep-alive', 'libuv, each request on a new connection', 7000, 105, 0.09], ['libuv', 'libuv’s loop', 62000, 12.9, 0.81],
    ['threads', 'a blocking thread for each connection', 66000, 11.9, 0.9], ['reactor', 'one thread, epoll', 76000, 9.4, 1.03],
    ['uring', 'one ring, multishot receive', 77000, 9.2, 1.04], ['nginx', 'one worker, epoll', 74000, 11.3, 1], ['floor', 'recv and send of a constant', 75500, 9.1, 1.02]]
    .map(([name, mechanism, requests, cpu, parity]) => ({
      name, mechanism, requests_per_second: estimate(random, requests), cpu_us_per_request: estimate(random, cpu),
      to_nginx: name === 'nginx' ? undefined : { requests_per_second: estimate(random, parity), cpu_us_per_request: estimate(random, cpu / 11.3) },
    }));
}

/** Writes a history as `leantea-lab` records it. */
export function write(directory, runs) {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'runs.jsonl'), runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , directory, count] = process.argv;
  if (directory === undefined) {
    console.error('synthetic.mjs: say where to write: node test/synthetic.mjs DIRECTORY [RUNS]');
    process.exit(2);
  }
  write(directory, history(count === undefined ? 60 : Number(count)));
}
