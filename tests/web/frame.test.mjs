// The frame around the pages: focus, keys, the clipboard, and the wall for a monitor that nobody sits at.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {anotherStatus, askForStatus, browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=160&height=120&rate=5';

describe('frame', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 1}',
        cameras: `  dock: {source: "${pattern}"}\n  gate: {source: "${pattern}"}\n`,
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  // Not a link to it, which says the same.
  const focusIsOnHeading = (heading) =>
    eventually(`the focus is on ${heading}`, () =>
      page.evaluate((text) => document.activeElement.matches('h1') && document.activeElement.textContent === text, heading),
    );
  // Addresses that the page goes to from now on, below the rig's.
  function visits() {
    const visited = [];
    page.on('framenavigated', (frame) => visited.push(frame.url().replace(rig.base, '')));
    return visited;
  }
  async function closeKeys() {
    await page.keyboard.press('Escape');
    await page.waitForSelector('#keys', {state: 'hidden'});
  }

  test('the focus is on the heading of the page that comes', async () => {
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('h1');
    for (const [link, heading] of [
      ['Recordings', 'Recordings'],
      ['System', 'System'],
      ['Wall', 'Wall'],
    ]) {
      await page.click(`nav >> text=${link}`);
      await focusIsOnHeading(heading);
      assert.equal(await page.title(), `${heading} · campipe`);
    }
    await page.waitForSelector(tile('dock'));
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('d');
    await focusIsOnHeading('dock');
    await page.goto(`${rig.base}/?camera=gate`);
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    assert.equal(await page.title(), 'gate · campipe');
  });

  test('a page that comes late does not take the place of a newer one', async () => {
    let release;
    const released = new Promise((resolve) => {
      release = resolve;
    });
    await page.route('**/more.js', async (route) => {
      await released;
      await route.continue();
    });
    const script = page.waitForResponse('**/more.js');
    await page.goto(rig.base);
    await page.waitForSelector(tile('dock'));
    await page.click('nav >> text=System');
    await page.waitForURL('**/system');
    await page.click('nav >> text=Wall');
    await page.waitForURL(`${rig.base}/`);
    release();
    await page.evaluate((url) => import(url).then(() => {}), (await script).url()); // the page has it by then
    assert.equal(await page.textContent('h1'), 'Wall');
    assert.ok(await page.isVisible(tile('dock')));
  });

  test('keys that are one letter can be switched off, for good', async () => {
    await page.goto(rig.base);
    await page.waitForSelector(tile('dock'));
    await page.keyboard.press('?');
    await page.uncheck('#keys input');
    await closeKeys();
    await page.reload();
    await page.waitForSelector(tile('dock'));
    const theme = await page.getAttribute('html', 'data-theme');
    const visited = visits();
    await page.keyboard.press('ArrowRight');
    for (const key of ['t', 's', 'r', '?', 'd', '2']) await page.keyboard.press(key);
    assert.equal(await page.isVisible('#keys'), false);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${tile('dock')}.enlarged`);
    assert.deepEqual(visited, ['/?camera=dock'], 'by Enter alone');
    assert.equal(await page.getAttribute('html', 'data-theme'), theme);
    await page.click('#help');
    await page.check('#keys input');
    await closeKeys();
    await page.keyboard.press('s');
    await page.waitForURL('**/system');
  });

  test('an address is copied, or selected where there is no clipboard', async () => {
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', {value: undefined}));
    await page.goto(`${rig.base}/camera/dock`);
    await page.click('.links button');
    await page.waitForSelector('.links button:text-is("Copied")');
    await page.evaluate(() => {
      document.execCommand = () => false;
    });
    await page.click('.links button >> nth=1');
    await page.waitForSelector('.links button:text-is("Press Ctrl+C")');
    const selected = await page.evaluate(() => getSelection().toString());
    assert.equal(selected, await page.textContent('.links code >> nth=1'));
  });

  test('a page that cannot be shown says so until another one is', async () => {
    await askForStatus(page);
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('td.name');
    await page.evaluate(() => {
      history.pushState(null, '', '/camera/%');
      window.dispatchEvent(new PopStateEvent('popstate'));
    });
    const trouble = '#trouble:has-text("This page could not be loaded: ")';
    await page.waitForSelector(trouble);
    await anotherStatus(page);
    assert.ok(await page.isVisible(trouble), 'the status does not take it away');
    assert.equal(await page.textContent('main'), '', 'the page before is gone');
    await page.click('nav >> text=System');
    await page.waitForSelector('td.name');
    assert.equal(await page.isVisible('#trouble'), false);
  });

  test('a kiosk has frames alone, and stays one', async () => {
    await askForStatus(page);
    await page.addInitScript(() => {
      window.locks = 0;
      const request = async () => {
        ++window.locks;
        return {
          released: false,
          release() {
            --window.locks;
          },
        };
      };
      Object.defineProperty(navigator, 'wakeLock', {value: {request}});
    });
    await page.goto(`${rig.base}/?kiosk=1`);
    await expectMoving(page, 'dock');
    assert.equal(await page.isVisible('.bar'), false);
    assert.equal(await page.evaluate(() => window.locks), 1, 'the screen stays awake');
    // Each cursor from now on: it goes by itself, however long a look at it takes.
    await page.evaluate((selector) => {
      const cursor = () => getComputedStyle(document.querySelector(selector)).cursor;
      window.cursors = [cursor()];
      new MutationObserver(() => cursor() !== window.cursors.at(-1) && window.cursors.push(cursor())).observe(document.body, {
        attributeFilter: ['class'],
      });
    }, tile('dock'));
    const cursorsEnd = (what, wanted) =>
      eventually(what, async () => (await page.evaluate(() => window.cursors.join())).endsWith(wanted));
    await page.mouse.move(100, 100);
    await cursorsEnd('the cursor goes', 'zoom-in,none');
    await page.mouse.move(120, 100);
    await cursorsEnd('it comes, and goes again', 'none,zoom-in,none');
    await page.click(tile('gate'));
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    await page.waitForURL((url) => url.searchParams.get('kiosk') === '1');
    assert.equal(await page.evaluate(() => window.locks), 1);
    assert.equal(await page.locator('.stage, .bar, .number').filter({visible: true}).count(), 0);
    await page.reload();
    await expectMoving(page, 'gate');
    assert.equal(await page.isVisible('.bar'), false);
    await page.click(tile('gate'));
    await page.waitForSelector(tile('dock'));
    await page.waitForURL(`${rig.base}/?kiosk=1`);
    const visited = visits();
    for (const key of ['s', 'r', '?']) await page.keyboard.press(key);
    assert.equal(await page.isVisible('dialog'), false);
    await page.route('**/api/v1/status', (route) => route.abort());
    await page.waitForSelector('#trouble:not([hidden])');
    assert.deepEqual(visited, []);
  });
});
