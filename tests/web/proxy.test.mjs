// The page behind the reverse proxies of docs/operations.md, with the lines that stand there.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, describe, test} from 'node:test';
import {expectMoving, openBrowser, openPage, tile} from './browser.mjs';
import {SoundClips, heardBytes, watchAudio} from './heard.mjs';
import {Rig, eventually, freePort, suiteTime} from './rig.mjs';

const operations = fs.readFileSync(path.join(import.meta.dirname, '../../docs/operations.md'), 'utf8');

// The block of code behind "nginx:" or "Caddy …:".
function documented(begin) {
  const [, block] = new RegExp(`\n${begin}[^\n]*:\n\n\`\`\`[a-z]*\n([^]*?)\`\`\``).exec(operations);
  return block;
}

const isThere = (program) => spawnSync(program, ['-v'], {env: {...process.env, PATH: `${process.env.PATH}:/usr/sbin`}}).error === undefined;

const cameras = ['dock', ...Array.from({length: 7}, (_, i) => `yard${i + 1}`)]; // more than a browser has connections

const proxies = {
  nginx: {
    // `plain`: as nginx is without these lines, which passes on no WebSocket.
    write(folder, port, upstream, plain) {
      const server = plain
        ? `server { listen 127.0.0.1:${port}; location / { proxy_pass ${upstream}; } }`
        : documented('nginx')
            .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
            .replace('cams.example.com', '_')
            .replace('http://127.0.0.1:8080', upstream);
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join(' ');
      fs.writeFileSync(
        `${folder}/nginx.conf`,
        `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 1;\nevents {}\n` +
          `http { access_log off; ${temporary}\n${server}\n}`,
      );
      return ['nginx', '-c', `${folder}/nginx.conf`, '-e', `${folder}/error.log`];
    },
  },
  caddy: {
    write(folder, port, upstream) {
      const site = documented('Caddy').replace('cams.example.com', `http://127.0.0.1:${port}`).replace('127.0.0.1:8080', new URL(upstream).host);
      fs.writeFileSync(`${folder}/Caddyfile`, `{\n  admin off\n}\n${site}`);
      return ['caddy', 'run', '--adapter', 'caddyfile', '--config', `${folder}/Caddyfile`];
    },
  },
};

