// How long Chromium takes to show a moment of a recording, from opening it, and how many requests that takes:
//   node tests/bench/open_recording.mjs URL SECONDS [TIMES]
// URL: of the file, at a server that needs no login, such as http://127.0.0.1:8080/recordings/files/dock/main/hour.mp4
// Needs what the browser tests fetched into build/release/tests/web.
import {createRequire} from 'node:module';
import path from 'node:path';
import {modulesFolder} from '../web/modules_folder.mjs';

const modules = modulesFolder(path.join(import.meta.dirname, '../../build/release/tests/web'));
const {chromium} = createRequire(`${modules}/`)('playwright-core');
const [url, seconds, times = 5] = process.argv.slice(2);

function shown({file, at}) {
  return new Promise((done) => {
    const video = document.createElement('video');
    video.muted = true;
    document.body.append(video);
    const begun = performance.now();
    const look = (_, {mediaTime}) => {
      if (mediaTime >= at - 1) done(performance.now() - begun);
      else video.requestVideoFrameCallback(look);
    };
    video.requestVideoFrameCallback(look);
    video.src = `${file}#t=${at}`;
    setTimeout(() => done(NaN), 20000);
  });
}

const all = [];
for (let i = 0; i < Number(times); ++i) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
  });
  const page = await browser.newPage();
  await page.goto(new URL('/login', url).href);
  let requests = 0;
  page.on('request', (request) => (requests += request.url().startsWith(url) ? 1 : 0));
  const ms = await page.evaluate(shown, {file: url, at: Number(seconds)});
  console.log(`${(ms / 1000).toFixed(2)} s, ${requests} requests`);
  all.push(ms);
  await browser.close();
}
all.sort((a, b) => a - b);
console.log(`median ${(all[Math.floor(all.length / 2)] / 1000).toFixed(2)} s`);
