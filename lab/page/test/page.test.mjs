// The page in Chromium, as a reader sees it: from disk and served, in light and dark, wide and narrow; with a long
// history, with one run, and with none. The histories are made up (synthetic.mjs).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { figure, minute, withInterval } from '../src/words.js';
import { chart, data, failing, makeSite, place, rowsOf, served, settled, start, stop, unfold, visit } from './browser.mjs';
import { history, kInconclusive, kNastySubjects, kStep, kStepAt, kVoid } from './synthetic.mjs';

let long;
let single;
let none;

before(async () => {
  long = makeSite('long', history(60));
  single = makeSite('single', history(1));
  none = makeSite('none', history(0));
  await start();
});
after(stop);

const choose = async (page, section, label, value) => {
  await page.locator(`#${section}`).getByLabel(label, { exact: true }).selectOption(value);
  await settled(page);
};
const press = async (page, section, name) => {
  await page.locator(`#${section}`).getByRole('button', { name, exact: true }).click();
  await settled(page);
};

/** The medians of a series by run, with nulls where a run has none: what a line's data have to be. */
function valuesOf(series, runs) {
  const values = new Array(runs).fill(null);
  for (const [run, median] of series.points) values[run] = median;
  return values;
}

test('every series of the data can be seen as a line', async () => {
  await visit(long.address, {}, async (page) => {
    const all = await data(page);
    const plain = all.series.filter((one) => one.to === undefined);
    const choices = [...new Set(plain.map((one) => `${one.figure}|${one.scenario}`))].map((one) => one.split('|'));
    // In one go: there are some dozens.
    const shown = await page.evaluate((wanted) => wanted.map(([name, scenario]) => {
      const choose = (label, value) => {
        const select = [...document.querySelectorAll('#over-time .chooser')].find((one) => one.firstChild.textContent === label).lastChild;
        select.value = value;
        select.dispatchEvent(new Event('change'));
      };
      choose('Figure', name);
      choose('Scenario', scenario);
      return window.report.charts().trend.getOption().series.filter((one) => one.type === 'line').map((one) => [one.name, one.data]);
    }), choices);
    choices.forEach(([name, scenario], index) => {
      const wanted = plain.filter((one) => one.figure === name && one.scenario === scenario);
      assert.deepEqual(new Map(shown[index]), new Map(wanted.map((one) => [one.server, valuesOf(one, all.runs.length)])));
    });
    assert.equal(shown.flat().length, plain.length);
    assert.ok(plain.length > 100);
  });
});

test('the ratio of ours to nginx and to the floor is a line with its interval', async () => {
  await visit(long.address, {}, async (page) => {
    const all = await data(page);
    for (const to of ['nginx', 'floor']) {
      await press(page, 'over-time', `÷ ${to}`);
      const series = all.series.find((one) => one.scenario === 'health' && one.server === 'ours' && one.to === to && one.figure === 'cpu_us_per_request');
      const { lines, custom } = await chart(page, 'parity');
      assert.deepEqual(lines, [{ name: 'ours', data: valuesOf(series, all.runs.length) }]);
      assert.deepEqual(custom[0].data, series.points.map(([run, , low, high]) => [run, low, high]));
    }
  });
});

test('a figure without a ratio says so', async () => {
  await visit(long.address, {}, async (page) => {
    await choose(page, 'over-time', 'Figure', 'p50_us');
    assert.equal(await chart(page, 'parity'), undefined);
    assert.ok(await page.getByText('No ratio is made of this figure.').isVisible());
  });
});

test('hovering shows the values of a run', async () => {
  await visit(long.address, {}, async (page) => {
    const all = await data(page);
    const run = 45;
    const wanted = all.series.filter((one) => one.scenario === 'health' && one.figure === 'cpu_us_per_request' && one.to === undefined);
    const ours = wanted.find((one) => one.server === 'ours').points.find(([index]) => index === run);
    const at = await place(page, 'trend', run, ours[1]);
    await page.mouse.move(at.x, at.y);
    const tip = page.locator('[data-chart="trend"] .tip');
    await tip.waitFor();
    const text = await tip.innerText();
    assert.ok(text.includes(minute(all.runs[run].date)), text);
    assert.ok(text.includes(all.runs[run].commit.id.slice(0, 8)), text);
    const { text: written, unit } = figure('cpu_us_per_request');
    for (const one of wanted) {
      const found = one.points.find(([index]) => index === run);
      if (!found) continue;
      const [, median, low, high] = found;
      assert.ok(text.includes(withInterval({ median, low, high }, written, unit)), `${one.server} in: ${text}`);
    }
  });
});

