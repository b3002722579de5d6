// axe-core's rules for accessibility, on every page; of a cluster's page: cluster.test.mjs.
import {describe, test} from 'node:test';
import {expectAccessible} from './accessible.mjs';
import {browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=160&height=120&rate=5';
const password = 'correct horse';
const hash = '$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg';

// One that is well, one with trouble, one that is gone, one that is off; and more than fit on a phone.
const more = Array.from({length: 30}, (_, i) => `  spare${i}: {source: "${pattern}", enabled: false}\n`).join('');
const nobody = 'rtsp://127.0.0.1:1'; // no test gets this port
const cameras = `  dock: {source: "${pattern}", record: {path: "recordings/{camera}/%Y-%m-%d_%H-%M-%S.mp4"}}
  gate: {source: "${pattern}", filters: [motion], push: ["${nobody}/gate"]}
  yard: {source: "${nobody}/cam"}
${more}`;

describe('axe', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: `workers: {count: 2}\ndefaults:\n  encode: {bitrate: 300k, gop: 1s}\nusers:\n  ann: {may: administer, password: "${hash}"}\n`,
        cameras,
      }),
    (opened) => {
      ({rig, page} = opened);
    },
    {bypassCSP: true},
  );

  async function logIn() {
    await page.goto(`${rig.base}/login`);
    await page.fill('input[name=user]', 'ann');
    await page.fill('input[name=password]', password);
    await page.click('button[type=submit]');
    await page.waitForURL(`${rig.base}/`);
  }

  const expectClean = (what) => expectAccessible(page, what);

  test('login', async () => {
    await page.goto(`${rig.base}/login`);
    await page.waitForSelector('form');
    await expectClean('login');
  });

  test('wall', async () => {
    await logIn();
    await expectMoving(page, 'dock');
    await page.waitForSelector(`${tile('gate')}.amber`);
    await page.waitForSelector(`${tile('yard')} .panel.warn`);
    await expectClean('wall');
    await page.click(tile('gate'));
    await page.waitForSelector(`${tile('gate')}.enlarged`);
    await expectClean('enlarged');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    await expectClean('keys');
  });

  test('kiosk', async () => {
    await logIn();
    await page.goto(`${rig.base}/?kiosk=1`);
    await expectMoving(page, 'dock');
    await page.waitForSelector(`${tile('yard')} .panel.warn`);
    await expectClean('kiosk');
  });

  test('camera', async () => {
    await logIn();
    for (const camera of ['gate', 'yard']) {
      await page.goto(`${rig.base}/camera/${camera}`);
      await page.waitForSelector('.facts dd');
      await expectClean(camera);
    }
    await page.click('text=Switch off');
    await page.waitForSelector('dialog[open]');
    await expectClean('question');
  });

  test('recordings', async () => {
    await logIn();
    await page.goto(`${rig.base}/recordings`);
    await page.waitForSelector('tr[data-id]');
    await expectClean('recordings');
    await page.click('tr[data-id] >> text=Play');
    await page.waitForSelector('.watching video');
    await expectClean('player');
    await page.goto(`${rig.base}/recordings?to=2001-01-01T00:00:00Z`);
    await page.waitForSelector('text=Nothing was recorded here');
    await expectClean('no recordings');
  });

  test('system', async () => {
    await logIn();
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('td.name');
    await eventually('the graph', () => page.$('.way .made b'));
    await expectClean('system');
  });
});
