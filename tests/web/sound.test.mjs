// The sound of cameras: silent until asked for, then heard beside the video, which does not depend on it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, describe, test} from 'node:test';
import {browseRig, expectMoving, hashOf, tile} from './browser.mjs';
import {SoundClips, heardBytes, watchAudio} from './heard.mjs';
import {Rig, TestCamera, eventually, freePort, suiteTime} from './rig.mjs';

const clips = new SoundClips();

describe('sound', {timeout: suiteTime}, () => {
  let camera;
  let rig;
  let page;

  browseRig(
    async () => {
      camera = await TestCamera.start(await freePort(), ['--audio', 'pcma']);
      return Rig.start({
        more: 'workers: {count: 1}',
        cameras:
          `  aac: {source: "${clips.make('aac.mp4', 4, 4)}", loop: true, encode: {codec: copy}}\n` +
          `  stops: {source: "${clips.make('stops.mp4', 16, 8)}", loop: true, encode: {codec: copy}}\n` +
          `  g711: {source: "${camera.url}", rtsp_transport: tcp}\n` +
          '  silent: {source: "test://pattern?width=320&height=240&rate=15"}\n',
      });
    },
    (opened) => {
      ({rig, page} = opened);
    },
  );
  after(async () => {
    await camera.stop();
    clips.remove();
  });

  const listeners = async () => {
    const token = fs.readFileSync(path.join(rig.folder, 'state', `token-${new URL(rig.base).port}`), 'utf8');
    const answer = await fetch(`${rig.base}/api/v1/viewers`, {headers: {Authorization: `Bearer ${token}`}});
    return (await answer.json()).viewers.filter(({form}) => form === 'sound').map(({camera: name}) => name);
  };
  const grows = async (what, number) => {
    const before = await number();
    await eventually(what, async () => (await number()) > before);
  };

  for (const name of ['aac', 'g711'])
    test(`of ${name} is heard once it is asked for, and no longer than that`, async () => {
      await watchAudio(page);
      await page.goto(`${rig.base}/camera/${name}`);
      await expectMoving(page, name);
      const unmute = page.getByRole('button', {name: 'Unmute'});
      await unmute.waitFor();
      assert.deepEqual(await page.evaluate(() => window.sounds.length), 0);
      assert.deepEqual(await listeners(), [], 'what nobody listens to is not encoded');
      await unmute.click();
      await eventually('the rig sends it', async () => (await listeners()).join() === name);
      await grows('it is decoded', () => heardBytes(page));
      const follows = () =>
        page.evaluate(() => {
          const audio = window.sounds.at(-1);
          return !audio.muted && !audio.paused && audio.currentTime;
        });
      await grows('it plays', follows);
      await expectMoving(page, name);
      await page.getByRole('button', {name: 'Mute', exact: true}).click();
      await eventually('it is sent no more', async () => (await listeners()).length === 0);
      await unmute.waitFor();
      await expectMoving(page, name);
    });

  // For eight seconds of each sixteen.
  test('that stops leaves the video as it is', async () => {
    await watchAudio(page);
    await page.goto(`${rig.base}/camera/stops`);
    await page.getByRole('button', {name: 'Unmute'}).click();
    await grows('it is decoded', () => heardBytes(page));
    let heard;
    let since; // of the video's time: the newest sound
    const frames = new Set();
    await eventually('it has stopped, and the video goes on', async () => {
      const [bytes, time] = await page.evaluate((selector) => {
        const {webkitAudioDecodedByteCount: decoded} = window.sounds.at(-1);
        return [decoded, document.querySelector(selector).currentTime];
      }, `${tile('stops')} video`);
      if (bytes !== heard) {
        frames.clear();
        [heard, since] = [bytes, time];
      }
      frames.add(await hashOf(page, 'stops'));
      return frames.size > 5 && time - since > 3;
    });
    await grows('it comes again', () => heardBytes(page));
  });

  test('that this browser does not play says so', async () => {
    await page.addInitScript(() => {
      const {isTypeSupported} = MediaSource;
      MediaSource.isTypeSupported = (mime) => !mime.startsWith('audio/') && isTypeSupported.call(MediaSource, mime);
    });
    await page.goto(`${rig.base}/camera/aac`);
    await page.getByRole('button', {name: 'Unmute'}).click();
    await page.getByRole('button', {name: /^Mute; there is no sound: this browser does not play audio\/mp4/}).click();
    await page.getByRole('button', {name: 'Unmute'}).waitFor();
    await expectMoving(page, 'aac');
  });

  test('whose decoder breaks again and again is given up', async () => {
    await page.addInitScript(() => {
      window.breaks = 0;
      const {addSourceBuffer} = MediaSource.prototype;
      MediaSource.prototype.addSourceBuffer = function (mime) {
        if (!mime.startsWith('audio/')) return addSourceBuffer.call(this, mime);
        ++window.breaks;
        throw new Error('there is no decoder left');
      };
    });
    await page.goto(`${rig.base}/camera/aac`);
    await page.getByRole('button', {name: 'Unmute'}).click();
    await page.getByRole('button', {name: 'Mute; there is no sound: there is no decoder left'}).waitFor();
    assert.equal(await page.evaluate(() => window.breaks), 6);
    await eventually('it is sent no more', async () => (await listeners()).length === 0);
    await expectMoving(page, 'aac');
  });

  test('is offered on the enlarged tile alone, and falls silent with it', async () => {
    // By now it would be offered: it is known what the stream has, and another status was shown.
    const isKnown = async (name) => {
      await expectMoving(page, name);
      await page.waitForSelector(`${tile(name)} .fps:not(:empty)`);
    };
    await page.goto(rig.base);
    await isKnown('aac');
    assert.equal(await page.locator('.grid button').count(), 0);
    assert.equal(await page.getByRole('button', {name: 'Unmute'}).isVisible(), false);
    await page.click(tile('aac'));
    await page.getByRole('button', {name: 'Unmute'}).click();
    await eventually('the rig sends it', async () => (await listeners()).join() === 'aac');
    await page.keyboard.press('Escape');
    await eventually('it is sent no more', async () => (await listeners()).length === 0);
    await page.goto(`${rig.base}/?camera=silent`);
    await isKnown('silent');
    assert.equal(await page.getByRole('button', {name: 'Unmute'}).isVisible(), false, 'it has none');
  });
});
