// The pages of one camera, of recordings and of the system; who may see them.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {askForStatus, browseRig, expectMoving, tile} from './browser.mjs';
import {Rig, eventually} from './rig.mjs';

const cameras = `  dock:
    source: "test://pattern?width=320&height=240&rate=15"
    record: {path: "recordings/{camera}/%Y-%m-%d_%H-%M-%S.mp4"}
  gate:
    source: "test://pattern?width=320&height=240&rate=15"
    filters: [motion]
`;
const defaults = 'workers: {count: 1}\ndefaults:\n  encode: {bitrate: 500k, gop: 1s}\n';

// Drawn, and not in one colour.
const plotsDrawn = (page) =>
  page.evaluate(() => {
    const plots = [...document.querySelectorAll('.plot canvas')];
    return (
      plots.length === 5 &&
      plots.every((canvas) => {
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value !== 0);
      })
    );
  });

describe('pages', {timeout: 300000}, () => {
  let rig;
  let page;

  browseRig(
    () => Rig.start({more: defaults, cameras}),
    (opened) => {
      ({rig, page} = opened);
    },
  );

  test('one camera: picture, numbers, plots', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await expectMoving(page, 'dock');
    await eventually('numbers', async () => /320 × 240/.test(await page.textContent('.facts')));
    await eventually('plots', () => plotsDrawn(page));
    await eventually('a rate in the plot', async () => /\d fps/.test(await page.textContent('.plot .key b')));
    assert.match(await page.textContent('.links'), /rtsp:\/\/127\.0\.0\.1:\d+\/dock/);
    assert.match(await page.textContent('.links'), /\/cameras\/dock\/stream\.ts/);
  });

  test('plots go on after a camera was not there', async () => {
    let answers = 0;
    await page.route('**/history', (route) => {
      ++answers;
      return answers === 1 ? route.fulfill({status: 404, json: {error: 'no camera of this name'}}) : route.continue();
    });
    await page.goto(`${rig.base}/camera/dock`);
    await eventually('a rate in the plot', async () => /\d fps/.test(await page.textContent('.plot .key b')));
    await page.unrouteAll({behavior: 'ignoreErrors'});
  });

  test('while the rig does not answer, no camera is said to be live', async () => {
    await askForStatus(page);
    await page.goto(`${rig.base}/camera/gate`);
    await page.waitForSelector('.facts >> text=Live');
    await page.route('**/api/v1/status', (route) => route.abort());
    await page.waitForSelector('.facts >> text=not known, campipe does not answer');
    assert.equal((await page.$$('.facts dt')).length, 1);
    assert.equal(await page.isVisible('h2:text-is("Motion")'), false);
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.waitForSelector('.facts >> text=Live');

    // On the page of the system one status comes, from which no rate can be known.
    await page.goto('about:blank');
    let statuses = 0;
    let fail;
    const failing = new Promise((resolve) => {
      fail = resolve;
    });
    await page.route('**/api/v1/status', async (route) => {
      if (++statuses === 1) return route.continue();
      await failing;
      await route.abort();
    });
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.tiles');
    const totals = () => page.$$eval('.tiles b', (all) => all.map(({textContent}) => textContent).slice(1, 4));
    assert.deepEqual(await totals(), ['2 of 2', '–', '–']);
    fail();
    await page.waitForSelector('[data-key=cameras] tr[data-key=dock] >> text=Not known');
    assert.deepEqual(await totals(), ['– of 2', '–', '–']);
    assert.doesNotMatch(await page.textContent('[data-key=cameras]'), /Live/);
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.waitForSelector('[data-key=cameras] tr[data-key=dock] >> text=Live');
    await eventually('a rate', async () => /^\d/.test((await totals())[1]));
  });

  test('the choice of a node stays while others come and go', async () => {
    await askForStatus(page);
    const node = {here: true, usable: true, cameras: 1, capacity: {}};
    let nodes = ['east', 'north', 'west'];
    const cameras = {dock: {node: 'east'}};
    const cluster = {cluster: 'halls', node: 'east', planner: 'east', etcd: {up: true}, rig: {}, cameras, links: []};
    await page.route('**/api/v1/viewers', (route) => route.fulfill({json: {viewers: []}}));
    await page.route('**/api/v1/session', async (route) => {
      await route.fulfill({json: {...(await (await route.fetch()).json()), administers: true}});
    });
    await page.route('**/api/v1/status', async (route) => {
      cluster.nodes = Object.fromEntries(nodes.map((name) => [name, node]));
      await route.fulfill({json: {...(await (await route.fetch()).json()), cluster}});
    });
    await page.goto(`${rig.base}/system`);
    const select = 'select[data-move=dock]';
    await page.selectOption(select, '=west');
    const choices = () => page.$$eval(`${select} option`, (all) => all.map(({value}) => value));
    nodes = ['east', 'west'];
    await eventually('a node is gone', async () => (await choices()).join() === ',=west');
    assert.equal(await page.inputValue(select), '=west');
    nodes = ['east', 'middle', 'west', 'zone'];
    await eventually('others came', async () => (await choices()).length === 4);
    assert.equal(await page.inputValue(select), '=west');
    nodes = ['east', 'middle', 'zone'];
    await eventually('it is gone itself', async () => !(await choices()).includes('=west'));
    assert.equal(await page.inputValue(select), '');
    await page.unrouteAll({behavior: 'ignoreErrors'});
  });

  test('how much moves, beside what is motion', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await expectMoving(page, 'dock');
    assert.equal(await page.isVisible('h2:text-is("Motion")'), false, 'nobody looks for motion');
    await page.goto(`${rig.base}/camera/gate`);
    await page.waitForSelector('.motion-bar.moves');
    await eventually('the mark stands below the score', () =>
      page.evaluate(() => {
        const edge = (what) => document.querySelector(`.motion-bar ${what}`).getBoundingClientRect();
        return edge('b').left > edge('i').left && edge('i').right > edge('b').right;
      }),
    );
    assert.match(await page.textContent('.motion'), /^[\d.]+ % moves.*motion from [\d.]+ % on; most so far [\d.]+ %; \d+ events?$/);
    await page.waitForFunction(() => Number(document.querySelector('.motion-bar').ariaValueNow) > 0);
  });

  test('switched off and on', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await expectMoving(page, 'dock');
    await page.click('text=Switch off');
    await page.waitForSelector('dialog[open] >> text=Switch off dock?');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog.confirm', {state: 'detached'});
    assert.equal((await rig.status()).cameras.dock.enabled, true);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Switch off', 'the focus is back');
    await page.click('text=Switch off');
    await page.click('dialog[open] button[value=yes]');
    await page.waitForSelector(`${tile('dock')} .panel:not([hidden]) >> text=Switched off`);
    await page.waitForSelector('.actions button:not([aria-disabled]):text-is("Switch on")');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Switch on', 'the focus stays');
    await page.keyboard.press('Enter');
    await expectMoving(page, 'dock');
  });

  test('recording is stopped, listed, played and fetched', async () => {
    await page.goto(`${rig.base}/camera/dock`);
    await eventually('it records', async () => (await rig.status()).cameras.dock.recording_on);
    await expectMoving(page, 'dock');
    await page.click('text=Stop recording');
    await page.click('dialog[open] button[value=yes]');
    await eventually('it does not record', async () => !(await rig.status()).cameras.dock.recording_on);
    await page.click('text=Recordings >> nth=0');
    await page.waitForURL('**/recordings**');
    await page.waitForSelector('tr[data-id]');
    await page.click('tr[data-id] >> text=Play');
    await eventually('the recording plays', () =>
      page.evaluate(() => document.querySelector('.watching video').currentTime > 0.2),
    );
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('tr[data-id] a[download]')]);
    assert.equal(await download.failure(), null);
    await page.goto(`${rig.base}/recordings?camera=dock&to=2001-01-01T00:00:00Z`);
    await page.waitForSelector('text=Nothing was recorded here');
  });

  test('a recording whose file has no picture yet says so', async () => {
    const file = /\/recordings\/.*\.mp4/;
    // As it begins. In a file that has ended, the head of one box over all frames stands before the first moov.
    const header = (body) =>
      Buffer.concat([body.subarray(0, body.readUInt32BE(0)), body.subarray(body.indexOf('moov') - 4, body.indexOf('moof') - 4)]);
    await page.route(file, async (route) => {
      const body = await (await route.fetch()).body();
      await route.fulfill({status: 200, contentType: 'video/mp4', body: header(body)});
    });
    await page.goto(`${rig.base}/recordings?camera=dock`);
    await page.click('tr[data-id] >> text=Play');
    await page.waitForSelector('.watching .error:has-text("has no frame yet")');
    await page.unroute(file);
    await page.click('tr[data-id] >> text=Play');
    await eventually('the recording plays', () =>
      page.evaluate(() => document.querySelector('.watching video').currentTime > 0.2),
    );
    assert.equal(await page.textContent('.watching .problem'), '');
  });

  test('recordings of a camera that is switched off are known to a new publisher', async () => {
    const ask = async (what, options) => (await fetch(`${rig.base}/api/v1/${what}`, options)).json();
    await ask('cameras/dock/disable', {method: 'POST'});
    await eventually('it is off', async () => (await rig.status()).cameras.dock.state === 'disabled');
    const {pid} = await rig.processOf('publisher');
    process.kill(pid, 'SIGKILL');
    await eventually(
      'another publisher',
      async () => ![pid, undefined].includes((await rig.processOf('publisher'))?.pid),
    );
    const {recordings} = await ask('recordings?camera=dock');
    assert.notEqual(recordings.length, 0);
    await ask('cameras/dock/enable', {method: 'POST'});
    await eventually('it is on', async () => (await rig.status()).cameras.dock.state === 'running');
  });

  test('system', async () => {
    await page.goto(`${rig.base}/system`);
    for (const text of ['publisher', 'worker 0', 'master', 'supervisor'])
      await page.waitForSelector(`td:text-is("${text}")`);
    await page.click('nav >> text=Wall');
    await expectMoving(page, 'dock');
  });
});

