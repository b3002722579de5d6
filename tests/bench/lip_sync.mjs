// How far the sound of a camera is from its frames in Chromium: a white frame and a tone begin together, each second.
//
//   node tests/bench/lip_sync.mjs                         30 s, of AAC that is copied, and of G.711 that is encoded for it
//   node tests/bench/lip_sync.mjs --seconds 120
//
// It looks at what comes out: the brightness of the frames that are shown, and the samples behind the audio element. How
// far these are from each other where the browser itself plays the file, without campipe, stands in the first line.
// Needs a built campipe (--program) and what the browser tests fetched (--modules, their folder).
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {readOptions} from './browser_options.mjs';

const options = readOptions({seconds: '30'});
const {Rig} = await import('../web/rig.mjs');
const {openBrowser, openPage} = await import('../web/browser.mjs');
const {watchAudio} = await import('../web/heard.mjs');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-lips-'));

function makeFile(name, encoder) {
  const file = path.join(folder, name);
  const flash = "color=black:size=320x240:rate=25,drawbox=color=white:t=fill:enable='lt(mod(t,1),0.2)'";
  const tone = "aevalsrc='if(lt(mod(t,1),0.2),0.5*sin(2*PI*1000*t),0)':sample_rate=48000";
  const encode = ['-c:v', 'libx264', '-bf', '0', '-g', '25', '-pix_fmt', 'yuv420p', ...encoder];
  const all = ['-v', 'error', '-f', 'lavfi', '-i', flash, '-f', 'lavfi', '-i', tone, '-t', '60', ...encode, file];
  if (spawnSync('ffmpeg', all, {stdio: 'inherit'}).status !== 0) throw new Error('ffmpeg made no file');
  return file;
}

// Runs in the page. Gives when tones and white frames began, in ms of one clock.
async function listen({seconds, selector}) {
  const video = document.querySelector(selector);
  const context = new AudioContext();
  const tap = context.createScriptProcessor(256, 1, 1);
  context.createMediaElementSource(window.sounds?.at(-1) ?? video).connect(tap);
  tap.connect(context.destination);
  const tones = [];
  let loudAt = -1;
  tap.onaudioprocess = ({inputBuffer, playbackTime}) => {
    const {contextTime, performanceTime} = context.getOutputTimestamp();
    inputBuffer.getChannelData(0).forEach((sample, i) => {
      if (Math.abs(sample) < 0.1) return;
      const at = playbackTime + i / inputBuffer.sampleRate;
      if (at - loudAt > 0.3) tones.push(performanceTime + (at - contextTime) * 1000);
      loudAt = at;
    });
  };
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const flashes = [];
  let wasWhite = true;
  const look = (_, {expectedDisplayTime}) => {
    canvas.drawImage(video, 0, 0, 1, 1);
    const isWhite = canvas.getImageData(0, 0, 1, 1).data[1] > 128;
    if (isWhite && !wasWhite) flashes.push(expectedDisplayTime);
    wasWhite = isWhite;
    video.requestVideoFrameCallback(look);
  };
  video.requestVideoFrameCallback(look);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return {tones, flashes};
}

async function tell(page, name, selector) {
  const {tones, flashes} = await page.evaluate(listen, {seconds: Number(options.seconds), selector});
  const offsets = flashes
    .map((flash) => tones.map((tone) => tone - flash).sort((a, b) => Math.abs(a) - Math.abs(b))[0])
    .filter((offset) => Math.abs(offset) < 500)
    .sort((a, b) => a - b);
  const [least, median, most] = [0, offsets.length >> 1, offsets.length - 1].map((at) => Math.round(offsets[at]));
  console.log(
    `lip_sync: ${name}: ${flashes.length} white frames, ${tones.length} tones; the tone came ${median} ms after the ` +
      `frame (median), ${least} to ${most} ms`,
  );
  await page.close();
}

let rig;
let browser;
try {
  const aac = makeFile('aac.mp4', ['-c:a', 'aac']);
  const g711 = makeFile('g711.mkv', ['-c:a', 'pcm_alaw', '-ar', '8000']);
  rig = await Rig.start({
    more: 'defaults: {pace: realtime, loop: true, encode: {codec: copy}}',
    cameras: `  aac: {source: "${aac}"}\n  g711: {source: "${g711}"}\n`,
  });
  browser = await openBrowser();
  const bare = await browser.newPage();
  await bare.route('**/clip.mp4', (route) => route.fulfill({path: aac, contentType: 'video/mp4'}));
  await bare.goto(`${rig.base}/login`);
  await bare.evaluate(() => {
    const video = document.createElement('video');
    Object.assign(video, {src: '/clip.mp4', id: 'bare', autoplay: true, loop: true});
    document.body.append(video);
  });
  await bare.waitForFunction(() => document.querySelector('#bare').currentTime > 1);
  await tell(bare, 'without campipe', '#bare');
  for (const name of ['aac', 'g711']) {
    const page = await openPage(browser, {width: 1280, height: 720});
    await watchAudio(page);
    await page.goto(`${rig.base}/camera/${name}`);
    await page.waitForFunction(() => document.querySelector('.player video')?.currentTime > 1);
    await page.getByRole('button', {name: 'Unmute'}).click();
    await page.waitForFunction(() => window.sounds.at(-1)?.currentTime > 3);
    await tell(page, name, '.player video');
  }
} finally {
  await browser?.close();
  await rig?.stop();
  fs.rmSync(folder, {recursive: true, force: true});
}
