// The page of recordings: it follows what there is, says why a file does not play, and is one stop for the Tab key.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {describe, test} from 'node:test';
import {anotherStatus, askForStatus, browseRig} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const codecs = {
  h264: ['-c:v', 'libx264'],
  hevc: ['-c:v', 'libx265', '-tag:v', 'hvc1', '-x265-params', 'log-level=none'],
};

// Two seconds; with sound, which browsers play where they do not know the codec of the video.
function clip(codec, hasSound) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-clip-')), 'clip.mp4');
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=size=160x120:rate=10'];
  const sound = hasSound ? ['-f', 'lavfi', '-i', 'sine', '-c:a', 'aac'] : [];
  const options = ['-t', '2', '-pix_fmt', 'yuv420p', ...codecs[codec], '-movflags', '+faststart'];
  execFileSync('ffmpeg', ['-v', 'error', ...inputs, ...sound, ...options, file]);
  const bytes = fs.readFileSync(file);
  fs.rmSync(path.dirname(file), {recursive: true});
  return bytes;
}

const noon = Date.parse('2026-11-20T12:00:00Z');
const recording = (n, more = {}) => ({
  id: `dock/${n}.mp4`,
  camera: 'dock',
  start_utc: new Date(noon + n * 60000).toISOString(),
  end_utc: new Date(noon + (n + 1) * 60000).toISOString(),
  duration_s: 60,
  bytes: 1000000,
  writing: false,
  ...more,
});
const being = (n) => recording(n, {end_utc: undefined, duration_s: undefined, writing: true});
const newest = (first, last) => Array.from({length: last - first + 1}, (_, i) => recording(last - i));

