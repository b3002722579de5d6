// The graph on the page of the system: the way of each camera's frames.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {browseRig} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

// `stages` filters for longer than its frames take to come, in its second node.
const staged = `  whole: {source: "test://pattern?width=320&height=240&rate=10", filters: [sharpen]}
  stages:
    source: "test://pattern?width=1280&height=720&rate=25"
    drop_policy: drop
    filters: [sharpen, denoise: {window: 15, patch: 7}]
    placement: {filter: [cpu:0, cpu:1], encode: cpu:2}
  off: {source: "test://pattern", enabled: false}
`;

describe('graph', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () => Rig.start({more: 'workers: {count: 3}\ndefaults:\n  encode: {bitrate: 500k, gop: 1s, codec: h264}\n', cameras: staged}),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  const way = (camera) => `.way[data-key="${camera}"]`;
  const textsOf = (selector) => page.$$eval(selector, (found) => found.map(({textContent}) => textContent));

  async function open() {
    await page.goto(`${rig.base}/system`);
    await eventually('encoders are open', async () => {
      const made = await textsOf(`.way .made b`);
      return made.length === 2 && made.every((text) => text === 'main: libx264');
    });
  }

  test('each camera that runs has its way, as the status has it', async () => {
    await open();
    assert.deepEqual(await textsOf('.way > a'), ['whole', 'stages']);
    assert.deepEqual(await textsOf(`${way('whole')} .step > b`), ['pattern', 'sharpen']);
    assert.deepEqual(await textsOf(`${way('stages')} .step > b`), ['pattern', 'sharpen', 'denoise', 'encode']);
    const {nodes, edges} = (await rig.status()).cameras.stages.graph;
    assert.deepEqual(
      await textsOf(`${way('stages')} .step > b + span`),
      nodes.map((node) => `${node.process}, CPU`),
    );
    assert.equal((await page.$$(`${way('stages')} [role=meter]`)).length, edges.length);
  });

  test('the node that does not keep up is marked, and the source’s ring drops', async () => {
    await page.goto(`${rig.base}/system`);
    await eventually('it alone is marked', async () => {
      const slow = await textsOf('.way .slow');
      return slow.length === 1 && /^denoise.*does not keep up$/.test(slow[0]);
    });
    await page.waitForSelector(`${way('stages')} .dropped.grows:has-text("▲")`);
    const meters = await page.$$eval(`${way('stages')} [role=meter]`, (found) =>
      found.map((meter) => [meter.getAttribute('aria-valuenow'), meter.getAttribute('aria-valuemax')].map(Number)),
    );
    for (const [waiting, most] of meters) assert.ok(most > 0 && waiting >= 0 && waiting <= most);
    await eventually('the source’s ring drops', async () => (await rig.status()).cameras.stages.graph.edges[0].recalled > 0);
    assert.equal((await rig.status()).cameras.stages.graph.edges[2].recalled, 0);
  });

  test('nothing moves while the numbers change', async () => {
    await open();
    const places = () =>
      page.$$eval('.way .step, .way .hop', (found) =>
        found.map((element) => {
          const {width, height, x} = element.getBoundingClientRect();
          return [x, width, height];
        }),
      );
    const first = await places();
    const published = async () => (await textsOf('.way .dropped')).join();
    let shown = await published();
    for (let changes = 0; changes < 3; ++changes) {
      await eventually('other numbers', async () => (await published()) !== shown);
      shown = await published();
      assert.deepEqual(await places(), first);
    }
  });
});

describe('graph of tiles', {timeout: suiteTime}, () => {
  let rig;
  let page;

  browseRig(
    () =>
      Rig.start({
        more: 'workers: {count: 4}\ndefaults:\n  gpu: cpu\n  encode: {bitrate: 500k, gop: 1s, codec: h264}\n',
        cameras: `  wide:
    source: "test://pattern?width=640&height=480&rate=10"
    filters: [sharpen]
    placement: {tiles: 4}
`,
      }),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  // All in one look: each status may move what is below other sections.
  const boxes = (...selectors) =>
    page.evaluate(
      (all) =>
        all.map((selector) =>
          [...document.querySelectorAll(selector)].map((element) => {
            const {x, y, width, height} = element.getBoundingClientRect();
            return {x, y, width, height, right: x + width, bottom: y + height};
          }),
        ),
      selectors,
    );
  const isBelow = (a, b) => b.y >= a.bottom;

  test('tiles lie one below the other, before what joins them', async () => {
    await page.setViewportSize({width: 1500, height: 900});
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.way .made b:has-text("libx264")');
    const {edges} = (await rig.status()).cameras.wide.graph;
    assert.equal(edges.length, 8);
    assert.equal((await page.$$('.way [role=meter]')).length, 8, 'each ring has its meter');
    const [tiles, [together], steps, [card]] = await boxes('.together .step', '.together', '.way > ol > .step', '.card.ways');
    assert.equal(tiles.length, 4);
    for (let i = 1; i < tiles.length; ++i) {
      assert.equal(tiles[i].x, tiles[0].x);
      assert.ok(isBelow(tiles[i - 1], tiles[i]));
    }
    assert.equal(steps.length, 3, 'the source, what joins, the outputs');
    assert.ok(steps[0].right <= together.x && together.right <= steps[1].x && steps[1].right <= steps[2].x);
    assert.ok(steps[2].right <= card.right, 'all of it is to be seen');
  });

  test('where it is narrow, everything lies one below the other', async () => {
    await page.setViewportSize({width: 390, height: 900});
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.way .made b:has-text("libx264")');
    const [tiles, [together], steps] = await boxes('.together .step', '.together', '.way > ol > .step');
    assert.ok(isBelow(steps[0], together) && isBelow(together, steps[1]) && isBelow(steps[1], steps[2]));
    for (let i = 1; i < tiles.length; ++i) assert.ok(isBelow(tiles[i - 1], tiles[i]));
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(beyond <= 0, 'nothing is cut off');
  });
});
