// Cameras whose own streams browsers do not play: H.264 is encoded for them while somebody watches, and only then.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {after, describe, test} from 'node:test';
import {browseRig, expectMoving} from './browser.mjs';
import {Rig, TestCamera, eventually, freePort, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=320&height=240&rate=15';
const clips = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-clips-'));

// Two seconds as a camera would send them.
function clip(name, codec) {
  const file = path.join(clips, name);
  const input = ['-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=15', '-t', '2', '-pix_fmt', 'yuvj420p'];
  execFileSync('ffmpeg', ['-v', 'error', ...input, '-c:v', codec, '-g', '15', '-x265-params', 'log-level=none', file]);
  return file;
}

// Its tile shows the camera's own stream, then what is encoded instead.
describe('a camera that comes back with another codec', {timeout: suiteTime}, () => {
  let camera;
  let rig;
  let page;

  browseRig(
    async () => {
      camera = await TestCamera.start(await freePort());
      const source = `source: "${camera.url}", rtsp_transport: tcp, retry_interval: 200ms, retry_max: 1s`;
      return Rig.start({
        more: 'workers: {count: 1}',
        cameras: `  own: {${source}}\n  copied: {${source}, encode: {codec: copy}}\n`,
      });
    },
    (opened) => {
      ({rig, page} = opened);
    },
  );

  after(() => camera?.stop());

  test('moves on in its tile', async () => {
    await page.goto(rig.base);
    for (const name of ['own', 'copied']) await expectMoving(page, name);
    await camera.stop();
    await camera.back('h265');
    for (const name of ['own', 'copied'])
      await eventually(`${name} sends another codec`, () => rig.log.includes(`${name}: sends hevc`));
    for (const name of ['own', 'copied']) await expectMoving(page, name);
  });
});

describe('codecs', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 1}',
        cameras:
          `  dock: {source: "${pattern}", encode: {codec: hevc, preset: ultrafast}}\n` +
          `  gate: {source: "${pattern}", encode: {codec: mjpeg}}\n` +
          `  yard: {source: "${clip('yard.mp4', 'libx265')}", loop: true, encode: {codec: copy}}\n` +
          `  roof: {source: "${clip('roof.mkv', 'mjpeg')}", loop: true, encode: {codec: copy}}\n`,
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  after(() => fs.rmSync(clips, {recursive: true, force: true}));

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
    await eventually('the camera’s own stream goes on, without a loss', async () => {
      const {dropped, encoded, decoded} = (await rig.status()).cameras.dock.frames;
      assert.deepEqual(dropped, {});
      return decoded - encoded < 10;
    });
  });

  test('copies are decoded only while somebody watches', async () => {
    await page.goto('about:blank');
    for (const camera of ['yard', 'roof']) {
      await eventually('nothing more is decoded', async () => {
        const {decoded} = await framesOf(camera);
        const copied = async () => (await rig.status()).cameras[camera].frames.encoded;
        const before = await copied();
        await eventually('frames are copied', async () => (await copied()) > before + 30);
        return (await framesOf(camera)).decoded === decoded;
      });
    }
    await page.goto(rig.base);
    for (const camera of ['yard', 'roof']) {
      await expectMoving(page, camera);
      assert.deepEqual((await rig.status()).cameras[camera].frames.dropped, {});
    }
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
