// Numbers and verdicts in words. Pure functions.

const integer = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Digits after the point, so that about three digits tell something. */
function rounded(number, digits = 3) {
  if (number === 0) return '0';
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(number))));
  return places === 0 ? integer.format(number) : number.toFixed(Math.min(places, 4));
}

export const ratio = (number) => (number >= 10 ? rounded(number) : number.toFixed(number < 0.1 ? 4 : 3));

/** As an axis says it: without zeros at the end. */
export const short = (number) => Number(number.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 6 });

/** "+3.1 %", with a real minus. */
export function percent(share) {
  const value = share * 100;
  const text = Math.abs(value) >= 100 ? integer.format(Math.abs(value)) : Math.abs(value).toFixed(1);
  return `${Number(text) === 0 ? '±' : value < 0 ? '−' : '+'}${text} %`;
}

export function microseconds(number) {
  const [value, unit] = inUnits(number);
  return `${rounded(value)} ${unit}`;
}
export function shortMicroseconds(number) {
  const [value, unit] = inUnits(number);
  return `${short(value)} ${unit}`;
}
function inUnits(number) {
  if (number >= 1e6) return [number / 1e6, 's'];
  return number >= 1e3 ? [number / 1e3, 'ms'] : [number, 'µs'];
}

/** What is known of each figure: its name, its unit, which way is better, how a value is written. */
const kFigures = {
  cpu_us_per_request: { label: 'CPU per request', unit: 'µs', better: 'less', text: rounded, of: 'CPU per request' },
  requests_per_second: { label: 'Requests per second', unit: 'req/s', better: 'more', text: integer.format, of: 'requests/s' },
  p50_us: { label: 'Median latency', unit: 'µs', better: 'less', text: rounded, of: 'median latency' },
  p99_us: { label: '99th percentile of latency', unit: 'µs', better: 'less', text: rounded, of: 'p99 latency' },
  'server_bound.requests_per_second': {
    label: 'Requests per second, server-bound', unit: 'req/s', better: 'more', text: integer.format,
    of: 'requests/s, server-bound',
  },
  bytes_per_connection: {
    label: 'Memory per idle connection', unit: 'bytes', better: 'less', text: integer.format, of: 'memory per connection',
    verdicts: { faster: 'better', slower: 'worse' },
  },
};

export function figure(name) {
  return kFigures[name] ?? { label: name.replaceAll('_', ' '), unit: '', better: undefined, text: rounded, of: name };
}
export const figureNames = Object.keys(kFigures);

/** "9.43 µs (9.36–9.51)"; nothing for what is not known. */
export function withInterval(estimate, text, unit = '') {
  if (estimate?.median === undefined) return undefined;
  const interval = estimate.low === undefined ? '' : ` (${text(estimate.low)}–${text(estimate.high)})`;
  return `${text(estimate.median)}${unit && ` ${unit}`}${interval}`;
}

export const kVerdicts = ['faster', 'equivalent', 'slower', 'inconclusive'];
export const verdictMark = { faster: '▲', equivalent: '=', slower: '▼', inconclusive: '?', void: '×' };

/** What is less or more in a figure that is no speed is not faster or slower. */
const verdictWord = (verdict, name) => figure(name).verdicts?.[verdict] ?? verdict;

/** "faster, 13.0 % less" */
export function verdictInShort({ verdict, median }, name, margin) {
  const amount = median >= 3 ? `${rounded(median, 2)} times as much` : `${(Math.abs(median - 1) * 100).toFixed(1)} % ${median < 1 ? 'less' : 'more'}`;
  if (verdict === 'faster' || verdict === 'slower') return `${verdictWord(verdict, name)}, ${amount}`;
  return verdict === 'equivalent' ? `equivalent within ±${(margin * 100).toFixed(0)} %` : 'inconclusive';
}

/** "faster: 13.0 % less CPU per request than nginx" */
export function verdictText(estimate, name, reference, margin) {
  const { of } = figure(name);
  const difference = Math.abs(estimate.median - 1) * 100;
  const amount = estimate.median >= 3
    ? `${rounded(estimate.median, 2)} times the ${of} of ${reference}`
    : `${difference.toFixed(1)} % ${estimate.median < 1 ? 'less' : 'more'} ${of} than ${reference}`;
  switch (estimate.verdict) {
    case 'faster':
    case 'slower': return `${verdictWord(estimate.verdict, name)}: ${amount}`;
    case 'equivalent': return `equivalent: within ±${(margin * 100).toFixed(0)} % of ${reference}`;
    default:
      // An interval on one side of 1 would be a verdict, were it one: of a few blocks it is only their range.
      if (estimate.low > 1 || estimate.high < 1) return 'inconclusive: too few blocks for an interval';
      return `inconclusive: somewhere from ${ratio(estimate.low)} to ${ratio(estimate.high)}`;
  }
}

export const shortId = (commit) => (commit?.id ? commit.id.slice(0, 8) : 'unknown');
export const day = (date) => (date ?? '').slice(0, 10);
export const minute = (date) => (date ?? '').slice(0, 16).replace('T', ' ') + ' UTC';

/** "412 s" as people say it. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
