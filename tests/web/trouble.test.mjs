// What is wrong with a camera, in words, wherever it is shown; and where not all fit, what fails comes first.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {anotherStatus, askForStatus, browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=160&height=120&rate=5';
// The fastest machine is too slow for so many frames and two such filters.
const big = 'test://pattern?width=640&height=360&rate=100';
const heavy = 'denoise: {window: 15, patch: 7}';
const spares = Array.from({length: 58}, (_, i) => `  spare${i}: {source: "${pattern}", enabled: false}\n`).join('');

const nobody = 'rtsp://127.0.0.1:1'; // no test gets this port
const cameras = `  well: {source: "${pattern}"}
${spares}  slow: {source: "${big}", drop_policy: drop, filters: [${heavy}, ${heavy}]}
  pushed: {source: "${pattern}", push: ["${nobody}/there"]}
  paused: {source: "${pattern}", record: {path: "rig.yaml/%H-%M-%S.mp4"}}
  second:
    source: "${pattern}"
    outputs: {small: {encode: {codec: h264}, record: {path: "rig.yaml/small_%H-%M-%S.mp4"}}}
  gone: {source: "${nobody}/cam"}
`;

const wrong = {
  slow: /Overloaded since [^:]*:\d\d:\d\d: worker 0: \d+ of \d+ frames were dropped; \S/,
  pushed: /Push failed since .*: .*it is tried again/,
  paused: /Recording paused since .*: .*goes on by itself/,
  second: /Recording paused \(output small\) since .*: .*goes on by itself/,
};
const phone = {width: 390, height: 844};

