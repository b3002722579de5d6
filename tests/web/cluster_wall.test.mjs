// The wall of a cluster: one node's page shows the cameras of another one, live, and goes on where they go.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import path from 'node:path';
import {after, before, describe, test} from 'node:test';
import {expectMoving, openBrowser, openPage, tile} from './browser.mjs';
import {Etcd, Rig, eventually, freePort, suiteTime} from './rig.mjs';

const pattern = 'test://pattern?width=320&height=180&rate=15';
const mosaic = `mosaics: {both: {layout: [[dock, 0, 0, 160, 90], [gate, 160, 0, 160, 90]], width: 320, height: 90, rate: 5, across_nodes: true}}`;
const hasEtcd = spawnSync('etcd', ['--version']).status === 0;

const cameraOf = (name) => `  ${name}: {source: "${pattern}", record: {path: "${name}_%H-%M-%S.mp4"}}\n`;

describe('wall of a cluster', {timeout: suiteTime, skip: hasEtcd ? false : 'there is no etcd'}, () => {
  let etcd;
  let browser;
  const nodes = {};

  const start = async (node) => {
    const address = `127.0.0.1:${await freePort()}`;
    const cluster = `cluster: {name: hall, etcd: ['${etcd.url}'], node: ${node}, address: '${address}'}`;
    nodes[node] = await Rig.start({
      more: `workers: {count: 1}\ndefaults:\n  encode: {bitrate: 1M, gop: 1s}\n${mosaic}\n${cluster}`,
      cameras: cameraOf('dock') + cameraOf('gate'),
    });
  };
  const move = (camera, node) => {
    const moved = spawnSync(
      process.env.CAMPIPE_PROGRAM,
      ['cluster', 'move', camera, node, '--config', path.join(nodes.east.folder, 'rig.yaml')],
      {encoding: 'utf8'},
    );
    assert.equal(moved.status, 0, moved.stderr);
  };
  const runsOn = (camera, node) =>
    eventually(`${camera} runs on ${node}`, async () => {
      const shown = (await nodes.east.status()).cameras[camera];
      return shown?.state === 'running' && shown.node === node;
    });

  before(async () => {
    etcd = await Etcd.start();
    await start('east');
    await start('west');
    await eventually('the cameras are planned', async () => {
      const {cluster} = await nodes.east.status();
      return ['dock', 'gate', 'both'].every((camera) => cluster?.cameras[camera]);
    });
    move('dock', 'east');
    move('gate', 'west');
    move('both', 'east');
    await runsOn('gate', 'west');
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    for (const node of Object.values(nodes)) await node.stop();
    await etcd?.stop();
  });

  test('cameras of another node play, also after they have moved', async () => {
    const page = await openPage(browser);
    await page.goto(nodes.east.base);
    await expectMoving(page, 'dock');
    await expectMoving(page, 'gate');
    const shownOn = (node) =>
      eventually(`the page knows of ${node}`, async () => (await page.textContent(`${tile('gate')} .node`)) === node);
    await shownOn('west');
    await nodes.west.records('gate');
    await page.evaluate(() => {
      window.sameDocument = true;
    });
    if (process.env.WEB_TEST_SHOTS) await page.screenshot({path: path.join(process.env.WEB_TEST_SHOTS, 'wall.png')});
    move('gate', 'east');
    await runsOn('gate', 'east');
    await shownOn('east');
    await expectMoving(page, 'gate');
    move('gate', 'west');
    await runsOn('gate', 'west');
    await shownOn('west');
    await expectMoving(page, 'gate');
    assert.equal(await page.evaluate(() => window.sameDocument), true, 'without a reload');

    await page.goto(`${nodes.east.base}/recordings?camera=gate`);
    await eventually('what both nodes have', async () => {
      const names = await page.$$eval('tr[data-id] .name small', (all) => all.map(({textContent}) => textContent.trim()));
      return names.includes('east') && names.includes('west');
    });
    if (process.env.WEB_TEST_SHOTS)
      await page.screenshot({path: path.join(process.env.WEB_TEST_SHOTS, 'recordings.png')});
    // The newest one of it may have no frame yet.
    const {id} = (await nodes.east.recordings('gate')).find(({node, duration_s}) => node === 'west' && duration_s > 1);
    await page.click(`tr[data-id="west:${id}"] >> text=Play`);
    await eventually('it plays', () => page.$eval('.watching video', ({currentTime}) => currentTime > 0.2));
    assert.deepEqual(page.problems, []);
    await page.close();
  });

  test('a node shows its links', async () => {
    const page = await openPage(browser);
    for (const [node, seen] of [['east', 'from west'], ['west', 'to east']]) {
      await page.goto(`${nodes[node].base}/system`);
      await eventually(`the link ${seen}`, async () => {
        const row = await page.textContent('[data-key=cluster] [data-key="gate → both"]');
        return new RegExp(`^gate → both${seen}zeromq, encryptedconnected[1-9]`).test(row);
      });
      if (process.env.WEB_TEST_SHOTS)
        await page.screenshot({path: path.join(process.env.WEB_TEST_SHOTS, `links-${node}.png`), fullPage: true});
    }
    assert.deepEqual(page.problems, []);
    await page.close();
  });

  test('a node that is gone is named', async () => {
    const page = await openPage(browser);
    await page.goto(nodes.east.base);
    await expectMoving(page, 'gate');
    // Its lease lives, and nothing restarts what serves.
    const stopped = [nodes.west.child.pid, (await nodes.west.processOf('publisher')).pid];
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      await eventually('its node is named', async () =>
        /Node unreachable.*'west'/.test(await page.textContent(`${tile('gate')} .panel`)),
      );
      await expectMoving(page, 'dock');
      if (process.env.WEB_TEST_SHOTS) await page.screenshot({path: path.join(process.env.WEB_TEST_SHOTS, 'gone.png')});
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await expectMoving(page, 'gate');
    await page.close();
  });
});