describe('recordings', {timeout: suiteTime}, () => {
  let rig;
  let page;
  let listed;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 1}',
        cameras: '  dock: {source: "test://pattern?width=160&height=120&rate=5"}\n',
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  // The rig lists `recordings`, and has `body` as each file; a number: it answers with that.
  async function open(recordings, body) {
    listed = recordings;
    await page.route('**/api/v1/recordings?*', (route) => route.fulfill({json: {recordings: listed}}));
    await page.route('**/recordings/files/**', (route) =>
      typeof body === 'number' ? route.fulfill({status: body}) : route.fulfill({contentType: 'video/mp4', body}),
    );
    await page.goto(`${rig.base}/recordings`);
    await page.waitForSelector('tr[data-id]');
  }
  const rows = () => page.$$eval('tr[data-id]', (all) => all.map(({dataset}) => dataset.id));
  const focused = () => page.evaluate(() => document.activeElement.closest('tr')?.dataset.id);
  const problem = () => page.textContent('.watching .problem');

  test('a file whose video the browser does not know says so, with or without sound', async () => {
    for (const hasSound of [false, true]) {
      await page.unrouteAll({behavior: 'ignoreErrors'});
      await open([recording(1)], clip('hevc', hasSound));
      await page.click('[data-play]');
      await page.waitForSelector('.watching .problem >> text=This browser cannot play');
      assert.equal(
        await page.getAttribute('.watching .problem a[download]', 'href'),
        '/recordings/files/dock/1.mp4?download',
      );
    }
  });

  test('a file that plays says nothing', async () => {
    await open([recording(1)], clip('h264', true));
    await page.click('[data-play]');
    await eventually('it plays', () => page.$eval('.watching video', ({currentTime}) => currentTime > 0.2));
    assert.equal(await problem(), '');
  });

  test('a file that is gone says so', async () => {
    for (const status of [404, 410]) {
      await page.unrouteAll({behavior: 'ignoreErrors'});
      await open([recording(1)], status);
      await page.click('[data-play]');
      await page.waitForSelector('.watching .problem >> text=This file is gone');
      assert.equal(await page.isVisible('.watching .problem a'), false);
    }
  });

  test('the list follows what there is, and disturbs nothing', async () => {
    await open([being(60), ...newest(1, 59)], clip('h264', false));
    await page.click('tr[data-id="dock/58.mp4"] [data-play]');
    await eventually('it plays', () => page.$eval('.watching video', ({currentTime}) => currentTime > 0.2));
    await page.focus('tr[data-id="dock/40.mp4"]');
    await page.evaluate(() => {
      window.row = document.activeElement;
      window.video = document.querySelector('.watching video');
      getSelection().selectAllChildren(document.querySelector('tr[data-id="dock/41.mp4"] .name'));
    });
    const top = () => page.evaluate(() => Math.round(window.row.getBoundingClientRect().top));
    const before = await top();
    assert.match(await page.textContent('tr[data-id="dock/60.mp4"]'), /being written/);
    // One has ended, one is new, and the oldest and one in the middle are gone.
    listed = [being(61), ...newest(2, 60).filter(({id}) => id !== 'dock/50.mp4')];
    await page.waitForSelector('tr[data-id="dock/61.mp4"]');
    assert.match(await page.textContent('tr[data-id="dock/60.mp4"]'), /1:00/);
    assert.deepEqual(
      await rows(),
      listed.map(({id}) => id),
    );
    const state = await page.evaluate(() => ({
      hasFocus: document.activeElement === window.row,
      selected: getSelection().toString(),
      plays: document.querySelector('.watching video') === window.video,
    }));
    assert.deepEqual(state, {hasFocus: true, selected: 'dock', plays: true});
    assert.ok(await page.$('tr.playing[data-id="dock/58.mp4"]'));
    await eventually('it is where it was', async () => (await top()) === before);
    // What has the focus goes: the one in its place gets it.
    listed = listed.filter(({id}) => id !== 'dock/40.mp4');
    await eventually('the next one', async () => (await focused()) === 'dock/39.mp4');
  });

  test('200 of them are one stop, and the keys lead to each', async () => {
    await open(newest(1, 200), clip('h264', false));
    const stops = await page.$$eval('.table *', (all) => all.filter(({tabIndex}) => tabIndex >= 0).length);
    assert.equal(stops, 1);
    assert.equal(await page.getAttribute('.table table', 'role'), 'grid');
    await page.focus('.filters button >> nth=1');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'dock/200.mp4');
    for (const [key, id] of [
      ['ArrowDown', 199],
      ['PageDown', 189],
      ['End', 1],
      ['ArrowDown', 1],
      ['ArrowUp', 2],
      ['Home', 200],
      ['ArrowDown', 199],
    ]) {
      await page.keyboard.press(key);
      assert.equal(await focused(), `dock/${id}.mp4`, key);
    }
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.equal(
      await page.evaluate(() => document.activeElement.getAttribute('aria-label').split(' ')[0]),
      'Download',
    );
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    assert.match(download.url(), /199\.mp4\?download$/);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.watching video');
    assert.ok(await page.$('tr.playing[data-id="dock/199.mp4"]'));
    await page.click('.watching >> text=Close');
    assert.equal(await focused(), 'dock/199.mp4', 'the focus is back');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'dock/198.mp4', 'the stop is where one was');
  });

  test('a time stays as the address has it until the field is changed', async () => {
    await open([recording(1)], 404);
    const exact = 'from=2026-11-20T11%3A07%3A31.250Z';
    await page.goto(`${rig.base}/recordings?${exact}`);
    const shown = await page.inputValue('input[name=from]');
    assert.match(shown, /:07$/);
    await page.fill('input[name=to]', '2026-11-21T10:00');
    await page.click('.filters >> text=Show');
    await page.waitForURL((url) => url.searchParams.has('to'));
    assert.ok(page.url().includes(exact), page.url());
    await page.fill('input[name=from]', shown.replace(/07$/, '08'));
    await page.click('.filters >> text=Show');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-11-20T11:08:00.000Z');
    // Nothing can be between them.
    await page.fill('input[name=to]', '2026-11-20T09:30');
    await page.click('.filters >> text=Show');
    assert.equal(await page.$eval('input[name=to]', (input) => input.validationMessage), 'It must be later than From.');
    assert.ok(page.url().includes('2026-11-21'), page.url());
    // What is no time: the page is there all the same.
    await page.goto(`${rig.base}/recordings?from=yesterday`);
    await page.waitForSelector('tr[data-id]');
    assert.equal(await page.inputValue('input[name=from]'), '');
    await page.click('.filters >> text=Show');
    await page.waitForURL(`${rig.base}/recordings`);
  });

  test('what is chosen is shown when it is asked for, and the zone of the times is named', async () => {
    await askForStatus(page);
    await open([recording(1)], 404);
    assert.match(await page.textContent('.head'), /Times are those of this browser: \S+ \(UTC[+−]\d/);
    await page.waitForSelector('select[name=camera] option[value=dock]', {state: 'attached'});
    await page.focus('select[name=camera]');
    await page.keyboard.press('ArrowDown');
    await anotherStatus(page);
    assert.equal(new URL(page.url()).search, '');
    assert.equal(await page.inputValue('select[name=camera]'), 'dock');
    await page.click('.filters >> text=Show');
    await page.waitForURL('**/recordings?camera=dock');
  });
});
