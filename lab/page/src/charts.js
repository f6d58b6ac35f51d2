// What all charts share: the parts of ECharts that are used, colours and marks, and the element that a chart lives in.

import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent,
} from 'echarts/components';
import { connect, init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

import { drawing, element } from './dom.js';

// The canvas renderer: the one for SVG writes style attributes, which the page's security policy forbids.
use([
  AriaComponent, BarChart, CanvasRenderer, CustomChart, DataZoomComponent, GridComponent, LegendComponent, LineChart,
  MarkAreaComponent, MarkLineComponent, TooltipComponent,
]);
export { connect };

/** Below this many pixels a chart is laid out for a phone. */
export const kNarrow = 560;

// Colour, symbol and dash of the servers, by their place in the order of all servers. Neighbours differ in more than
// their hue, for eyes that do not see all of them; the colours are those of Okabe and Ito, made lighter for the dark.
const kSymbols = ['circle', 'rect', 'diamond', 'triangle', 'emptyCircle', 'emptyRect', 'emptyDiamond', 'emptyTriangle'];
const kDashes = ['solid', [7, 3], [2, 3], 'solid', [7, 3], [10, 3, 2, 3], 'solid', [2, 3]];
const kColours = 8;

export function look(index) {
  return {
    color: colour(`--series-${index % kColours}`),
    symbol: kSymbols[index % kSymbols.length],
    dash: kDashes[(index + Math.floor(index / kDashes.length)) % kDashes.length],
  };
}

// Asked of the browser once per theme: each question costs it a look at the styles of the page.
const colours = new Map();
let family;

/** The value of one of the style sheet's colours, as the present theme has it. */
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colours.get(name);
}

/** The page's font, for what is drawn. */
export const font = () => (family ??= getComputedStyle(document.body).fontFamily);

/** What every chart has: quiet axes, a tooltip that stays inside the page, nothing that moves. */
export function base() {
  return {
    animation: false,
    textStyle: { fontFamily: font(), color: colour('--text') },
    aria: { enabled: true },
    tooltip: {
      confine: true,
      enterable: true,
      backgroundColor: colour('--raised'),
      borderColor: colour('--line'),
      borderWidth: 1,
      padding: [10, 12],
      textStyle: { color: colour('--text'), fontSize: 13 },
      extraCssText: 'box-shadow: 0 4px 16px rgba(0,0,0,.14); border-radius: 6px;',
      transitionDuration: 0,
    },
  };
}

export function axis(overrides = {}) {
  const { axisLabel, splitLine, axisLine, ...rest } = overrides;
  return {
    axisLine: { show: false, lineStyle: { color: colour('--line') }, ...axisLine },
    axisTick: { show: false },
    axisLabel: { color: colour('--muted'), fontSize: 12, hideOverlap: true, ...axisLabel },
    splitLine: { show: true, lineStyle: { color: colour('--line') }, ...splitLine },
    ...rest,
  };
}

// Every chart of the page, for what concerns all of them.
const charts = new Map();

/** Draws all charts again, when the colours have changed. */
export function redrawAll() {
  colours.clear();
  for (const chart of charts.values()) chart.draw();
}

/** The charts by name: for tests, and for whoever looks from the console. */
export const chartsByName = () => Object.fromEntries([...charts].map(([name, chart]) => [name, chart.echart]));

/**
 * A chart in an element of its own. `option({narrow})` gives ECharts' option; draw() asks for it again. `height` is
 * pixels, or a function of the same. In the option, `axisName` is what stands above the upright axis: text of the page, so
 * that it wraps. Where `named()` gives the names of its lines, it has a legend of buttons, which the
 * keyboard reaches; `order` is that of all servers, for their looks.
 */