// `stages` filters for longer than its frames take to come, in its second node.
const staged = `  whole: {source: "test://pattern?width=320&height=240&rate=10", filters: [sharpen]}
  stages:
    source: "test://pattern?width=1280&height=720&rate=25"
    drop_policy: drop
    filters: [sharpen, denoise: {window: 15, patch: 7}]
    placement: {filter: [cpu:0, cpu:1], encode: cpu:2}
  off: {source: "test://pattern", enabled: false}
`;

describe('graph', {timeout: 300000}, () => {
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

  test('each camera that runs has its way, as the status has it', async () => {
    await page.goto(`${rig.base}/system`);
    await eventually('encoders are open', async () => {
      const made = await textsOf(`.way .made b`);
      return made.length === 2 && made.every((text) => text === 'main: libx264');
    });
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
    await page.waitForSelector(`${way('stages')} .slow:has-text("denoise")`);
    await page.waitForSelector(`${way('stages')} .dropped.grows:has-text("▲")`);
    const meters = await page.$$eval(`${way('stages')} [role=meter]`, (found) =>
      found.map((meter) => [meter.getAttribute('aria-valuenow'), meter.getAttribute('aria-valuemax')].map(Number)),
    );
    for (const [waiting, most] of meters) assert.ok(most > 0 && waiting >= 0 && waiting <= most);
    const {edges} = (await rig.status()).cameras.stages.graph;
    assert.ok(edges[0].recalled > 0);
    assert.equal(edges[2].recalled, 0);
    assert.equal(await page.$(`${way('whole')} .slow`), null);
  });

  test('nothing moves while the numbers change', async () => {
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector(`${way('stages')} .made b:has-text("libx264")`);
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

describe('graph of tiles', {timeout: 300000}, () => {
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

  const boxes = (selector) =>
    page.$$eval(selector, (found) =>
      found.map((element) => {
        const {x, y, width, height} = element.getBoundingClientRect();
        return {x, y, width, height, right: x + width, bottom: y + height};
      }),
    );
  const isBelow = (a, b) => b.y >= a.bottom;

  test('tiles lie one below the other, before what joins them', async () => {
    await page.setViewportSize({width: 1500, height: 900});
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.way .made b:has-text("libx264")');
    const {edges} = (await rig.status()).cameras.wide.graph;
    assert.equal(edges.length, 8);
    assert.equal((await page.$$('.way [role=meter]')).length, 8, 'each ring has its meter');
    const tiles = await boxes('.together .step');
    assert.equal(tiles.length, 4);
    for (let i = 1; i < tiles.length; ++i) {
      assert.equal(tiles[i].x, tiles[0].x);
      assert.ok(isBelow(tiles[i - 1], tiles[i]));
    }
    const [together] = await boxes('.together');
    const steps = await boxes('.way > ol > .step');
    assert.equal(steps.length, 3, 'the source, what joins, the outputs');
    assert.ok(steps[0].right <= together.x && together.right <= steps[1].x && steps[1].right <= steps[2].x);
    const [card] = await boxes('.card.ways');
    assert.ok(steps[2].right <= card.right, 'all of it is to be seen');
  });

  test('where it is narrow, everything lies one below the other', async () => {
    await page.setViewportSize({width: 390, height: 900});
    await page.goto(`${rig.base}/system`);
    await page.waitForSelector('.way .made b:has-text("libx264")');
    const [together] = await boxes('.together');
    const steps = await boxes('.way > ol > .step');
    assert.ok(isBelow(steps[0], together) && isBelow(together, steps[1]) && isBelow(steps[1], steps[2]));
    const tiles = await boxes('.together .step');
    for (let i = 1; i < tiles.length; ++i) assert.ok(isBelow(tiles[i - 1], tiles[i]));
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(beyond <= 0, 'nothing is cut off');
  });
});

describe('login', {timeout: 200000}, () => {
  const parts = `  parts:
    source: "test://pattern?width=320&height=240&rate=15"
    filters: [sharpen]
    placement: {filter: [cpu:0], encode: cpu:1}
`;
  const password = 'correct horse';
  const hash = '$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg';
  let rig;
  let page;

  browseRig(
    () => {
      const users = ['ann: {may: administer', 'bob: {may: view']
        .map((user) => `  ${user}, password: "${hash}"}\n`)
        .join('');
      return Rig.start({more: `${defaults.replace('count: 1', 'count: 2')}users:\n${users}`, cameras: cameras + parts});
    },
    (opened) => {
      ({rig, page} = opened);
    },
  );

  async function logIn(user, secret) {
    await page.fill('input[name=user]', user);
    await page.fill('input[name=password]', secret);
    await page.click('button[type=submit]');
  }

  // Whoever administers the whole rig may have another worker do a camera's work.
  async function moveTo(worker) {
    await page.waitForSelector('.actions select:not([aria-disabled])');
    await page.selectOption('.actions select', worker);
    await page.click('.actions button:text-is("Move")');
    await eventually(`it is on worker ${worker}`, () =>
      page.evaluate(async (wanted) => {
        const camera = await (await fetch('/api/v1/cameras/dock')).json();
        return String(camera.worker) === wanted && camera.moves_to === undefined;
      }, worker),
    );
    assert.equal(await page.textContent('.head .error'), '');
    await expectMoving(page, 'dock');
    await page.waitForSelector('.actions select:not([aria-disabled])');
    for (let i = 0; i < 2; ++i) await page.waitForResponse('**/api/v1/status');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Move', 'the focus stays');
  }

  // In another tab of this browser.
  const logInElsewhere = (user, secret) =>
    page.evaluate(async (body) => {
      const headers = {'Content-Type': 'application/json'};
      await fetch('/api/v1/login', {method: 'POST', headers, body: JSON.stringify(body)});
    }, {user, password: secret});
  const setHidden = (hidden) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', {configurable: true, get: () => value});
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);

  test('nothing without a login; back to where one wanted to go; out again', async () => {
    await askForStatus(page);
    await page.goto(`${rig.base}/camera/dock`);
    await page.waitForURL('**/login?next=**');
    await logIn('ann', 'wrong');
    await page.waitForSelector('[role=alert]:not(:empty)');
    await logIn('ann', password);
    await page.waitForURL('**/camera/dock');
    await expectMoving(page, 'dock');
    await page.waitForSelector('.actions select'); // hidden until the status says that the camera runs
    await page.focus('.actions select');
    const moves = [];
    page.on('request', (request) => request.method() === 'POST' && moves.push(request.url()));
    await page.keyboard.press('ArrowDown');
    await page.waitForResponse('**/api/v1/status');
    await page.waitForResponse('**/api/v1/status');
    assert.equal(await page.inputValue('.actions select'), '1', 'what is chosen stays');
    assert.deepEqual(moves, [], 'nothing moves before the button is pressed');
    await moveTo('1');
    await moveTo('0');
    await page.goto(`${rig.base}/camera/parts`);
    await page.selectOption('label:has-text("Part on worker 0 to") select', '1');
    await page.click('.move:has-text("Part on worker 0 to") button');
    await eventually('both parts are on worker 1', async () => {
      const labels = await page.$$eval('.actions label', (found) => found.map((label) => label.firstChild.textContent));
      return labels.join() === 'Part on worker 1 to ';
    });
    assert.equal(await page.textContent('.head .error'), '');
    await page.click('#logout');
    await page.waitForURL(`${rig.base}/login`); // a refused request may have led to one with `next` before
    await page.goto(rig.base);
    await page.waitForURL('**/login**');
  });

  test('a login in another tab holds for this one', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    await logIn('ann', password);
    await page.waitForSelector('text=Switch off');
    await logInElsewhere('ann', password);
    await page.click('text=Switch off');
    await page.click('dialog[open] button[value=yes]');
    await page.click('text=Switch on');
    await expectMoving(page, 'dock');
    assert.equal(await page.textContent('.head .error'), '');
    await setHidden(true);
    await logInElsewhere('bob', password);
    await setHidden(false);
    await page.waitForSelector('#logout:text-is("Log out bob")');
    await expectMoving(page, 'dock');
    assert.equal(await page.isVisible('text=Switch off'), false);
    await page.route('**/api/v1/logout', (route) => route.abort());
    await page.click('#logout');
    await page.waitForSelector('#trouble:has-text("You are still logged in: campipe does not answer.")');
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.click('#logout');
    await page.waitForURL('**/login');
  });

  test('a login in another tab takes along the one that waits for it', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    const opened = page.waitForEvent('popup');
    await page.evaluate(() => void window.open('/login?next=/system'));
    const other = await opened;
    await other.fill('[name=user]', 'ann');
    await other.fill('[name=password]', password);
    await other.click('button[type=submit]');
    await other.waitForURL('**/system');
    await page.waitForURL('**/camera/dock');
    await expectMoving(page, 'dock');
    await other.close();
    await page.context().clearCookies();
  });

  test('a page whose session has ended says so', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    await logIn('ann', password);
    await expectMoving(page, 'dock');
    await page.context().clearCookies();
    await page.waitForURL('**/login?next=**');
    await page.waitForSelector('[role=alert]:text-is("Your session has ended. Log in again.")');
  });

  test('who may only look is offered nothing else', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    await logIn('bob', password);
    await expectMoving(page, 'dock');
    await eventually('facts', async () => /320/.test(await page.textContent('.facts')));
    for (const text of ['Switch off', 'Stop recording', 'Worker', 'Recordings'])
      assert.equal(await page.isVisible(`text=${text}`), false, text);
    await page.keyboard.press('r');
    assert.equal(new URL(page.url()).pathname, '/camera/dock');
    await page.keyboard.press('s');
    await page.waitForURL('**/system');
  });
});
