// How a page follows the rig's status: by a stream of what changes, or by asking where none comes through.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {browseRig, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

describe('status', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 1}',
        cameras: ['dock', 'gate']
          .map((name) => `  ${name}: {source: "test://pattern?width=160&height=120&rate=5"}\n`)
          .join(''),
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  // Requests of the page from now on, by what they ask the API for.
  function listen() {
    const asked = [];
    const ended = [];
    const what = (request) => new URL(request.url()).pathname.replace('/api/v1/', '');
    page.on('request', (request) => asked.push(what(request)));
    for (const event of ['requestfinished', 'requestfailed']) page.on(event, (request) => ended.push(what(request)));
    const count = (list) => (name) => list.filter((one) => one === name).length;
    return {asked: count(asked), ended: count(ended)};
  }

  const switchGate = async (word) => {
    const answer = await fetch(`${rig.base}/api/v1/cameras/gate/${word}`, {method: 'POST'});
    assert.equal(answer.status, 200);
  };
  // The bar at the top has it from the status alone.
  const summaryIs = (text) => page.waitForSelector(`#summary:has-text("${text}")`);

  const setHidden = (hidden) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', {configurable: true, get: () => value});
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);

  test('what changes comes by one stream, which a hidden page gives up', async () => {
    const {asked, ended} = listen();
    await page.goto(rig.base);
    await summaryIs('2 live');
    await eventually('rates are known', async () => /fps/.test(await page.textContent(`${tile('gate')} .numbers`)));
    await switchGate('disable');
    await summaryIs('1 live · 1 switched off');
    assert.equal(asked('status'), 0);
    assert.equal(asked('status/changes'), 1);
    await setHidden(true);
    await eventually('it is given up', () => ended('status/changes') === 1);
    await switchGate('enable');
    await setHidden(false);
    await summaryIs('2 live');
    assert.equal(asked('status/changes'), 2);
    assert.equal(asked('status'), 0);
  });

  test('where no stream comes through, the status is asked for', async () => {
    await page.route('**/api/v1/status/changes', (route) => route.abort());
    const {asked} = listen();
    await page.goto(rig.base);
    await summaryIs('2 live');
    await switchGate('disable');
    await summaryIs('1 live · 1 switched off');
    await switchGate('enable');
    await summaryIs('2 live');
    assert.ok(asked('status') > asked('status/changes'), 'the stream is not tried each time');
    assert.equal(await page.isVisible('#trouble'), false);
  });
});