test('the keyboard goes from run to run and opens commits', async () => {
  await visit(long.address, {}, async (page, context) => {
    const all = await data(page);
    await context.route('https://example.org/**', (route) => route.abort());
    await page.locator('[data-chart="parity"]').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    const run = all.runs.length - 2;
    await page.locator('[data-chart="parity"] .tip').waitFor();
    assert.ok((await page.locator('[data-chart="parity"] .tip').innerText()).includes(minute(all.runs[run].date)));
    assert.ok((await page.locator('#live').textContent()).startsWith(minute(all.runs[run].date)));
    const [popup] = await Promise.all([context.waitForEvent('page'), page.keyboard.press('Enter')]);
    await popup.waitForURL(/.*/).catch(() => {});
    assert.ok(all.runs[run].commit.url.startsWith('https://'));
    await popup.close();
  });
});

test('a click on a point opens its commit, and only an address of the web', async () => {
  await visit(long.address, {}, async (page, context) => {
    const all = await data(page);
    const asked = [];
    await context.route('https://example.org/**', (route) => { asked.push(route.request().url()); return route.abort(); });
    const series = all.series.find((one) => one.scenario === 'health' && one.server === 'ours' && one.to === 'nginx' && one.figure === 'cpu_us_per_request');
    const click = async (run) => {
      const at = await place(page, 'parity', run, series.points.find(([index]) => index === run)[1]);
      await page.mouse.click(at.x, at.y);
    };
    const [popup] = await Promise.all([context.waitForEvent('page'), click(30)]);
    await popup.waitForEvent('close', { timeout: 500 }).catch(() => {});
    assert.deepEqual(asked, [all.runs[30].commit.url]);
    await popup.close();
    assert.ok(all.runs[6].commit.url.startsWith('javascript:'));
    await click(6);
    await settled(page);
    assert.equal(context.pages().length, 1);
    assert.equal(await page.evaluate(() => window.broken), undefined);
  });
});

test('zoom: buttons, the wheel with Ctrl, both charts together, and back', async () => {
  await visit(long.address, {}, async (page) => {
    const zooms = async () => [(await chart(page, 'parity')).zoom, (await chart(page, 'trend')).zoom];
    await press(page, 'over-time', 'Last 20');
    const [first, second] = await zooms();
    assert.deepEqual(first, second);
    assert.ok(first.start > 60 && first.end === 100, JSON.stringify(first));
    const shown = await page.evaluate(() => {
      const { scale } = window.report.charts().parity.getModel().getComponent('xAxis').axis;
      return scale.getExtent();
    });
    assert.deepEqual(shown, [40, 59]);
    await press(page, 'over-time', 'All 60');
    assert.deepEqual(await zooms(), [{ start: 0, end: 100 }, { start: 0, end: 100 }]);

    const at = await place(page, 'parity', 30, 0.85);
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, -300);
    await settled(page);
    assert.equal((await chart(page, 'parity')).zoom.start, 0, 'without Ctrl the wheel scrolls the page');
    const again = await place(page, 'parity', 30, 0.85);
    await page.mouse.move(again.x, again.y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await page.waitForFunction(() => window.report.charts().parity.getOption().dataZoom[0].start > 0);
    await settled(page);
    const [zoomed, followed] = await zooms();
    assert.deepEqual(zoomed, followed);
  });
});

test('the step in the history is marked, with by how much and since which commit', async () => {
  await visit(long.address, {}, async (page) => {
    const all = await data(page);
    const { marks } = await chart(page, 'parity');
    assert.equal(marks.length, 1, JSON.stringify(marks));
    assert.ok(Math.abs(marks[0].run - kStepAt) <= 1, JSON.stringify(marks));
    const percent = Number(/\+(\d+\.\d) %/.exec(marks[0].text)[1]);
    assert.ok(Math.abs(percent - (kStep - 1) * 100) < 1, marks[0].text);
    const count = (wanted) => all.series.filter(wanted).flatMap((one) => one.changes ?? []).length;
    const isMain = (one) => one.server === 'ours' && one.to === 'nginx';
    const entries = () => page.locator('#changes li').count();
    assert.equal(await entries(), count(isMain));
    await unfold(page);
    assert.equal(await entries(), count(() => true));
    const rows = await rowsOf(page, 'Changes of ours');
    const row = rows.find((cells) => cells[1].startsWith('CPU per request ÷ nginx'));
    assert.ok(row[0].includes(all.runs[marks[0].run].commit.id.slice(0, 8)), row.join('|'));
    assert.match(row[1], /\+\d\.\d % \(\+\d\.\d % to \+\d\.\d %\), worse: GET \/health, 128 connections/);
  });
});

