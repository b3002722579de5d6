// A camera whose stream becomes another one, which is passed on as it comes: its tile goes on, and each of its files
// plays.
import assert from 'node:assert/strict';
import {after, describe, test} from 'node:test';
import {browseRig, expectMoving} from './browser.mjs';
import {Rig, TestCamera, eventually, freePort} from './rig.mjs';

describe('a camera that changes its size', {timeout: 300000}, () => {
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

  after(() => camera.stop());

  const recordings = async () => (await (await fetch(`${rig.base}/api/v1/recordings?camera=dock`)).json()).recordings;

  test('moves on in its tile, and each of its files plays', async () => {
    await page.goto(rig.base);
    await expectMoving(page, 'dock');
    camera.command('resize 640x360');
    await eventually('it has another size', () => rig.log.includes('its frames are 640x360 now'));
    const widthOf = () => page.evaluate(() => document.querySelector('.tile[data-camera="dock"] video').videoWidth);
    await eventually('the tile has it, too', async () => (await widthOf()) === 640);
    await expectMoving(page, 'dock');
    await page.goto(`${rig.base}/camera/dock`);
    await page.click('text=Stop recording');
    await page.click('dialog[open] button[value=yes]');
    await eventually('both files are complete', async () => {
      const found = await recordings();
      return found.length === 2 && found.every(({writing}) => !writing);
    });
    await page.goto(`${rig.base}/recordings?camera=dock`);
    const widths = [];
    for (const place of [0, 1]) {
      await page.waitForSelector('tr[data-id]');
      await page.click(`tr[data-id] >> nth=${place} >> text=Play`);
      const shown = await eventually('the recording plays', () =>
        page.evaluate(() => {
          const video = document.querySelector('.watching video');
          return video.error === null && video.currentTime > 0.2 && video.videoWidth;
        }),
      );
      widths.push(shown);
      await page.goto(`${rig.base}/recordings?camera=dock`);
    }
    assert.deepEqual(widths.sort(), [320, 640]);
  });
});
