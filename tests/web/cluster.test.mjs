// The page of the system of a rig that is a node of a cluster, with a real etcd.
import assert from 'node:assert/strict';
import {after, before, describe, test} from 'node:test';
import {expectAccessible} from './accessible.mjs';
import {openBrowser, openPage} from './browser.mjs';
import {Etcd, Rig, eventually, suiteTime} from './rig.mjs';

const password = 'correct horse';
const hash = '$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg';
const users = `users:
  ann: {may: administer, password: "${hash}"}
  bob: {may: view, password: "${hash}"}
`;
const cameras = `  dock: {source: "test://pattern?width=160&height=120&rate=5"}
  gate: {source: "test://pattern?width=160&height=120&rate=5"}
`;

describe('cluster', {timeout: suiteTime}, () => {
  let etcd;
  const rigs = [];
  let browser;
  let page;

  const startNode = async (node) => {
    const cluster = `cluster: {name: halls, etcd: ["${etcd.url}"], node: ${node}, address: "127.0.0.1:8443"}\n`;
    rigs.push(await Rig.start({more: `workers: {count: 1}\n${users}${cluster}`, cameras}));
  };
  before(async () => {
    etcd = await Etcd.start();
    if (!etcd) return;
    await startNode('east');
    await startNode('west');
    browser = await openBrowser();
    page = await openPage(browser, {bypassCSP: true});
  });
  after(async () => {
    await browser?.close();
    for (const rig of rigs) await rig.stop();
    await etcd?.stop();
  });

  async function logIn(user) {
    await page.goto(`${rigs[0].base}/login?next=/system`);
    await page.fill('input[name=user]', user);
    await page.fill('input[name=password]', password);
    await page.click('button[type=submit]');
    await page.waitForSelector('[data-key=cluster] [data-key=west]');
  }
  async function logOut() {
    await page.click('#logout');
    await page.waitForURL(`${rigs[0].base}/login`);
  }
  const rowOf = (name) => page.textContent(`[data-key=cluster] [data-key="${name}"]`);
  const rowHas = (name, what) => eventually(`${name}: ${what}`, async () => what.test(await rowOf(name)));

  test('nodes are drained, cameras moved, and etcd missed', async (t) => {
    if (!etcd) return t.skip('there is no etcd here');
    await logIn('ann');
    assert.equal(await page.textContent('[data-key=cluster] h2'), 'Cluster halls');
    await eventually('a node plans', async () => /plans/.test((await rowOf('east')) + (await rowOf('west'))));
    await page.click('button[data-drain=west]');
    await page.click('dialog[open] >> text=Cancel');
    await page.click('button[data-drain=west]');
    await page.click('dialog[open] button[value=yes]');
    await rowHas('west', /draining.*0127\.0\.0\.1:8443.*Take cameras again/s);
    await rowHas('east', /here/);
    for (const camera of ['dock', 'gate']) await rowHas(camera, /^(dock|gate)east/);
    await page.click('button[data-drain=west]');
    await rowHas('west', /here.*Drain/s);
    await page.selectOption('select[data-move=dock]', 'west');
    await page.click('button[data-moves=dock]');
    await rowHas('dock', /^dockwest/);
    await expectAccessible(page, 'cluster');
    if (process.env.WEB_TEST_SCREENSHOT) await page.screenshot({path: process.env.WEB_TEST_SCREENSHOT, fullPage: true});

    await logOut();
    await logIn('bob');
    await rowHas('dock', /^dockwest/);
    const controls = page.locator('[data-key=cluster] button, [data-key=cluster] select');
    assert.equal(await controls.filter({visible: true}).count(), 0);
    assert.doesNotMatch(await rowOf('west'), /8443/);

    await logOut();
    await logIn('ann');
    await etcd.stop();
    await page.waitForSelector('[data-key=cluster] .error:not([hidden])');
    await page.click('button[data-drain=west]');
    await page.click('dialog[open] button[value=yes]');
    await page.waitForSelector('.cluster-failure:has-text("cannot change the cluster")');
    assert.deepEqual(page.problems, []);
  });
});