export class Chart {
  constructor(name, { height, option, label, named, order }) {
    this.name = name;
    this.option = option;
    this.height = height;
    this.label = label;
    this.canvas = element('div', { class: 'canvas', 'data-chart': name });
    this.legend = element('div', { class: 'legend', role: 'group', 'aria-label': 'Lines shown' });
    this.caption = element('p', { class: 'axis-name' });
    this.element = element('div', { class: 'chart' }, this.legend, this.caption, this.canvas);
    this.named = named;
    this.order = order;
    this.hiddenNames = new Set();
    this.width = 0;
    charts.set(name, this);
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  get narrow() { return this.element.clientWidth < kNarrow; }

  resized() {
    const { clientWidth } = this.element;
    if (clientWidth === 0 || clientWidth === this.width) return;
    this.width = clientWidth;
    this.draw();
  }

  /** A button for each line, pressed while it is shown. */
  drawLegend() {
    const names = this.named?.() ?? [];
    this.legend.hidden = names.length < 2;
    this.legend.replaceChildren(...(names.length < 2 ? [] : names).map((name) => {
      const button = element('button', {
        type: 'button', 'aria-pressed': !this.hiddenNames.has(name),
        onclick: () => {
          if (!this.hiddenNames.delete(name)) this.hiddenNames.add(name);
          button.setAttribute('aria-pressed', !this.hiddenNames.has(name));
          this.echart.setOption({ legend: this.legendOption() });
        },
      }, swatch(look(this.order.indexOf(name))), name);
      return button;
    }));
  }

  /** ECharts' own legend draws nothing here; it knows which lines are shown. */
  legendOption() {
    return { show: false, selected: Object.fromEntries(this.named().map((name) => [name, !this.hiddenNames.has(name)])) };
  }

  draw() {
    // What is hidden has no width; and it may have something to show now.
    this.element.hidden = false;
    if (this.element.clientWidth === 0) return;
    const layout = { narrow: this.narrow, width: this.element.clientWidth };
    const height = typeof this.height === 'function' ? this.height(layout) : this.height;
    const size = `${layout.width} ${height}`;
    this.canvas.style.height = `${height}px`;
    const option = this.option(layout);
    this.element.hidden = option === undefined;
    if (option === undefined) return;
    if (this.echart === undefined) {
      this.echart = init(this.canvas);
      this.started?.(this.echart);
    }
    this.drawLegend();
    const { axisName, ...rest } = option;
    this.caption.textContent = axisName ?? '';
    this.caption.hidden = axisName === undefined;
    // A new size alone would draw everything once more.
    if (size !== this.size) this.echart.resize({ silent: true });
    this.size = size;
    this.echart.setOption(rest, { notMerge: true });
    this.canvas.setAttribute('aria-label', this.label?.() ?? this.name);
  }
}

/** A piece of the line with its symbol, as the legend shows it. */
function swatch({ color, symbol, dash }) {
  const shape = symbol.replace('empty', '').toLowerCase();
  const paint = { fill: symbol.startsWith('empty') ? colour('--ground') : color, stroke: color, 'stroke-width': 1.5 };
  const shapes = {
    circle: () => drawing('circle', { cx: 15, cy: 6, r: 3.5, ...paint }),
    rect: () => drawing('rect', { x: 11.5, y: 2.5, width: 7, height: 7, ...paint }),
    diamond: () => drawing('path', { d: 'M15 1.5 19.5 6 15 10.5 10.5 6z', ...paint }),
    triangle: () => drawing('path', { d: 'M15 1.5 19.5 10 10.5 10z', ...paint }),
  };
  return drawing('svg', { width: 30, height: 12, 'aria-hidden': 'true' },
    drawing('line', { x1: 0, y1: 6, x2: 30, y2: 6, stroke: color, 'stroke-width': 2, 'stroke-dasharray': dash === 'solid' ? 'none' : dash.join(' ') }),
    shapes[shape]());
}

// ---- The content of tooltips ----

/** A tooltip: a heading, and rows of [mark colour, name, value, note?]. */
export function tip(heading, rows, ...rest) {
  const mark = (color) => {
    const made = element('i', { class: 'mark' });
    if (color) made.style.background = color;
    return made;
  };
  return element('div', { class: 'tip' },
    element('p', { class: 'tip-head' }, heading),
    element('table', {}, rows.map(([color, name, value, note]) =>
      element('tr', {},
        element('td', {}, mark(color), name),
        element('td', { class: 'number' }, value),
        note ? element('td', { class: 'muted' }, note) : null))),
    ...rest);
}
