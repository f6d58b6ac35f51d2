// Latencies by percentile: the further right, the rarer. Each step of the axis is ten times as rare, as in HdrHistogram's
// plots.

import { axis, base, Chart, look, tip } from './charts.js';
import { serverName, serversOf } from './data.js';
import { microseconds, shortMicroseconds } from './words.js';

/** Where a percentile stands: 0 % at 0, 90 % at 1, 99 % at 2. The maximum has no place of its own, so it is put last. */
export function rarity(percentile, end) {
  return percentile >= 100 ? end : -Math.log10(1 - percentile / 100);
}

/** Where the maximum is drawn: half a step behind the last percentile. */
export function endOf(servers) {
  const most = servers.flatMap((one) => one.latency.map(([percentile]) => percentile)).filter((value) => value < 100);
  return Math.ceil(rarity(Math.max(90, ...most)) * 2 + 0.001) / 2 + 0.5;
}

export class LatencyChart extends Chart {
  /** `scenario()` gives the scenario of the latest run to draw. */
  constructor(name, data, { scenario, label }) {
    super(name, { label, named: () => this.servers().map((one) => serverName(one)), order: serversOf(data), height: ({ narrow }) => (narrow ? 300 : 360), option: (layout) => this.make(layout) });
    this.data = data;
    this.scenario = scenario;
  }

  servers() {
    return (this.scenario()?.servers ?? []).filter((one) => one.latency?.length > 0 && !one.void);
  }

  make({ narrow }) {
    const servers = this.servers();
    if (servers.length === 0) return undefined;
    const order = serversOf(this.data);
    const end = endOf(servers);
    const percentiles = [0, 50, 90, 99, 99.9, 99.99, 99.999].filter((value) => rarity(value) < end - 0.4);
    const ticks = [...percentiles.map((value) => rarity(value)), end];
    const nameOfTick = (at) => (at >= end - 1e-6 ? 'max' : `${percentiles[ticks.findIndex((tick) => Math.abs(tick - at) < 1e-6)]} %`);
    const shared = base();
    return {
      ...shared,
      axisName: 'Latency – less is better',
      tooltip: {
        ...shared.tooltip, trigger: 'item',
        formatter: ({ seriesName, data: [, , percentile] }) => tip(
          percentile >= 100 ? 'The slowest request' : `${percentile} % were at least this fast`,
          servers.flatMap((one) => {
            const found = one.latency.find(([other]) => other === percentile);
            return found === undefined ? [] : [[look(order.indexOf(serverName(one))).color, serverName(one),
              microseconds(found[1]), serverName(one) === seriesName ? '●' : '']];
          })),
      },
      legend: this.legendOption(),
      grid: { left: 4, right: narrow ? 18 : 28, top: 12, bottom: 8, containLabel: true },
      xAxis: axis({
        type: 'value', min: 0, max: end, axisLine: { show: true },
        axisLabel: { customValues: ticks, formatter: nameOfTick }, axisTick: { show: false, customValues: ticks },
      }),
      yAxis: axis({
        type: 'log', axisLabel: { formatter: shortMicroseconds },
      }),
      series: servers.map((one) => {
        const { color, symbol, dash } = look(order.indexOf(serverName(one)));
        return {
          name: serverName(one), type: 'line', symbol, symbolSize: 8, color, itemStyle: { color, borderWidth: 1.5 }, lineStyle: { width: 2, type: dash },
          emphasis: { scale: 1.4 },
          data: one.latency.filter(([, value]) => value > 0).map(([percentile, value]) => [rarity(percentile, end), value, percentile]),
        };
      }),
    };
  }
}
