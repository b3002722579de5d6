// Cameras whose own streams browsers do not play: H.264 is encoded for them while somebody watches, and only then.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {browseRig, expectMoving} from './browser.mjs';
import {Rig, eventually} from './rig.mjs';

const pattern = 'test://pattern?width=320&height=240&rate=15';

describe('codecs', {timeout: 300000}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 1}',
        cameras:
          `  dock: {source: "${pattern}", encode: {codec: hevc, preset: ultrafast}}\n` +
          `  gate: {source: "${pattern}", encode: {codec: mjpeg}}\n`,
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  const framesOf = async (camera) => (await rig.status()).cameras[camera].outputs.browser.frames;

  test('nothing is encoded for browsers as long as there are none', async () => {
    for (const camera of ['dock', 'gate']) {
      await eventually('pictures are left out', async () => (await framesOf(camera)).dropped.unwatched > 20);
      assert.equal((await framesOf(camera)).encoded, 0);
    }
  });

  test('they move on the wall', async () => {
    await page.goto(rig.base);
    for (const camera of ['dock', 'gate']) {
      await expectMoving(page, camera);
      await eventually('the status tells of it', async () => (await framesOf(camera)).encoded > 0);
    }
    const {dropped, encoded, decoded} = (await rig.status()).cameras.dock.frames;
    assert.deepEqual(dropped, {});
    assert.ok(decoded - encoded < 10, 'the camera\'s own stream goes on');
  });

  test('they rest again, and come back for the next who watches', async () => {
    for (const camera of ['dock', 'gate']) {
      const {unwatched} = (await framesOf(camera)).dropped;
      await eventually('it rests', async () => (await framesOf(camera)).dropped.unwatched > unwatched + 20);
    }
    await page.goto(rig.base);
    for (const camera of ['dock', 'gate']) await expectMoving(page, camera);
  });
});