test('the comparison has a bar for each ratio, with the verdict in words', async () => {
  await visit(long.address, {}, async (page) => {
    const { latest } = await data(page);
    const ratios = latest.scenarios.flatMap((scenario) => scenario.servers
      .filter((server) => server.key === 'ours').map((server) => server.ratio_to?.nginx?.cpu_us_per_request).filter(Boolean));
    const [{ data: bars }] = (await chart(page, 'comparison')).custom;
    assert.equal(bars.length, ratios.length);
    ratios.forEach(({ median, low, high }, index) => {
      assert.deepEqual(bars[index].slice(1).map((value) => Math.exp(value).toPrecision(6)), [median, low, high].map((value) => value.toPrecision(6)));
    });
    await unfold(page);
    const rows = await rowsOf(page, 'CPU per request of the latest run');
    assert.deepEqual(rows.map((row) => /faster|slower|equivalent|inconclusive/.exec(row[4])[0]), ratios.map((one) => one.verdict));
  });
});

test('what is inconclusive or void is called so', async () => {
  await visit(long.address, {}, async (page) => {
    await unfold(page);
    await press(page, 'latest', '÷ floor');
    await choose(page, 'latest', 'Show', `scenario ${kInconclusive}`);
    const rows = await rowsOf(page, 'CPU per request of the latest run');
    assert.match(rows.find((row) => row[1] === 'ours')[4], /inconclusive: somewhere from 0\.\d+ to 1\.\d+/);
    await choose(page, 'latest', 'Show', `scenario ${kVoid.scenario}`);
    const [row] = (await rowsOf(page, 'CPU per request of the latest run')).filter((cells) => cells[1] === kVoid.server);
    assert.ok(row[4].includes(`void: ${kVoid.why}`), row.join('|'));
    assert.equal(row[3], '–');
  });
});

test('latencies are lines by percentile', async () => {
  await visit(long.address, {}, async (page) => {
    const { latest } = await data(page);
    for (const scenario of latest.scenarios.filter((one) => one.servers.some((server) => server.latency))) {
      await choose(page, 'latencies', 'Scenario', scenario.name);
      const servers = scenario.servers.filter((server) => server.latency);
      const { lines } = await chart(page, 'latency');
      assert.deepEqual(lines.map((line) => line.name), servers.map((server) => server.key));
      lines.forEach((line, index) => {
        assert.deepEqual(line.data.map(([, value, percentile]) => [percentile, value]), servers[index].latency);
      });
    }
  });
});

test('a line can be hidden by its name', async () => {
  await visit(long.address, {}, async (page) => {
    const button = page.locator('#over-time').getByRole('button', { name: 'cpp-httplib' });
    await button.click();
    assert.equal(await button.getAttribute('aria-pressed'), 'false');
    assert.equal(await page.evaluate(() => window.report.charts().trend.getOption().legend[0].selected['cpp-httplib']), false);
  });
});

test('every chart has its table, with the same numbers', async () => {
  await visit(long.address, {}, async (page) => {
    const all = await data(page);
    await unfold(page);
    const { text } = figure('cpu_us_per_request');
    const wanted = all.series.filter((one) => one.scenario === 'health' && one.figure === 'cpu_us_per_request' && one.to === undefined);
    const rows = await rowsOf(page, 'CPU per request, GET /health, 128 connections, latest');
    assert.equal(rows.length, all.runs.length);
    const columns = await page.evaluate(() => [...[...document.querySelectorAll('table')]
      .find((one) => one.caption?.textContent.startsWith('CPU per request, GET /health, 128 connections, latest')).tHead.rows[0].cells].map((cell) => cell.textContent));
    assert.equal(columns.length, 2 + wanted.length);
    for (const one of wanted) {
      const column = columns.indexOf(`${one.server}, µs`);
      const byRun = new Map(one.points.map((point) => [point[0], point]));
      rows.forEach((row, index) => {
        const [, median, low, high] = byRun.get(all.runs.length - 1 - index) ?? [];
        assert.equal(row[column], median === undefined ? '–' : withInterval({ median, low, high }, text));
      });
    }
    assert.equal((await rowsOf(page, 'All recorded runs')).length, all.runs.length);
    assert.equal((await rowsOf(page, 'The backends')).length, all.rounds.rows.length);
    assert.equal((await rowsOf(page, 'Latency by percentile')).length, 11);
    assert.equal((await rowsOf(page, 'CPU per request, GET /health, 128 connections: ours ÷ nginx')).length, all.runs.length);
    // Whoever hears a table hears what each cell is about.
    const without = await page.evaluate(() => [...document.querySelectorAll('main table, table.tally')].filter((one) =>
      !one.caption?.textContent || [...one.querySelectorAll('th')].some((cell) => !cell.scope) ||
      [...one.tBodies[0].rows].some((row) => row.cells[0].tagName !== 'TH')).map((one) => one.outerHTML.slice(0, 200)));
    assert.deepEqual(without, []);
    const charts = await page.evaluate(() => [...document.querySelectorAll('[data-chart]')].map((one) => [one.getAttribute('role'), one.ariaLabel]));
    for (const [role, label] of charts) assert.ok(role === 'img' && label.length > 20, `${role} ${label}`);
  });
});

