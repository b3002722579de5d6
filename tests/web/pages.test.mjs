// The pages of one camera, of recordings and of the system.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {askForStatus, browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const cameras = `  dock:
    source: "test://pattern?width=320&height=240&rate=15"
    record: {path: "recordings/{camera}/%Y-%m-%d_%H-%M-%S.mp4"}
  gate:
    source: "test://pattern?width=320&height=240&rate=15"
    filters: [motion]
`;
const defaults = 'workers: {count: 1}\ndefaults:\n  encode: {bitrate: 500k, gop: 1s}\n';

// Drawn, and not in one colour.
const plotsDrawn = (page) =>
  page.evaluate(() => {
    const plots = [...document.querySelectorAll('.plot canvas')];
    return (
      plots.length === 5 &&
      plots.every((canvas) => {
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value !== 0);
      })
    );
  });

describe('pages', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () => Rig.start({more: defaults, cameras}),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  const ask = (what) => fetch(`${rig.base}/api/v1/cameras/dock/${what}`, {method: 'POST'});
  const dock = async () => (await rig.status()).cameras.dock;
  async function record() {
    await ask('record');
    await rig.records('dock');
    await ask('stop-recording');
    await rig.recorded('dock');
  }
  const plays = () =>
    eventually('the recording plays', () => page.$eval('.watching video', ({currentTime}) => currentTime > 0.2));

  test('one camera: picture, numbers, plots', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await expectMoving(page, 'dock');
    await eventually('numbers', async () => /320 × 240/.test(await page.textContent('.facts')));
    await eventually('plots', () => plotsDrawn(page));
    await eventually('a rate in the plot', async () => /\d fps/.test(await page.textContent('.plot .key b')));
    assert.match(await page.textContent('.links'), /rtsp:\/\/127\.0\.0\.1:\d+\/dock/);
    assert.match(await page.textContent('.links'), /\/cameras\/dock\/stream\.ts/);
  });

  test('plots go on after a camera was not there', async () => {
    let answers = 0;
    await page.route('**/history', (route) => {
      ++answers;
      return answers === 1 ? route.fulfill({status: 404, json: {error: 'no camera of this name'}}) : route.continue();
    });
    await page.goto(`${rig.base}/camera/dock`);
    await eventually('a rate in the plot', async () => /\d fps/.test(await page.textContent('.plot .key b')));
  });

  test('while the rig does not answer, no camera is said to be live', async () => {
    await askForStatus(page);
    await page.goto(`${rig.base}/camera/gate`);
    await page.waitForSelector('.facts >> text=Live');
    await page.route('**/api/v1/status', (route) => route.abort());
    await page.waitForSelector('.facts >> text=not known, campipe does not answer');
    assert.equal((await page.$$('.facts dt')).length, 1);
    assert.equal(await page.isVisible('h2:text-is("Motion")'), false);
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.waitForSelector('.facts >> text=Live');

    // On the page of the system one status comes, from which no rate can be known.
    await eventually('both are live', async () =>
      Object.values((await rig.status()).cameras).every(({state}) => state === 'running'),
    );
    await page.goto('about:blank');
    let statuses = 0;
    let fail;
    const failing = new Promise((resolve) => {
      fail = resolve;
    });
    await page.route('**/api/v1/status', async (route) => {
      if (++statuses === 1) return route.continue();
      await failing;
      await route.abort();
    });
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.tiles');
    const totals = () => page.$$eval('.tiles b', (all) => all.map(({textContent}) => textContent).slice(1, 4));
    assert.deepEqual(await totals(), ['2 of 2', '–', '–']);
    fail();
    await page.waitForSelector('[data-key=cameras] tr[data-key=dock] >> text=Not known');
    assert.deepEqual(await totals(), ['– of 2', '–', '–']);
    assert.doesNotMatch(await page.textContent('[data-key=cameras]'), /Live/);
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.waitForSelector('[data-key=cameras] tr[data-key=dock] >> text=Live');
    await eventually('a rate', async () => /^\d/.test((await totals())[1]));
  });

  test('the choice of a node stays while others come and go', async () => {
    await askForStatus(page);
    const node = {here: true, usable: true, cameras: 1, capacity: {}};
    let nodes = ['east', 'north', 'west'];
    const cameras = {dock: {node: 'east'}};
    const cluster = {cluster: 'halls', node: 'east', planner: 'east', etcd: {up: true}, rig: {}, cameras, links: []};
    await page.route('**/api/v1/viewers', (route) => route.fulfill({json: {viewers: []}}));
    await page.route('**/api/v1/session', async (route) => {
      await route.fulfill({json: {...(await (await route.fetch()).json()), administers: true}});
    });
    await page.route('**/api/v1/status', async (route) => {
      cluster.nodes = Object.fromEntries(nodes.map((name) => [name, node]));
      await route.fulfill({json: {...(await (await route.fetch()).json()), cluster}});
    });
    await page.goto(`${rig.base}/system`);
    const select = 'select[data-move=dock]';
    await page.selectOption(select, '=west');
    const choices = () => page.$$eval(`${select} option`, (all) => all.map(({value}) => value));
    nodes = ['east', 'west'];
    await eventually('a node is gone', async () => (await choices()).join() === ',=west');
    assert.equal(await page.inputValue(select), '=west');
    nodes = ['east', 'middle', 'west', 'zone'];
    await eventually('others came', async () => (await choices()).length === 4);
    assert.equal(await page.inputValue(select), '=west');
    nodes = ['east', 'middle', 'zone'];
    await eventually('it is gone itself', async () => !(await choices()).includes('=west'));
    assert.equal(await page.inputValue(select), '');
  });

  test('how much moves, beside what is motion', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await page.waitForSelector('.facts >> text=Live');
    assert.equal(await page.isVisible('h2:text-is("Motion")'), false, 'nobody looks for motion');
    await page.goto(`${rig.base}/camera/gate`);
    await page.waitForSelector('.motion-bar.moves');
    await eventually('the mark stands below the score', () =>
      page.evaluate(() => {
        const edge = (what) => document.querySelector(`.motion-bar ${what}`).getBoundingClientRect();
        return edge('b').left > edge('i').left && edge('i').right > edge('b').right;
      }),
    );
    assert.match(await page.textContent('.motion'), /^[\d.]+ % moves.*motion from [\d.]+ % on; most so far [\d.]+ %; \d+ events?$/);
    await page.waitForFunction(() => Number(document.querySelector('.motion-bar').ariaValueNow) > 0);
  });

  test('switched off and on', async () => {
    const asked = [];
    page.on('request', (request) => request.method() === 'POST' && asked.push(new URL(request.url()).pathname));
    const focused = () => page.evaluate(() => document.activeElement.textContent);
    await page.goto(`${rig.base}/camera/dock`);
    await expectMoving(page, 'dock');
    await page.click('text=Switch off');
    await page.waitForSelector('dialog[open] >> text=Switch off dock?');
    assert.equal(await focused(), 'Cancel');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog.confirm', {state: 'detached'});
    assert.equal(await focused(), 'Switch off', 'the focus is back');
    await page.click('text=Switch off');
    await page.click('dialog[open] button[value=yes]');
    await page.waitForSelector(`${tile('dock')} .panel:not([hidden]) >> text=Switched off`);
    assert.deepEqual(asked, ['/api/v1/cameras/dock/disable'], 'once, as the first time it was cancelled');
    await page.waitForSelector('.actions button:not([aria-disabled]):text-is("Switch on")');
    assert.equal(await focused(), 'Switch on', 'the focus stays');
    await page.keyboard.press('Enter');
    await expectMoving(page, 'dock');
  });

  test('recording is stopped, listed, played and fetched', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await rig.records('dock');
    await page.click('text=Stop recording');
    await page.click('dialog[open] button[value=yes]');
    await eventually('it does not record', async () => !(await dock()).recording_on);
    await rig.recorded('dock');
    await page.click('nav >> text=Recordings');
    await page.waitForURL('**/recordings');
    await page.click('tr[data-id] >> text=Play');
    await plays();
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('tr[data-id] a[download]')]);
    assert.equal(await download.failure(), null);
    await page.goto(`${rig.base}/recordings?camera=dock&to=2001-01-01T00:00:00Z`);
    await page.waitForSelector('text=Nothing was recorded here');
  });

  test('a recording whose file has no picture yet says so', async () => {
    await record();
    const file = /\/recordings\/.*\.mp4/;
    // As it begins. In a file that has ended, the head of one box over all frames stands before the first moov.
    const header = (body) =>
      Buffer.concat([body.subarray(0, body.readUInt32BE(0)), body.subarray(body.indexOf('moov') - 4, body.indexOf('moof') - 4)]);
    await page.route(file, async (route) => {
      const body = await (await route.fetch()).body();
      await route.fulfill({status: 200, contentType: 'video/mp4', body: header(body)});
    });
    await page.goto(`${rig.base}/recordings?camera=dock`);
    await page.click('tr[data-id] >> text=Play');
    await page.waitForSelector('.watching .error:has-text("has no frame yet")');
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.click('tr[data-id] >> text=Play');
    await plays();
    assert.equal(await page.textContent('.watching .problem'), '');
  });

  test('recordings of a camera that is switched off are known to a new publisher', async () => {
    await record();
    await ask('disable');
    await eventually('it is off', async () => (await dock()).state === 'disabled');
    await rig.kill('publisher');
    await eventually('they are known', async () => (await rig.recordings('dock')).length > 0);
    await ask('enable');
    await eventually('it is on', async () => (await dock()).state === 'running');
  });

  test('system', async () => {
    await page.goto(`${rig.base}/system`);
    for (const text of ['publisher', 'worker 0', 'master', 'supervisor'])
      await page.waitForSelector(`td:text-is("${text}")`);
    await page.click('nav >> text=Wall');
    await expectMoving(page, 'dock');
  });
});
