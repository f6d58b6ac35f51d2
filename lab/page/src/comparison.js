// The latest run: a bar for each ratio, from 1 (the reference) to the median, and a whisker over its interval.

import { axis, base, Chart, colour, font, tip } from './charts.js';
import { comparisons } from './data.js';
import { figure, ratio, verdictInShort, verdictMark, verdictText, withInterval } from './words.js';

// Ratios are compared on a logarithmic axis, where a half is as far from 1 as the double is.
const kTicks = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3, 4, 5, 7, 10,
  20, 50, 100,
];
const kRow = { wide: 42, narrow: 64 };
const kFrame = 60;      // above and below the rows
const kLeastReach = 0.1;
const kHalfBar = 7;
const kValueWidth = 164;    // of "0.868 (0.856–0.874)"
const kVerdictWidth = 192;  // of "▲ equivalent within ±2 %"
const kGap = 18;
const kLeastForInterval = 330;  // on a small phone the interval is in the whisker and the table alone

/** Ticks of the list between the bounds that do not come too close to each other; 1 always stays. */
function ticksBetween(low, high, most) {
  const closest = (high - low) / most;
  const kept = [0];
  for (const tick of kTicks.map(Math.log).filter((at) => at >= low && at <= high)) {
    if (kept.every((other) => Math.abs(other - tick) >= closest)) kept.push(tick);
  }
  return kept.sort((a, b) => a - b);
}

/**
 * How far the axis goes to both sides of 1. One ratio that is far away would press all others together, so the axis ends
 * at about twice of what three quarters of them need, and what goes on beyond it is drawn with an arrow.
 */
function reachOf(estimates, margin) {
  const ends = estimates.flatMap(({ median, low, high }) => [median, low, high]).filter((value) => value > 0).map(Math.log);
  const sizes = ends.map(Math.abs).sort((a, b) => a - b);
  const limit = Math.max(kLeastReach, 2 * (sizes[Math.floor(sizes.length * 0.75)] ?? 0));
  const room = 1.5 * margin;
  return [Math.max(-limit, Math.min(-room, ...ends) * 1.04), Math.min(limit, Math.max(room, ...ends) * 1.04)];
}

const toneOf = (row) => ({ faster: '--better', slower: '--worse', equivalent: '--neutral', void: '--muted' })[
  row.void ? 'void' : row.estimate.verdict] ?? '--unsure';

export class ComparisonChart extends Chart {
  /** `choice()` gives {figure, to, server?, scenario?}: what to compare, in the rows of comparisons(). */
  constructor(name, data, { choice, margin, label }) {
    super(name, {
      label,
      height: ({ narrow }) => kFrame + Math.max(1, this.rows().length) * (narrow ? kRow.narrow : kRow.wide),
      option: (layout) => this.make(layout),
    });
    this.data = data;
    this.choice = choice;
    this.margin = margin;
  }

  rows() { return comparisons(this.data, this.choice()); }

  nameOf(row) { return this.choice().server === undefined ? row.server : row.scenario.title ?? row.scenario.name; }

  tooltip(row) {
    const { figure: name, to } = this.choice();
    const { estimate } = row;
    return tip(`${row.server}, ${row.scenario.title ?? row.scenario.name}`,
      estimate ? [[undefined, `${figure(name).label} ÷ ${to}`, withInterval(estimate, ratio)]] : [],
      row.void ? `Void: ${row.void.join('; ') || 'no reason recorded'}` : verdictText(estimate, name, to, this.margin),
      row.clientLimited ? '. The load generator was the limit.' : '');
  }

  /** Names and verdicts beside the bars need more room than a chart of lines does. */
  get narrow() { return this.element.clientWidth < 860; }

  make({ narrow, width }) {
    const rows = this.rows();
    if (rows.length === 0) return undefined;
    const { figure: name, to } = this.choice();
    const [low, high] = reachOf(rows.flatMap(({ estimate }) => estimate ?? []), this.margin);
    const ticks = ticksBetween(low, high, narrow ? 6 : 9);
    const sides = narrow ? { left: 4, right: 4 } : { left: Math.min(290, width * 0.28), right: kGap + kValueWidth + kVerdictWidth };
    const layout = { narrow, low, high, sides, fontFamily: font() };
    const shared = base();
    return {
      ...shared,
      tooltip: { ...shared.tooltip, trigger: 'item', formatter: ({ dataIndex }) => this.tooltip(rows[dataIndex]) },
      grid: { left: sides.left, right: sides.right, top: 32, bottom: 8, outerBoundsMode: 'none' },
      xAxis: axis({
        type: 'value', position: 'top', min: low, max: high,
        axisLabel: {
          customValues: ticks, formatter: (value) => Number(Math.exp(value).toPrecision(3)).toString(),
          showMinLabel: true, showMaxLabel: true,
        },
        axisTick: { show: false, customValues: ticks }, splitLine: { show: !narrow },
      }),
      yAxis: axis({ type: 'category', inverse: true, data: rows.map((_, index) => index), splitLine: { show: false }, axisLabel: { show: false } }),
      series: [{
        name: `${figure(name).label} ÷ ${to}`, type: 'custom', clip: false, encode: { x: [1, 2, 3], y: 0 },
        data: rows.map((row, index) => [index, ...(row.estimate
          ? [row.estimate.median, row.estimate.low, row.estimate.high].map(Math.log) : [NaN, NaN, NaN])]),
        renderItem: ({ dataIndex, coordSys }, api) => ({
          type: 'group', children: this.row(rows[dataIndex], api, { ...layout, left: coordSys.x, width: coordSys.width }),
        }),
        // With texts above the bars, each row has a piece of both of its own.
        markLine: narrow ? undefined : {
          silent: true, symbol: 'none', label: { show: false }, data: [{ xAxis: 0 }],
          lineStyle: { color: colour('--muted'), width: 1.5, type: 'solid' },
        },
        markArea: narrow ? undefined : {
          silent: true, itemStyle: { color: colour('--band') },
          data: [[{ xAxis: Math.max(low, Math.log(1 - this.margin)) }, { xAxis: Math.min(high, Math.log(1 + this.margin)) }]],
        },
      }],
    };
  }

