// What the page's tests share: the page built and filled with a history, a browser, and an eye on all that the page says
// and loads.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { chromium } from 'playwright-core';

import * as synthetic from './synthetic.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const lab = process.env.LEANTEA_LAB;
assert.ok(lab, 'LEANTEA_LAB must name the program leantea-lab');

const folder = mkdtempSync(join(tmpdir(), 'leantea-page-'));
const template = join(folder, 'template.html');
execFileSync('node', [join(here, '../build.mjs'), template], { stdio: 'pipe' });

/** A site of the given runs: its folder, the page's file, and its address on disk. */
export function makeSite(name, runs) {
  const site = join(folder, name);
  synthetic.write(join(site, 'history'), runs);
  const file = join(site, 'bench/index.html');
  execFileSync(lab, ['report', '--history', join(site, 'history'), '--template', template, '--output', file], { stdio: 'pipe' });
  return { folder: site, file, address: pathToFileURL(file).href };
}

let browser;
export async function start() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
}
export async function stop() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

export const kWide = { width: 1280, height: 900 };

// Pages that were opened without options stay open for the next test: most of a test's time is the opening.
const open = new Map();

async function openPage(address, options) {
  const context = await browser.newContext({ viewport: kWide, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const said = [];
  const asked = [];
  page.on('console', (message) => said.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!request.url().startsWith('data:') && request.url() !== address) asked.push(request.url());
  });
  await page.goto(address);
  await page.waitForFunction(() => window.report !== undefined);
  await settled(page);
  return { context, page, said, asked };
}

/** All choices as they are when the page is opened. */
async function putBack(page) {
  await page.setViewportSize(kWide);
  await page.mouse.move(0, 0);
  await page.evaluate(() => {
    document.querySelectorAll('details').forEach((one) => { one.open = false; });
    // Only what was changed: each change draws charts.
    document.querySelectorAll('.legend button[aria-pressed="false"], .switcher:not(.plain) button:first-child[aria-pressed="false"]')
      .forEach((one) => one.click());
    const { dataZoom } = window.report.charts().trend?.getOption() ?? {};
    if (dataZoom?.some(({ start, end }) => start > 0 || end < 100)) document.querySelector('.switcher.plain button:last-child').click();
    // Those that are there now: a choice may make the choosers behind it anew.
    for (let at = 0; at < document.querySelectorAll('main select').length; at += 1) {
      const select = document.querySelectorAll('main select')[at];
      if (select.selectedIndex === 0) continue;
      select.selectedIndex = 0;
      select.dispatchEvent(new Event('change'));
    }
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
  await settled(page);
}

/**
 * Calls `look(page, context)` with the page at `address`; with `options` (those of Playwright's contexts) it is opened
 * anew. Fails when the page said anything on the console, threw, or asked the network for more than itself.
 */
export async function visit(address, options, look) {
  const shared = Object.keys(options).length === 0;
  const opened = (shared && open.get(address)) || await openPage(address, options);
  if (shared && open.has(address)) await putBack(opened.page);
  else if (shared) open.set(address, opened);
  try {
    await look(opened.page, opened.context);
    assert.deepEqual(opened.said, [], 'the page says nothing on the console');
    assert.deepEqual(opened.asked, [], 'the page loads nothing but itself');
  } finally {
    opened.said.length = 0;
    opened.asked.length = 0;
    await opened.context.unrouteAll?.();
    if (!shared) await opened.context.close();
  }
}

/** Waits until what is to be drawn is drawn. */
export const settled = (page) => page.evaluate(() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
}));

/** What a chart shows: its lines by name, marks and zoom. */
export const chart = (page, name) => page.evaluate((which) => {
  const shown = window.report.charts()[which];
  if (!shown || shown.getDom().closest('[hidden]')) return undefined;
  const { series, dataZoom } = shown.getOption();
  return {
    lines: series.filter((one) => one.type === 'line').map(({ name, data }) => ({ name, data })),
    marks: series.flatMap((one) => (one.type === 'line' ? (one.markLine?.data ?? []) : [])
      .map((mark) => ({ run: mark.xAxis, text: mark.label.formatter }))),
    custom: series.filter((one) => one.type === 'custom').map(({ name, data }) => ({ name, data })),
    zoom: dataZoom?.[0] && { start: dataZoom[0].start, end: dataZoom[0].end },
  };
}, name);

/** Where a point of a chart is on the screen, scrolled into view. */
export async function place(page, name, ...at) {
  await page.locator(`[data-chart="${name}"]`).scrollIntoViewIfNeeded();
  return page.evaluate(([which, position]) => {
    const shown = window.report.charts()[which];
    const [x, y] = shown.convertToPixel({ gridIndex: 0 }, position);
    const box = shown.getDom().getBoundingClientRect();
    return { x: box.x + x, y: box.y + y };
  }, [name, at]);
}

export const data = (page) => page.evaluate(() => window.report.data);

/** The rows of the table with this caption, as texts. */
export const rowsOf = (page, caption) => page.evaluate((wanted) => {
  const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent.startsWith(wanted));
  return table && [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}, caption);

/** Opens every folded table. */
export async function unfold(page) {
  await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
  await settled(page);
}

/** Starts `leantea-lab serve-report` on a site and calls `use(address, process)`; ends it with Ctrl-C. */
export async function served(site, use) {
  const process = spawn(lab, ['serve-report', '--port', '0', '--site', site.folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => { process.on('exit', (code, signal) => done({ code, signal })); });
  try {
    const address = await new Promise((found, failed) => {
      let text = '';
      process.stdout.on('data', (chunk) => {
        text += chunk;
        const match = /http:\/\/\S+/.exec(text);
        if (match) found(match[0]);
      });
      ended.then(({ code }) => failed(new Error(`serve-report ended with code ${code}`)));
    });
    await use(address);
  } finally {
    process.kill('SIGINT');
  }
  return ended;
}

/** A command of the lab that has to fail: its code and what it said. */
export function failing(...command) {
  try {
    execFileSync(lab, command, { stdio: 'pipe' });
  } catch ({ status, stderr }) {
    return { status, text: stderr.toString() };
  }
  throw new Error(`${command.join(' ')} did not fail`);
}
