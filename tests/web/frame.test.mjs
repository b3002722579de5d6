// The frame around the pages: focus, keys, the clipboard, and the wall for a monitor that nobody sits at.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {askForStatus, browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually} from './rig.mjs';

const pattern = 'test://pattern?width=160&height=120&rate=5';

describe('frame', {timeout: 200000}, () => {
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

  const focusedText = () => page.evaluate(() => document.activeElement.textContent);

  test('the focus is on the heading of the page that comes', async () => {
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('h1');
    for (const [link, heading] of [
      ['Recordings', 'Recordings'],
      ['System', 'System'],
      ['Wall', 'Wall'],
    ]) {
      await page.click(`nav >> text=${link}`);
      await eventually(`the focus is on ${heading}`, async () => (await focusedText()) === heading);
      assert.equal(await page.evaluate(() => document.activeElement.localName), 'h1');
      assert.equal(await page.title(), `${heading} · campipe`);
    }
    await page.waitForSelector(tile('dock'));
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('d');
    await eventually('the page of the camera', async () => (await focusedText()) === 'dock');
    await page.goto(`${rig.base}/?camera=gate`);
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    assert.equal(await page.title(), 'gate · campipe');
  });

  test('keys that are one letter can be switched off, for good', async () => {
    await page.goto(rig.base);
    await page.waitForSelector(tile('dock'));
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    await page.uncheck('dialog[open] input');
    await page.keyboard.press('Escape');
    await page.reload();
    await page.waitForSelector(tile('dock'));
    const theme = await page.getAttribute('html', 'data-theme');
    await page.keyboard.press('ArrowRight');
    for (const key of ['t', 's', 'r', '?', 'd', '2']) await page.keyboard.press(key);
    await new Promise((resolve) => setTimeout(resolve, 1000)); // longer than a digit waits for another one
    assert.equal(page.url(), `${rig.base}/`);
    assert.equal(await page.getAttribute('html', 'data-theme'), theme);
    assert.equal(await page.isVisible('dialog'), false);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${tile('dock')}.enlarged`);
    await page.click('#help');
    await page.check('dialog[open] input');
    await page.keyboard.press('Escape');
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
    for (let i = 0; i < 2; ++i) await page.waitForResponse('**/api/v1/status');
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
    const cursor = () => page.$eval(tile('dock'), (element) => getComputedStyle(element).cursor);
    await page.mouse.move(100, 100);
    assert.equal(await cursor(), 'zoom-in');
    await eventually('the cursor goes', async () => (await cursor()) === 'none', 10000);
    await page.mouse.move(120, 100);
    assert.equal(await cursor(), 'zoom-in');
    await page.click(tile('gate'));
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    assert.equal(new URL(page.url()).searchParams.get('kiosk'), '1');
    assert.equal(await page.evaluate(() => window.locks), 1);
    assert.equal(await page.isVisible('.stage, .bar, .number'), false);
    await page.reload();
    await expectMoving(page, 'gate');
    assert.equal(await page.isVisible('.bar'), false);
    await page.click(tile('gate'));
    await page.waitForSelector(tile('dock'));
    assert.equal(page.url(), `${rig.base}/?kiosk=1`);
    for (const key of ['s', 'r', '?']) await page.keyboard.press(key);
    assert.equal(page.url(), `${rig.base}/?kiosk=1`);
    assert.equal(await page.isVisible('dialog'), false);
    await page.route('**/api/v1/status', (route) => route.abort());
    await page.waitForSelector('#trouble:not([hidden])');
    await page.unrouteAll({behavior: 'ignoreErrors'});
  });
});
