// Chromium without a window, and what is on its screen. Moving frames are told from their pixels.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import {after, afterEach, before, beforeEach} from 'node:test';
import {eventually, longTime} from './rig.mjs';

const {chromium} = createRequire(`${process.env.CAMPIPE_TEST_MODULES}/`)('playwright-core');
const pixels = fs.readFileSync(path.join(import.meta.dirname, 'pixels.js'), 'utf8');

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CAMPIPE_TEST_CHROMIUM,
    args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
    timeout: longTime,
  });
}

// A page whose errors are collected in `page.problems`: a test ends with none.
// `options`: of its context.
export async function openPage(browser, options = {}) {
  const page = await browser.newPage({viewport: {width: 1366, height: 768}, ...options});
  page.context().setDefaultTimeout(longTime);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.stack));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content.Security|Refused to/.test(message.text()))
      page.problems.push(message.text());
  });
  await page.addInitScript(pixels);
  return page;
}

// From its next load on the page asks for each status, as where no stream comes through: a test can wait for the answer,
// or make another one of it.
export const askForStatus = (page) => page.addInitScript(() => delete window.EventSource);

// Until such a page has shown a status that it asks for from now on: it asks for the next one only then.
export async function anotherStatus(page) {
  for (let i = 0; i < 2; ++i) await page.waitForRequest('**/api/v1/status');
}

// Within a suite: the rig that `start` starts, a browser, and for each test a page of its own, by `take`.
export function browseRig(start, take, options) {
  let rig;
  let browser;
  let page;
  before(async () => {
    rig = await start();
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await rig?.stop();
  });
  beforeEach(async () => {
    page = await openPage(browser, options);
    take({rig, page});
  });
  afterEach(async () => {
    const {problems} = page;
    await page.unrouteAll({behavior: 'ignoreErrors'}); // a handler may still be at work
    await page.close();
    assert.deepEqual(problems, []);
  });
}

export const tile = (camera) => `.tile[data-camera="${camera}"]`;

// A number that differs when the frame of the camera does; null: there is none.
export const hashOf = (page, camera) =>
  page.evaluate((selector) => window.pictureHash(selector), `${tile(camera)} video`);

// Three different frames, one after the other.
export async function expectMoving(page, camera, limit = longTime) {
  const seen = new Set();
  await eventually(
    `${camera} moves`,
    async () => {
      const hash = await hashOf(page, camera);
      if (hash !== null) seen.add(hash);
      return seen.size >= 3;
    },
    limit,
  );
}

// The same frame for a second.
export async function expectStill(page, camera) {
  let last = await hashOf(page, camera);
  let since = Date.now();
  await eventually(`${camera} stands still for 1 s`, async () => {
    const hash = await hashOf(page, camera);
    if (hash !== last) since = Date.now();
    last = hash;
    return Date.now() - since > 1000;
  });
}

export const percentile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)];
