// A figure over all runs: the lines of one chart, with intervals, changes, zoom and the keyboard.

import { axis, base, Chart, colour, look, tip } from './charts.js';
import { isOurs, point, serversOf } from './data.js';
import { element, isWebAddress, link } from './dom.js';
import { day, figure, minute, percent, ratio, short, shortId, withInterval } from './words.js';

/** What a value of the series is called and how it is written. */
export function scaleOf(series) {
  const { label, unit, text, better } = figure(series.figure);
  if (series.to === undefined) return { label, unit, text, better };
  return { label: `${label} ÷ ${series.to}`, unit: '', text: ratio, better };
}

const runLabel = (run) => `${day(run.date).slice(5)}\n${shortId(run.commit).slice(0, 7)}`;

/** The points of a series by run; runs without it are undefined. */
function byRun(series, runs) {
  const points = new Array(runs.length).fill(undefined);
  for (const raw of series.points) points[raw[0]] = point(raw);
  return points;
}

export const isWorse = (change, series) => (scaleOf(series).better === 'more' ? change.factor < 1 : change.factor > 1);

/** The intervals of a series as a band behind its line. */
function band(name, points, color) {
  const known = points.flatMap((one, index) => (one?.low === undefined ? [] : [[index, one.low, one.high]]));
  return {
    name, type: 'custom', silent: true, tooltip: { show: false }, z: 1, clip: true,
    encode: { x: 0, y: [1, 2] }, data: known,
    renderItem(_, api) {
      const run = api.value(0);
      const here = points[run];
      const next = points[run + 1];
      const at = (index, value) => api.coord([index, value]);
      if (next?.low === undefined) {
        if (points[run - 1]?.low !== undefined) return undefined;
        // Alone: a whisker.
        const [x, low] = at(run, here.low);
        const [, high] = at(run, here.high);
        return { type: 'line', shape: { x1: x, y1: low, x2: x, y2: high }, style: { stroke: color, lineWidth: 2, opacity: 0.45 } };
      }
      return {
        type: 'polygon', style: { fill: color, opacity: 0.16 },
        shape: { points: [at(run, here.low), at(run, here.high), at(run + 1, next.high), at(run + 1, next.low)] },
      };
    },
  };
}

/** Lines down through the chart where a change was found. */
function changeMarks(series) {
  const color = (change) => colour(isWorse(change, series) ? '--worse' : '--better');
  return {
    silent: true, symbol: 'none', animation: false,
    data: (series.changes ?? []).map((change) => ({
      name: `change-${change.run}`,
      xAxis: change.run,
      lineStyle: { color: color(change), width: 1.5, type: [4, 3] },
      label: {
        formatter: `${isWorse(change, series) ? '▼' : '▲'} ${percent(change.factor - 1)}`,
        color: color(change), fontSize: 12, fontWeight: 600, position: 'end',
      },
    })),
  };
}

/**
 * The chart. `series()` gives the series to draw, all of one figure; `margin` is drawn as a band around 1 where they are
 * ratios. Zoom is kept in `zoom` ({start, end} in %), which several charts may share.
 */
export class TrendChart extends Chart {
  constructor(name, data, { series, label, margin, zoom, live }) {
    super(name, { height: ({ narrow }) => (narrow ? 300 : 360), option: (layout) => this.make(layout), label,
      named: () => this.series().map((one) => one.server), order: serversOf(data) });
    this.data = data;
    this.series = series;
    this.margin = margin;
    this.zoom = zoom;
    this.live = live;
    this.focused = undefined;
    this.pointer = 'mouse';
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('blur', () => this.echart?.dispatchAction({ type: 'hideTip' }));
    this.canvas.addEventListener('pointerdown', (event) => { this.pointer = event.pointerType; }, true);
  }

  started(echart) {
    echart.on('click', ({ seriesType, dataIndex }) => {
      // A finger's tap shows the values, with the link in them.
      if (seriesType === 'line' && this.pointer === 'mouse') this.open(dataIndex);
    });
    echart.on('datazoom', () => {
      const [{ start, end }] = echart.getOption().dataZoom;
      this.zoom.changed(start, end);
    });
  }

  open(run) {
    const address = this.data.runs[run]?.commit?.url;
    if (isWebAddress(address)) window.open(address, '_blank', 'noopener');
  }

