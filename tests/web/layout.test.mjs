// What fits on a phone, what keeps its place while numbers change, and what is said when nothing is known.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const long = 'a-camera-whose-name-was-chosen-by-somebody-with-a-wide-screen';
const names = ['zebra', '2', 'ape', long];
const phone = {width: 390, height: 844};
const source = 'source: "test://pattern?width=320&height=240&rate=10"';
const record = 'record: {path: "recordings/{camera}/%Y-%m-%d_%H-%M-%S.mp4"}';
const cameras = names.map((name) => `  "${name}": {${source}${name === 'zebra' ? `, ${record}` : ''}}\n`).join('');

describe('layout', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () => Rig.start({more: 'workers: {count: 1}\ndefaults:\n  encode: {bitrate: 300k, gop: 1s}\n', cameras}),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  const inside = (selector) =>
    page.evaluate((what) => {
      const boxes = [...document.querySelectorAll(what)].map((element) => element.getBoundingClientRect());
      return boxes.length > 0 && boxes.every(({left, right, width}) => width > 0 && left >= 0 && right <= innerWidth);
    }, selector);
  const overflow = () =>
    page.evaluate(() => {
      const main = document.querySelector('main');
      return main.scrollWidth - main.clientWidth;
    });
  // As often as it takes for the pages to have shown another status.
  const anotherStatus = (times = 2) =>
    eventually('another status is shown', async () => {
      const shown = await page.textContent('.sections');
      if (shown !== page.lastShown) {
        page.lastShown = shown;
        page.statuses = (page.statuses ?? 0) + 1;
      }
      return page.statuses > times;
    });

  test('cameras stand in the order of the configuration', async () => {
    await page.goto(rig.base);
    await page.waitForSelector(tile(long));
    const shown = await page.$$eval('.tile', (tiles) => tiles.map(({dataset}) => dataset.camera));
    assert.deepEqual(shown, names);
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('td.name');
    const rows = await page.$$eval('td.name a', (links) => links.map(({textContent}) => textContent));
    assert.deepEqual(rows, names);
  });

  test('Tab reaches each camera of a wall that scrolls', async () => {
    await page.setViewportSize({width: 300, height: 300});
    await page.goto(rig.base);
    await page.waitForSelector('.grid.scrolls');
    for (const name of names) await page.waitForSelector(tile(name));
    const reached = [];
    for (let presses = 0; presses < 40 && reached.length < names.length; ++presses) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => document.activeElement.dataset.camera);
      if (name) reached.push(name);
    }
    assert.deepEqual(reached, names);
  });

  test('recordings can be played and fetched on a phone', async () => {
    await page.setViewportSize(phone);
    await page.goto(`${rig.base}/recordings?camera=zebra`);
    await page.waitForSelector('tr[data-id]');
    await eventually('Play and Download are on the screen', () => inside('tr[data-id] button, tr[data-id] a[download]'));
    assert.equal(await overflow(), 0);
    await page.click('tr[data-id] button');
    await page.waitForSelector('.watching video');
  });

  test('the system page is as wide as the screen', async () => {
    for (const viewport of [phone, {width: 1280, height: 800}]) {
      await page.setViewportSize(viewport);
      await page.goto(`${rig.base}/system`);
      await page.waitForSelector('td.name');
      assert.equal(await overflow(), 0, `${viewport.width} wide`);
      assert.ok(await inside('section'), `${viewport.width} wide`);
    }
  });

  test('what is focused and selected stays so while the numbers change', async () => {
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('td.name a');
    await page.focus('td.name a >> nth=1');
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelectorAll('td.name')[2]));
    await anotherStatus();
    const [focused, selected] = await page.evaluate(() => [
      document.activeElement.textContent,
      getSelection().toString(),
    ]);
    assert.equal(focused, '2');
    assert.equal(selected, 'ape');
  });

  test('a camera that does not exist is not one without a connection', async () => {
    await page.goto(`${rig.base}/camera/nobody`);
    await page.waitForSelector('text=There is no camera of this name');
    assert.equal(await page.isVisible('.tile'), false);
  });

  // The last one: it ends the rig.
  test('nothing is said to be recorded while the rig does not answer', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'zebra');
    await page.waitForSelector(`${tile('zebra')} .recording:not([hidden])`);
    await rig.end();
    await page.waitForSelector('#trouble:not([hidden])');
    await page.waitForSelector(`${tile('zebra')} .recording[hidden]`, {state: 'attached'});
    assert.equal(await page.textContent('#summary'), '');
  });
});