  /** The parts of one row: name, bar with whisker, value, verdict. On a phone the texts stand above the bar. */
  row(row, api, layout) {
    const { narrow, left, width, sides, fontFamily } = layout;
    const [, middle] = api.coord([0, api.value(0)]);
    const label = (text, x, y, style = {}) => ({
      type: 'text', x, y, silent: true,
      style: { text, fill: colour('--text'), fontSize: 13, fontFamily, verticalAlign: 'middle', overflow: 'truncate', ellipsis: '…', ...style },
    });
    const verdict = row.void ? 'void, no figure' : verdictInShort(row.estimate, this.choice().figure, this.margin);
    const marked = `${verdictMark[row.void ? 'void' : row.estimate.verdict] ?? '?'} ${verdict}`;
    const value = !row.estimate ? '–' : width < kLeastForInterval && narrow ? ratio(row.estimate.median) : withInterval(row.estimate, ratio);
    const tone = { fill: colour(toneOf(row)), fontWeight: 600 };
    const bar = row.estimate ? this.bar(row, api, narrow ? middle + 20 : middle, layout) : [];
    if (narrow) {
      return [...(row.estimate ? this.reference(api, middle + 20, layout) : []), ...bar,
        label(this.nameOf(row), left, middle - 18, { width, fontWeight: 600 }),
        label(value, left + width, middle, { align: 'right' }), label(marked, left, middle, { ...tone, width: width - (width < kLeastForInterval ? 60 : kValueWidth) })];
    }
    const right = left + width + kGap;
    return [...bar,
      label(this.nameOf(row), 0, middle, { width: sides.left - 16, overflow: 'break', lineOverflow: 'truncate', lineHeight: 16, height: 34 }),
      label(value, right, middle), label(marked, right + kValueWidth, middle, { ...tone, width: kVerdictWidth })];
  }

  /** The line at 1 and the margin around it, behind one bar. */
  reference(api, y, { low, high }) {
    const at = (value) => api.coord([Math.min(high, Math.max(low, value)), 0])[0];
    const [from, one, to] = [Math.log(1 - this.margin), 0, Math.log(1 + this.margin)].map(at);
    const half = kHalfBar + 5;
    return [
      { type: 'rect', silent: true, shape: { x: from, y: y - half, width: to - from, height: 2 * half }, style: { fill: colour('--band') } },
      { type: 'line', silent: true, shape: { x1: one, y1: y - half, x2: one, y2: y + half }, style: { stroke: colour('--muted'), lineWidth: 1.5 } },
    ];
  }

  bar(row, api, y, { low: least, high: most }) {
    const index = api.value(0);
    const within = (value) => Math.min(most, Math.max(least, value));
    const at = (value) => api.coord([within(value), index])[0];
    const [median, low, high] = [1, 2, 3].map((dimension) => api.value(dimension));
    const fill = colour(toneOf(row));
    const [from, to] = [at(0), at(median)];
    const ink = { stroke: colour('--text'), lineWidth: 1.5 };
    const line = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: ink });
    const parts = [{
      type: 'rect', shape: { x: Math.min(from, to), y: y - kHalfBar, width: Math.max(1, Math.abs(to - from)), height: 2 * kHalfBar },
      style: row.estimate.verdict === 'inconclusive' ? { fill: 'transparent', stroke: fill, lineWidth: 1.5, lineDash: [4, 3] } : { fill, opacity: 0.7 },
    }];
    if (within(median) !== median) {
      // It goes on beyond the axis.
      const way = Math.sign(median);
      parts.push({ type: 'polygon', shape: { points: [[to, y - kHalfBar - 4], [to + 9 * way, y], [to, y + kHalfBar + 4]] }, style: { fill } });
    }
    const seen = (value) => within(value) === value;
    if (at(low) !== at(high)) parts.push(line(at(low), y, at(high), y));
    for (const end of [low, high].filter(seen)) parts.push(line(at(end), y - 5, at(end), y + 5));
    return parts;
  }
}