describe('trouble', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () => Rig.start({more: 'workers: {count: 1}\ndefaults:\n  encode: {bitrate: 300k, gop: 1s}\n', cameras}),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  const summary = '1 live · 4 with trouble · 58 switched off · 1 offline';
  const summaryIs = () =>
    eventually('all have their trouble', async () => (await page.textContent('#summary')) === summary);
  // A wall on which all have their trouble, and keep it: it is given one status of the rig again and again.
  async function openTroubled() {
    let given = null;
    await askForStatus(page);
    await page.route('**/api/v1/status', async (route) => {
      given ??= await (await route.fetch()).json();
      await route.fulfill({json: given});
    });
    await page.goto(rig.base);
    await eventually('all have their trouble', async () => {
      given = null;
      await anotherStatus(page);
      return (await page.textContent('#summary')) === summary;
    });
    return given;
  }
  const columns = () => page.$eval('.grid', ({style}) => style.gridTemplateColumns);
  const order = () =>
    page.$$eval('.tile', (tiles) =>
      tiles
        .map((element) => ({name: element.dataset.camera, box: element.getBoundingClientRect()}))
        .sort((a, b) => a.box.y - b.box.y || a.box.x - b.box.x)
        .map(({name}) => name),
    );

  test('a tile with trouble plays on, is amber, and says why, also to screen readers', async () => {
    await page.goto(rig.base);
    await summaryIs();
    for (const [name, words] of Object.entries(wrong)) {
      await page.waitForSelector(`${tile(name)}.amber .dot.warn`);
      await eventually(`${name} says why`, async () => words.test(await page.textContent(`${tile(name)} .why`)));
      await page.getByRole('link', {name: new RegExp(`^${name} Live, with trouble .*${words.source}`)}).waitFor();
      await expectMoving(page, name);
    }
    await page.waitForSelector(`${tile('well')}:not(.amber)`);
    await page.getByRole('link', {name: 'well Live', exact: true}).waitFor();
    await page.getByRole('link', {name: /^gone Offline .* since /}).waitFor();
    await summaryIs();
    assert.equal(await page.getAttribute('#summary', 'role'), 'status');
  });

  test('the summary changes only with its words', async () => {
    await askForStatus(page);
    await page.goto(rig.base);
    await page.waitForSelector('#summary:not(:empty)');
    await page.evaluate(() => {
      const summary = document.querySelector('#summary');
      window.said = [summary.textContent];
      const changes = {childList: true, characterData: true, subtree: true};
      new MutationObserver(() => window.said.push(summary.textContent)).observe(summary, changes);
    });
    for (let i = 0; i < 3; ++i) await anotherStatus(page);
    const said = await page.evaluate(() => window.said);
    for (let i = 1; i < said.length; ++i) assert.notEqual(said[i], said[i - 1]);
  });

  test('the page of a camera and the table of all say it, too', async () => {
    for (const [name, words] of Object.entries(wrong)) {
      await page.goto(`${rig.base}/camera/${name}`);
      const says = new RegExp(`Live, with trouble.*${words.source}`);
      await eventually(`${name} says why`, async () => says.test(await page.textContent('.facts')));
    }
    await page.goto(`${rig.base}/system`);
    for (const [name, words] of Object.entries(wrong)) {
      const row = `[data-key=cameras] tr[data-key=${name}]`;
      await page.waitForSelector(`${row} .dot.warn`);
      await eventually(`${name} says why`, async () => words.test(await page.textContent(row)));
    }
    await eventually('they are counted', async () => /cameras live, 4 with trouble/.test(await page.textContent('.tiles')));
  });

  test('a camera that was never there has been so since the rig began, and has no numbers', async () => {
    await page.goto(`${rig.base}/camera/gone`);
    for (let i = 0; i < 2; ++i) await page.waitForRequest('**/history'); // by the second the first is shown
    await eventually('since when', async () => /Offline, since the rig began, /.test(await page.textContent('.facts')));
    await page.waitForSelector(`${tile('gone')} .when:has-text("since the rig began")`);
    const history = await (await fetch(`${rig.base}/api/v1/cameras/gone/history`)).json();
    for (const key of ['fps', 'latency_p50_ms', 'decode_ms'])
      assert.ok(
        history[key].every((value) => value === null),
        key,
      );
    await eventually('plots', () => page.$$eval('.plot canvas', (all) => all.every(({width}) => width > 300)));
    for (const text of await page.$$eval('.plot .key b', (all) => all.map(({textContent}) => textContent)))
      assert.equal(text, '–');
  });

  test('where not all fit, what fails comes first, and plays on', async () => {
    await page.setViewportSize({width: 1920, height: 1080});
    const status = await openTroubled();
    await expectMoving(page, 'well');
    assert.deepEqual((await order()).slice(-6), ['spare57', 'slow', 'pushed', 'paused', 'second', 'gone'], 'all fit');
    await page.setViewportSize(phone);
    await eventually('what fails is first', async () => (await order())[0] === 'gone');
    assert.deepEqual((await order()).slice(0, 7), ['gone', 'slow', 'pushed', 'paused', 'second', 'well', 'spare0']);
    await expectMoving(page, 'pushed');
    await page.evaluate(
      (selector) => {
        window.video = document.querySelector(selector);
        window.pauses = 0;
        window.video.addEventListener('pause', () => ++window.pauses);
      },
      `${tile('pushed')} video`,
    );
    for (const name of ['gone', 'slow', 'pushed']) {
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.evaluate(() => document.activeElement.dataset.camera), name, 'keys go as it looks');
    }
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.camera), 'paused', 'so does the Tab key');
    status.cameras.gone.state = 'disabled'; // as if it had come back
    await anotherStatus(page);
    assert.equal((await order())[0], 'gone', 'nothing moves under the keys');
    await page.evaluate(() => document.activeElement.blur());
    await eventually('it moves then', async () => (await order())[0] === 'slow');
    await expectMoving(page, 'pushed');
    const isSame = await page.evaluate(
      (selector) => document.querySelector(selector) === window.video,
      `${tile('pushed')} video`,
    );
    assert.ok(isSame, 'the same element');
    assert.equal(await page.evaluate(() => window.pauses), 0);
  });

  test('the line about the rig covers a wall, and does not change it', async () => {
    await page.setViewportSize({width: 1920, height: 1080});
    await openTroubled();
    const before = [await columns(), await page.$eval(tile('well'), (e) => e.getBoundingClientRect().toJSON())];
    await page.route('**/api/v1/status', (route) => route.abort());
    await page.waitForSelector('#trouble:not([hidden])');
    assert.match(
      await page.textContent('#trouble'),
      /^campipe does not answer, since \d\d:\d\d:\d\d\. Trying again\.$/,
    );
    const after = [await columns(), await page.$eval(tile('well'), (e) => e.getBoundingClientRect().toJSON())];
    assert.deepEqual(after, before);
  });

  test('on a phone the summary and the reasons can be read', async () => {
    await page.setViewportSize(phone);
    for (const [address, what] of [
      ['/', '#summary'],
      ['/system', '#summary'],
      ['/camera/slow', '#summary'],
    ]) {
      await page.goto(rig.base + address);
      await page.waitForSelector(`${what}:not(:empty)`);
      const {left, right, cut} = await page.$eval(what, (element) => ({
        ...element.getBoundingClientRect().toJSON(),
        cut: element.scrollWidth > element.clientWidth,
      }));
      assert.ok(left >= 0 && right <= phone.width && right - left > 200 && !cut, `${address}: ${left} to ${right}`);
      const size = () => page.evaluate(() => [document.documentElement.scrollWidth, document.body.scrollHeight]);
      assert.deepEqual(await size(), [phone.width, phone.height], 'only what is below the bar is scrolled');
    }
    await page.goto(rig.base);
    await page.waitForSelector(`${tile('gone')} .panel .text:not(:empty)`);
    const text = await page.$eval(`${tile('gone')} .panel .text`, (element) => ({
      words: element.textContent,
      cut: element.scrollHeight > element.clientHeight + 1,
    }));
    assert.doesNotMatch(text.words, /rtsp:/);
    assert.equal(text.cut, false, text.words);
  });

  test('letters grow with the tile', async () => {
    const size = () =>
      page.$eval(`${tile('well')} .caption`, (element) => parseFloat(getComputedStyle(element).fontSize));
    await page.goto(rig.base);
    await page.waitForSelector(tile('well'));
    const small = await size();
    await page.setViewportSize({width: 3840, height: 2160});
    const larger = await eventually('larger letters', async () => (await size()) > 12.5 && size());
    await page.goto(`${rig.base}/?camera=well`);
    await page.waitForSelector(`${tile('well')}.enlarged`);
    await eventually('the largest letters', async () => (await size()) > 30);
    assert.ok(small >= 11 && small < larger, `${small}, ${larger} px`);
  });
});