describe('proxy', {timeout: suiteTime}, () => {
  const clips = new SoundClips();
  let rig;
  let browser;

  before(async () => {
    rig = await Rig.start({
      more: 'trusted_proxies: [127.0.0.1]\nworkers: {count: 1}',
      cameras:
        '  dock: {source: "test://pattern?width=160&height=120&rate=5", record: {path: "dock.mp4"}}\n' +
        cameras.slice(1, -1).map((name) => `  ${name}: {source: "test://pattern?width=160&height=120&rate=5"}\n`).join('') +
        `  ${cameras.at(-1)}: {source: "${clips.make('aac.mp4', 4, 4)}", loop: true, encode: {codec: copy}}\n`,
    });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await rig?.stop();
    clips.remove();
  });

  // `use` gets a page of its own, and the proxy's address.
  async function behind(name, plain, use) {
    const port = await freePort();
    const [program, ...words] = proxies[name].write(rig.folder, port, rig.base, plain);
    const child = spawn(program, words, {
      stdio: 'ignore',
      env: {...process.env, PATH: `${process.env.PATH}:/usr/sbin`, HOME: rig.folder},
    });
    const page = await openPage(browser);
    const failed = [];
    const isExpected = (response) => plain && response.status() === 426; // by which the page knows that it is the proxy
    page.on('response', (response) => {
      if (response.status() >= 400 && !isExpected(response)) failed.push(`${response.status()} ${response.url()}`);
    });
    try {
      const base = `http://127.0.0.1:${port}`;
      await eventually(`${name} answers`, async () => {
        try {
          return Boolean((await fetch(base, {redirect: 'manual'})).status);
        } catch {
          return false; // not yet
        }
      });
      await use(page, base);
      assert.deepEqual(page.problems, []);
      assert.deepEqual(failed, []);
    } finally {
      await page.close();
      child.kill('SIGTERM');
    }
  }

  for (const name of Object.keys(proxies)) {
    test(`${name}, below a path, with the documented lines`, {skip: !isThere(name) && `there is no ${name}`}, () =>
      behind(name, false, async (page, base) => {
        await page.goto(`${base}/cams/`);
        await expectMoving(page, 'dock');
        await page.click(tile('dock'));
        await page.click('text=Details');
        await page.waitForSelector('h1 >> text=dock');
        await page.waitForURL(`${base}/cams/camera/dock`);
        await page.reload(); // a deeper path finds the same files
        await page.waitForSelector('h1 >> text=dock');
        await page.click('nav >> text=Recordings');
        await page.waitForSelector('text=being written');
        await page.waitForURL(`${base}/cams/recordings`);
        const href = await page.getAttribute('a[download]', 'href');
        assert.equal((await fetch(base + href)).status, 200);
        await page.click('nav >> text=System');
        await page.waitForSelector('text=Processes');
        await page.click('.brand');
        await page.waitForSelector(tile('dock'));
        await page.waitForURL(`${base}/cams/`);
      }),
    );
  }

  test('a wall over HTTP where a proxy passes on no WebSocket', {skip: !isThere('nginx') && 'there is no nginx'}, () =>
    behind('nginx', true, async (page, base) => {
      const asked = [];
      page.on('request', (request) => asked.push(request));
      const asks = (path) => asked.map((request) => new URL(request.url())).filter(({pathname}) => pathname === path);
      const watched = () => asks('/live').at(-1).searchParams.get('streams').split(',').sort();
      await page.goto(base);
      for (const name of cameras) await expectMoving(page, name);
      const times = () => page.$$eval('.tile video', (videos) => videos.map(({currentTime}) => currentTime));
      assert.equal((await times()).length, cameras.length);
      const before = await times();
      await eventually('each plays on', async () => (await times()).every((time, i) => time > before[i] + 1));
      await eventually('all are live', async () => (await page.textContent('#summary')) === `${cameras.length} live`);
      assert.deepEqual(watched(), cameras, 'one answer for all');

      // Another set of cameras: one alone, and all again.
      await page.click(tile('dock'));
      await page.waitForSelector(`${tile('dock')}.enlarged`);
      await eventually('one is asked for', () => watched().join() === 'dock');
      await expectMoving(page, 'dock');
      await page.click('text=Details');
      await page.waitForSelector('text=over HTTP, as no WebSocket comes through');
      await expectMoving(page, 'dock');
      await page.click('.brand');
      for (const name of cameras) await expectMoving(page, name);

      const tries = () => cameras.reduce((sum, name) => sum + asks(`/cameras/${name}/live`).length, 0);
      const triesBefore = tries();
      await page.reload();
      for (const name of ['dock', cameras.at(-1)]) await expectMoving(page, name);
      assert.ok(tries() > triesBefore, 'a page that is loaded again tries WebSocket again');

      await watchAudio(page);
      await page.goto(`${base}/camera/${cameras.at(-1)}`);
      await page.getByRole('button', {name: 'Unmute'}).click();
      await eventually('its sound is asked for, too', () => watched().join() === `${cameras.at(-1)},${cameras.at(-1)}?sound=1`);
      const bytesBefore = await heardBytes(page);
      await eventually('and decoded', async () => (await heardBytes(page)) > bytesBefore + 100);
      await expectMoving(page, cameras.at(-1));
      await page.getByRole('button', {name: 'Mute', exact: true}).click();
      await eventually('and no more', () => watched().join() === cameras.at(-1));
      await page.click('nav >> text=System');
      await page.waitForSelector('text=Processes');
      await eventually('nothing is watched any more', async () => (await rig.status()).cameras.dock.viewers === 0);
    }),
  );
});