test('nothing that a commit says becomes part of the page', async () => {
  await visit(long.address, {}, async (page) => {
    await unfold(page);
    const rows = await rowsOf(page, 'All recorded runs');
    for (const subject of Object.values(kNastySubjects)) assert.ok(rows.some((row) => row[2] === subject), subject);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
    const at = await place(page, 'trend', 5, 10);
    await page.mouse.move(at.x, at.y);
    await page.locator('[data-chart="trend"] .tip').waitFor();
    assert.equal(await page.locator('.tip img').count(), 0);
  });
});

/** Contrast as WCAG 2 has it, of colours as computed styles write them. */
function contrast(one, other) {
  const light = (text) => {
    const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [most, least] = [light(one), light(other)].sort((a, b) => b - a);
  return (most + 0.05) / (least + 0.05);
}

test('light and dark, by the system and by choice, with enough contrast', async () => {
  const colours = (page) => page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement('i'));
    const value = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
    const names = ['ground', 'text', 'muted', 'accent', 'better', 'worse', 'neutral', 'unsure', ...Array.from({ length: 8 }, (_, index) => `series-${index}`)];
    const found = Object.fromEntries(names.map((name) => [name, value(name)]));
    probe.remove();
    return found;
  });
  await visit(single.address, { colorScheme: 'light' }, async (page) => {
    const grounds = {};
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const { ground, ...others } = await colours(page);
      grounds[colorScheme] = ground;
      // 4.5 is asked of text, 3 of lines (WCAG 2.2, 1.4.3 and 1.4.11).
      for (const [name, value] of Object.entries(others)) {
        const least = name.startsWith('series') ? 3 : 4.5;
        assert.ok(contrast(value, ground) >= least, `${colorScheme} ${name}: ${contrast(value, ground).toFixed(2)}`);
      }
    }
    assert.notEqual(grounds.light, grounds.dark);
    await page.locator('#theme').getByRole('button', { name: 'Light' }).click();
    assert.equal((await colours(page)).ground, grounds.light);
    assert.equal(await page.evaluate(() => window.report.charts().trend.getOption().textStyle.color), '#16202b', 'charts are drawn anew');
    await page.reload();
    await page.waitForFunction(() => window.report !== undefined);
    assert.equal((await colours(page)).ground, grounds.light, 'the choice is kept');
  });
});

test('on no screen does the page scroll sideways', async () => {
  for (const site of [long, single, none]) {
    await visit(site.address, {}, async (page) => {
      await unfold(page);
      for (const width of [320, 375, 400, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        // The charts follow when the window changes.
        await page.waitForFunction((most) => [...document.querySelectorAll('canvas')].every((one) => one.getBoundingClientRect().right <= most), width);
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= screen, `${width} px: ${content} > ${screen}`);
      }
    });
  }
});

test('one run: figures, no trend', async () => {
  await visit(single.address, {}, async (page) => {
    assert.ok(await page.getByText('One run is recorded: it has no trend yet.').isVisible());
    assert.equal((await chart(page, 'trend')).lines[0].data.length, 1);
    assert.ok((await chart(page, 'comparison')).custom[0].data.length > 0);
    assert.ok(await page.getByText('No change was found in the recorded runs.').isVisible());
  });
});

test('no run: the page says how to record one', async () => {
  await visit(none.address, {}, async (page) => {
    assert.equal(await page.locator('h1').textContent(), 'No run is recorded yet');
    assert.ok(await page.getByText('./dev bench --record').isVisible());
    assert.equal(await page.locator('section').count(), 0);
  });
});

test('served at /bench/ it is the same page, and the browser keeps it', async () => {
  const ended = await served(long, async (address) => {
    assert.match(address, /\/bench\/$/);
    await visit(address, {}, async (page) => {
      assert.equal((await chart(page, 'parity')).lines[0].name, 'ours');
      assert.equal((await data(page)).runs.length, 60);
    });
    const first = await fetch(address);
    assert.match(first.headers.get('content-security-policy'), /script-src 'sha256-[^;]+; style-src 'sha256-.*frame-ancestors 'none'/);
    assert.equal(first.headers.get('content-type'), 'text/html; charset=utf-8');
    const again = await fetch(address, { headers: { 'if-none-match': first.headers.get('etag') } });
    assert.equal(again.status, 304);
    assert.equal((await fetch(new URL('/', address))).url, address);
    const { status, text } = failing('serve-report', '--port', new URL(address).port, '--site', long.folder);
    assert.equal(status, 2);
    assert.match(text, /^leantea-lab: .*in use/);
    assert.equal(text.trim().split('\n').length, 1, text);
  });
  assert.deepEqual(ended, { code: 0, signal: null });
});
