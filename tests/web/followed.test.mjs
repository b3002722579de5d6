// A camera whose stream becomes another one, which is passed on as it comes: its tile goes on, and each of its files
// plays.
import assert from 'node:assert/strict';
import {after, describe, test} from 'node:test';
import {browseRig, expectMoving} from './browser.mjs';
import {Rig, TestCamera, eventually, freePort, suiteTime} from './rig.mjs';

describe('a camera that changes its size', {timeout: suiteTime}, () => {
  let camera;
  let rig;
  let page;

  browseRig(
    async () => {
      camera = await TestCamera.start(await freePort());
      return Rig.start({
        more: 'workers: {count: 1}',
        cameras: `  dock: {source: "${camera.url}", rtsp_transport: tcp, record: {path: "dock_%H-%M-%S.mp4"}}\n`,
      });
    },
    (opened) => {
      ({rig, page} = opened);
    },
  );

  after(() => camera?.stop());

  test('moves on in its tile, and each of its files plays', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'dock');
    await rig.records('dock');
    camera.command('resize 640x360');
    await eventually('it has another size', () => rig.log.includes('its frames are 640x360 now'));
    const widthOf = () => page.evaluate(() => document.querySelector('.tile[data-camera="dock"] video').videoWidth);
    await eventually('the tile has it, too', async () => (await widthOf()) === 640);
    await expectMoving(page, 'dock');
    await rig.records('dock');
    await page.goto(`${rig.base}/camera/dock`);
    await page.click('text=Stop recording');
    await page.click('dialog[open] button[value=yes]');
    await eventually('it does not record', async () => !(await rig.status()).cameras.dock.recording_on);
    const widths = new Set();
    for (const {id} of await rig.recorded('dock')) {
      await page.goto(`${rig.base}/recordings?camera=dock`);
      await page.click(`tr[data-id="${id}"] >> text=Play`);
      const shown = await eventually('the recording plays', () =>
        page.$eval(
          '.watching video',
          ({error, currentTime, ended, videoWidth}) => !error && (currentTime > 0.2 || ended) && videoWidth,
        ),
      );
      widths.add(shown);
    }
    assert.deepEqual([...widths].sort(), [320, 640]);
  });
});