  key(event) {
    const last = this.data.runs.length - 1;
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) this.focused = Math.min(last, Math.max(0, (this.focused ?? last + 1) + steps[event.key]));
    else if (event.key === 'Home') this.focused = 0;
    else if (event.key === 'End') this.focused = last;
    else if (event.key === 'Enter' && this.focused !== undefined) return this.open(this.focused);
    else if (event.key === 'Escape') return this.echart.dispatchAction({ type: 'hideTip' });
    else return undefined;
    event.preventDefault();
    this.show(this.focused);
    return undefined;
  }

  /** Shows the values of a run, and says them to those who listen. */
  show(run) {
    const lines = this.echart.getOption().series.flatMap((one, index) => (one.type === 'line' ? [index] : []));
    const seriesIndex = lines.find((index) => this.echart.getOption().series[index].data[run] !== null);
    if (seriesIndex !== undefined) this.echart.dispatchAction({ type: 'showTip', seriesIndex, dataIndex: run });
    this.live.textContent = [minute(this.data.runs[run].date), ...this.values(run).map(([, name, value]) => `${name} ${value}`)].join(', ');
  }

  values(run) {
    const order = serversOf(this.data);
    return this.series().flatMap((series) => {
      const raw = series.points.find(([index]) => index === run);
      if (raw === undefined) return [];
      const { text, unit } = scaleOf(series);
      const { color } = look(order.indexOf(series.server));
      return [[color, series.server, withInterval(point(raw), text, unit), raw[4]]];
    });
  }

  tooltip(run) {
    const { date, commit } = this.data.runs[run];
    const changes = this.series().flatMap((series) => (series.changes ?? [])
      .filter((change) => change.run === run)
      .map((change) => element('p', { class: isWorse(change, series) ? 'worse' : 'better' },
        `${series.server}: ${percent(change.factor - 1)} since this commit`)));
    return tip(
      [element('b', {}, minute(date)), ' ', link(commit?.url, shortId(commit)), commit?.dirty ? ' + changes' : '',
        element('span', { class: 'subject' }, commit?.subject ?? '')],
      this.values(run), ...changes);
  }

  make({ narrow, width }) {
    const list = this.series();
    if (list.length === 0) return undefined;
    const { runs } = this.data;
    const order = serversOf(this.data);
    const { label, unit, better } = scaleOf(list[0]);
    const isRatio = list[0].to !== undefined;
    const series = list.flatMap((one, index) => {
      const { color, symbol, dash } = look(order.indexOf(one.server));
      const points = byRun(one, runs);
      const line = {
        name: one.server, type: 'line', z: isOurs(one.server) ? 4 : 3, symbol, symbolSize: width / runs.length < 9 ? 4 : 7, showAllSymbol: true,
        color, lineStyle: { width: isOurs(one.server) ? 2.5 : 2, type: dash }, itemStyle: { color, borderWidth: 1.5 },
        emphasis: { scale: 1.5 }, data: points.map((value) => value?.median ?? null), connectNulls: false,
        markLine: changeMarks(one),
      };
      if (isRatio && index === 0 && this.margin !== undefined) {
        line.markArea = {
          silent: true, itemStyle: { color: colour('--band') },
          data: [[{ yAxis: 1 - this.margin }, { yAxis: 1 + this.margin }]],
        };
      }
      return isRatio || list.length < 4 ? [band(one.server, points, color), line] : [line];
    });
    const shared = base();
    return {
      ...shared,
      axisName: [label, unit && `in ${unit}`, better && `– ${better} is better`].filter(Boolean).join(' '),
      tooltip: {
        ...shared.tooltip, trigger: 'axis', triggerOn: 'mousemove|click',
        axisPointer: { type: 'line', lineStyle: { color: colour('--muted'), type: 'solid', width: 1 } },
        formatter: (items) => this.tooltip([items].flat()[0].dataIndex),
      },
      legend: this.legendOption(),
      grid: { left: 4, right: narrow ? 10 : 20, top: list.some((one) => one.changes?.length > 0) ? 26 : 12, bottom: runs.length < 2 ? 8 : 56, containLabel: true },
      xAxis: axis({
        type: 'category', data: runs.map((_, index) => index), boundaryGap: runs.length < 3,
        axisLine: { show: true }, splitLine: { show: false },
        axisLabel: { formatter: (index) => runLabel(runs[index]), lineHeight: 16 },
      }),
      yAxis: axis({
        type: 'value', scale: true, splitNumber: narrow ? 4 : 5,
        axisLabel: { formatter: short },
      }),
      dataZoom: runs.length < 2 ? [] : [
        { type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: 'shift', moveOnMouseWheel: false, start: this.zoom.start, end: this.zoom.end },
        {
          type: 'slider', height: 22, bottom: 6, start: this.zoom.start, end: this.zoom.end, showDetail: false, brushSelect: true,
          borderColor: colour('--line'), fillerColor: colour('--band'), backgroundColor: 'transparent',
          handleStyle: { color: colour('--raised'), borderColor: colour('--muted') },
          moveHandleStyle: { color: colour('--faint') }, moveHandleSize: 5,
          dataBackground: { lineStyle: { color: colour('--faint') }, areaStyle: { color: 'transparent' } },
          selectedDataBackground: { lineStyle: { color: colour('--muted') }, areaStyle: { color: 'transparent' } },
          emphasis: { handleStyle: { borderColor: colour('--accent') }, moveHandleStyle: { color: colour('--muted') } },
        },
      ],
      series,
    };
  }
}
