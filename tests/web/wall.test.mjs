// The wall: what moves, what is away, what the keys do, and what it weighs.
import assert from 'node:assert/strict';
import {after, describe, test} from 'node:test';
import {askForStatus, browseRig, expectMoving, expectStill, hashOf, percentile, tile} from './browser.mjs';
import {Rig, TestCamera, eventually, freePort, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=640&height=360&rate=25';

describe('wall', {timeout: suiteTime}, () => {
  let camera;
  let rig;
  let page;

  browseRig(
    async () => {
      camera = await TestCamera.start(await freePort());
      return Rig.start({
        more: 'workers: {count: 1}\ndefaults:\n  encode: {bitrate: 1M, gop: 2s}',
        cameras: `  dock: {source: "${pattern}"}\n  gate: {source: "${pattern}"}\n  yard: {source: "${camera.url}"}\n`,
      });
    },
    (opened) => {
      ({rig, page} = opened);
    },
  );
  after(() => camera?.stop());

  test('all cameras move', async () => {
    await page.goto(rig.base);
    for (const name of ['dock', 'gate', 'yard']) await expectMoving(page, name);
    await page.getByRole('link', {name: 'dock Live', exact: true}).waitFor();
    await eventually('rate and latency are told', async () =>
      /fps<?[\d.]+ m?s/.test(await page.textContent(`${tile('dock')} .numbers`)),
    );
    await eventually('all are live', async () => (await page.textContent('#summary')) === '3 live');
  });

  test('a camera that goes away is told with its reason, and comes back by itself', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'yard');
    await page.evaluate(() => {
      window.sameDocument = true;
    });
    await camera.stop();
    await page.waitForSelector(`${tile('yard')} .panel:not([hidden])`);
    await eventually('since when', async () =>
      /since \d\d:\d\d:\d\d/.test(await page.textContent(`${tile('yard')} .panel`)),
    );
    await expectStill(page, 'yard');
    assert.notEqual(await hashOf(page, 'yard'), null, 'the last picture stays');
    await expectMoving(page, 'dock');
    await camera.back();
    await expectMoving(page, 'yard');
    await page.waitForSelector(`${tile('yard')} .panel[hidden]`, {state: 'attached'});
    assert.equal(await page.evaluate(() => window.sameDocument), true, 'without a reload');
  });

  test('a connection that died while the camera was away is opened anew', async () => {
    // As where something in between has forgotten it: nothing comes any more, not even its end.
    await page.addInitScript(() => {
      window.sockets = [];
      window.WebSocket = class extends WebSocket {
        constructor(url) {
          super(url);
          window.sockets.push(this);
        }
        set onmessage(take) {
          super.onmessage = (event) => this.isDead || take(event);
        }
      };
    });
    await page.goto(rig.base);
    await expectMoving(page, 'yard');
    await camera.stop();
    await page.waitForSelector(`${tile('yard')} .panel:not([hidden]) >> text=Offline`);
    await page.evaluate(() => window.sockets.forEach((socket) => (socket.isDead = true)));
    await camera.back();
    await expectMoving(page, 'yard');
    await page.waitForSelector(`${tile('yard')} .panel[hidden]`, {state: 'attached'});
  });

  test('where the server refuses video over HTTP, its reason is shown', async () => {
    const error = 'a session has four of these answers at most';
    await page.addInitScript(() => {
      window.WebSocket = class {
        static CONNECTING = 0;
        static OPEN = 1;
        static CLOSED = 3;
        constructor() {
          setTimeout(() => this.onclose({}), 0);
        }
        close() {}
      };
    });
    let refusals = 0;
    await page.route(/\/live\?streams=/, (route) => {
      ++refusals;
      return route.fulfill({status: 503, json: {error}});
    });
    await page.goto(rig.base);
    const panel = `${tile('dock')} .panel`;
    await page.waitForSelector(`${panel} strong:text-is("No live video")`);
    assert.equal(await page.textContent(`${panel} .text`), error);
    await eventually('it is refused again', () => refusals >= 4);
    assert.equal(await page.textContent(`${panel} strong`), 'No live video');
    assert.equal(await page.textContent(`${panel} .text`), error);
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await expectMoving(page, 'dock');
    await page.waitForSelector(`${panel}[hidden]`, {state: 'attached'});
  });

  // The page is given the rig's status as `change` makes it.
  async function changeStatus(change) {
    await askForStatus(page);
    await page.route('**/api/v1/status', async (route) => {
      const status = await (await route.fetch()).json();
      change(status.cameras);
      await route.fulfill({json: status});
    });
  }
  const focused = () => page.evaluate(() => document.activeElement.dataset.camera);
  const numbers = () =>
    page.$$eval('.tile', (tiles) => tiles.map((one) => `${one.querySelector('.number').textContent} ${one.dataset.camera}`));

  test('cameras that come and go change the numbers, and leave the others alone', async () => {
    let change = () => {};
    await changeStatus((cameras) => change(cameras));
    await page.goto(rig.base);
    await expectMoving(page, 'gate');
    assert.deepEqual(await numbers(), ['1 dock', '2 gate', '3 yard']);
    await page.focus(tile('gate'));
    await page.evaluate((selector) => {
      window.pauses = 0;
      document.querySelector(selector).addEventListener('pause', () => ++window.pauses);
    }, `${tile('gate')} video`);
    change = (cameras) => {
      cameras.added = {...cameras.dock, order: -1};
    };
    await page.waitForSelector(tile('added'));
    assert.deepEqual(await numbers(), ['1 added', '2 dock', '3 gate', '4 yard']);
    assert.equal(await focused(), 'gate');
    change = (cameras) => {
      delete cameras.dock;
    };
    await page.waitForSelector(tile('added'), {state: 'detached'});
    assert.deepEqual(await numbers(), ['1 gate', '2 yard']);
    assert.equal(await focused(), 'gate');
    assert.equal(await page.evaluate(() => window.pauses), 0);
    change = (cameras) => {
      delete cameras.dock;
      delete cameras.gate;
    };
    await page.waitForSelector(tile('gate'), {state: 'detached'});
    assert.equal(await focused(), 'yard', 'the focus goes to a neighbour of the one that is gone');
    change = (cameras) => {
      delete cameras.dock;
    };
    await page.waitForSelector(tile('gate'));
    assert.deepEqual(await numbers(), ['1 gate', '2 yard']);
    await page.keyboard.press('2');
    await page.waitForSelector(`${tile('yard')}.enlarged`);
  });

  test('an enlarged camera that goes leaves the wall of the others, which says so', async () => {
    let gone = '';
    await changeStatus((cameras) => {
      delete cameras[gone];
    });
    await page.goto(`${rig.base}/?camera=gate`);
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    gone = 'gate';
    await page.waitForSelector('main [role=status]:text-is("There is no camera gate.")');
    for (const name of ['dock', 'yard']) assert.ok(await page.isVisible(tile(name)), name);
    assert.equal(await page.isVisible('.stage'), false);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'yard', 'keys go as on a wall');
    assert.equal(new URL(page.url()).search, '?camera=gate');
    await page.keyboard.press('Space');
    await page.waitForSelector(`${tile('yard')}.enlarged`);
    assert.equal(await page.isVisible('main [role=status]'), false);
    await page.goBack();
    await page.waitForSelector('main [role=status]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('main [role=status]', {state: 'hidden'});
    await page.waitForURL(`${rig.base}/`);
  });

  test('a killed worker costs some pictures, not the page', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'dock');
    await page.evaluate(() => {
      window.sameDocument = true;
    });
    await rig.kill('worker 0');
    for (const name of ['dock', 'gate', 'yard']) await expectMoving(page, name);
    assert.equal(await page.evaluate(() => window.sameDocument), true);
  });

  test('a killed publisher: the page waits, tells it, and goes on', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'dock');
    await rig.kill('publisher');
    await expectMoving(page, 'dock');
    await page.waitForSelector('#trouble[hidden]', {state: 'attached'});
  });

  test('keyboard and mouse', async () => {
    await page.goto(rig.base);
    await page.waitForSelector(tile('yard'));
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'dock');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'gate');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    await page.waitForURL(`${rig.base}/?camera=gate`);
    assert.equal(await page.isVisible(tile('dock')), false);
    await expectMoving(page, 'gate');
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector(`${tile('yard')}.enlarged`);
    await page.keyboard.press('Escape');
    await page.waitForSelector(tile('dock'));
    await page.keyboard.press('1');
    await page.waitForSelector(`${tile('dock')}.enlarged`);
    await page.click(tile('dock'));
    await page.waitForSelector(tile('gate'));
    await page.keyboard.press('Space');
    await page.waitForSelector(`${tile('dock')}.enlarged`);
    await page.goBack();
    await page.waitForSelector(tile('gate'));
    await expectMoving(page, 'gate');
    await page.keyboard.press('?');
    await page.waitForSelector('#keys');
    await page.keyboard.press('Escape');
    await page.waitForSelector('#keys', {state: 'hidden'});
    const theme = await page.getAttribute('html', 'data-theme');
    await page.keyboard.press('t');
    assert.notEqual(await page.getAttribute('html', 'data-theme'), theme);
  });

  test('a hidden page rests, and goes on at the live edge', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'dock');
    const setHidden = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', {configurable: true, get: () => value});
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await page.evaluate((selector) => window.watchPattern(selector), `${tile('dock')} video`);
    const ages = () => page.evaluate(() => window.patternSeen.ages);
    const before = await eventually('a picture is read', async () => (await ages()).at(-1));
    const begin = Date.now();
    await setHidden(true);
    await expectStill(page, 'dock');
    const seen = (await ages()).length;
    await setHidden(false);
    const hidden = Date.now() - begin;
    // Going on where it was it would be later by as long as it was hidden.
    await eventually('it is at the live edge', async () => (await ages()).slice(seen).at(-1) < before + hidden / 2);
    await expectMoving(page, 'dock');
  });

  test('fits the screen, and comes in 8 requests and 45 kB', async () => {
    const asked = [];
    page.on('request', (request) => asked.push(request));
    await page.goto(rig.base);
    await page.waitForSelector(tile('dock'));
    const first = asked.filter((request) => !request.url().endsWith('/status/changes')); // which does not end
    assert.ok(first.length >= 6 && first.length <= 8, first.map((request) => request.url()).join('\n'));
    const sizes = await Promise.all(first.map((request) => request.sizes()));
    const weight = sizes.reduce((sum, size) => sum + size.responseBodySize + size.responseHeadersSize, 0);
    assert.ok(weight > 10000 && weight <= 45000, `${weight} bytes`);
    await expectMoving(page, 'dock');
    for (const [width, height] of [
      [1920, 1080],
      [1366, 768],
      [390, 844],
    ]) {
      await page.setViewportSize({width, height});
      await eventually(`all cameras are within ${width} x ${height}`, () =>
        page.evaluate(() =>
          [...document.querySelectorAll('.tile')].every((element) => {
            const {left, top, right, bottom} = element.getBoundingClientRect();
            return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
          }),
        ),
      );
    }
    console.log(`# the wall weighs ${weight} bytes`);
  });

  test('from the picture to the browser', async () => {
    await page.addInitScript((selector) => window.watchPattern(selector), `${tile('dock')} video`);
    await page.goto(rig.base);
    // What is promised is measured on a machine with nothing else to do; on any, it does not get later the longer it plays.
    const seen = await eventually('the newest pictures are less late than a tenth of the time that it plays', async () => {
      const {first, ages, unread, plays} = await page.evaluate(() => ({
        ...window.patternSeen,
        plays: performance.now() - window.patternSeen.first,
      }));
      const [p50, p95] = [0.5, 0.95].map((share) => percentile(ages.slice(-100), share));
      return ages.length >= 100 && p50 < plays / 10 && {first, p50, p95, unread: unread / ages.length};
    });
    assert.ok(seen.unread < 0.1, `${seen.unread} of the pictures could not be read`);
    const [first, p50, p95] = [seen.first, seen.p50, seen.p95].map((ms) => ms.toFixed(0));
    console.log(`# first picture after ${first} ms; p50 ${p50} ms, p95 ${p95} ms`);
  });
});
