// How well a browser plays many cameras on one wall: frames shown, and how long the frame stood still.
//
//   node tests/bench/wall_bench.mjs                       16 cameras of 1280 x 720 at 10/s for 60 s
//   node tests/bench/wall_bench.mjs --cameras 9 --rate 25
//
// Cameras are one file that ffmpeg makes, copied (`codec: copy`): the machine's time goes to the browser. It counts
// from 10 s after all of them are shown.
// Needs a built campipe (--program) and what the browser tests fetched (--modules, their folder).
// Exit status: 1 where a camera's frame stood still for longer than --still ms.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {readOptions} from './browser_options.mjs';

const options = readOptions({cameras: '16', rate: '10', seconds: '60', bitrate: '1M', still: '1000'});
const {Rig, eventually} = await import('../web/rig.mjs');
const {openBrowser, openPage} = await import('../web/browser.mjs');

const [cameras, rate, seconds, still] = ['cameras', 'rate', 'seconds', 'still'].map((name) => Number(options[name]));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-wall-'));

function makeFile() {
  const file = path.join(folder, 'camera.mp4');
  const input = ['-f', 'lavfi', '-i', `testsrc2=size=1280x720:rate=${rate}`, '-t', String(2 * seconds + 60)];
  const video = ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '0', '-g', String(2 * rate), '-b:v', options.bitrate];
  const all = ['-v', 'error', ...input, ...video, '-pix_fmt', 'yuv420p', file];
  const made = spawnSync('ffmpeg', all, {stdio: 'inherit'});
  if (made.status !== 0) throw new Error('ffmpeg made no file');
  return file;
}

// Runs in the page: of each video from now on, frames and the longest wait for one.
function countPictures() {
  window.seen = [...document.querySelectorAll('.tile video')].map((video) => {
    const seen = {frames: 0, last: performance.now(), longest: 0};
    const next = () =>
      video.requestVideoFrameCallback((now, {presentedFrames}) => {
        seen.longest = Math.max(seen.longest, now - seen.last);
        seen.last = now;
        seen.first ??= presentedFrames;
        seen.frames = presentedFrames - seen.first;
        next();
      });
    next();
    return seen;
  });
}

const toldBy = (page) =>
  page.evaluate(() =>
    window.seen.map(({frames, last, longest}) => ({frames, longest: Math.max(longest, performance.now() - last)})),
  );

let rig;
let browser;
try {
  const file = makeFile();
  const names = Array.from({length: cameras}, (_, index) => `cam${index}`);
  rig = await Rig.start({
    more: 'defaults: {pace: realtime, encode: {codec: copy}}',
    cameras: names.map((name) => `  ${name}: {source: "${file}"}\n`).join(''),
  });
  browser = await openBrowser();
  const page = await openPage(browser, {width: 1920, height: 1080});
  await page.goto(rig.base);
  await eventually('every camera is shown', () =>
    page.evaluate((count) => document.querySelectorAll('.tile:not(.dimmed) .dot.good').length === count, cameras),
  );
  await sleep(10000);
  await page.evaluate(countPictures);
  await sleep(seconds * 1000);
  const told = await toldBy(page);
  const shown = told.map(({frames}) => frames);
  const longest = Math.max(...told.map((one) => one.longest));
  console.log(
    `wall_bench: ${cameras} cameras of 1280 x 720 at ${rate}/s for ${seconds} s: of ${rate * seconds} frames each ` +
      `${Math.min(...shown)} to ${Math.max(...shown)} shown; the longest wait for one ${Math.round(longest)} ms`,
  );
  if (longest > still) process.exitCode = 1;
} finally {
  await browser?.close();
  await rig?.stop();
  fs.rmSync(folder, {recursive: true, force: true});
}
