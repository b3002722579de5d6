// Who may see the pages, and what of them; and how a login and its end are shown.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {anotherStatus, askForStatus, browseRig, expectMoving} from './browser.mjs';
import {Rig, eventually, suiteTime} from './rig.mjs';

describe('login', {timeout: suiteTime}, () => {
  const pattern = 'test://pattern?width=320&height=240&rate=15';
  const cameras = `  dock: {source: "${pattern}", record: {path: "recordings/{camera}/%Y-%m-%d_%H-%M-%S.mp4"}}
  parts: {source: "${pattern}", filters: [sharpen], placement: {filter: [cpu:0], encode: cpu:1}}
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
      const defaults = 'workers: {count: 2}\ndefaults:\n  encode: {bitrate: 500k, gop: 1s}\n';
      return Rig.start({more: `${defaults}users:\n${users}`, cameras});
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
    await anotherStatus(page);
    const shown = await page.$$eval('.actions label', (labels) =>
      labels.map((label) => label.firstChild.textContent + label.querySelector('select').value),
    );
    assert.deepEqual(shown, [`Worker ${worker}`]);
    assert.equal(await page.textContent('.head .error'), '');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Move', 'the focus stays');
    await expectMoving(page, 'dock');
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
    const here = await page.inputValue('.actions select');
    const there = here === '0' ? '1' : '0';
    await page.keyboard.press(here === '0' ? 'ArrowDown' : 'ArrowUp');
    await anotherStatus(page);
    assert.equal(await page.inputValue('.actions select'), there, 'what is chosen stays');
    assert.deepEqual(moves, [], 'nothing moves before the button is pressed');
    await moveTo(there);
    await moveTo(here);
    await page.goto(`${rig.base}/camera/parts`);
    await page.selectOption('label:has-text("Part on worker 0 to") select', '1');
    await page.click('.move:has-text("Part on worker 0 to") button');
    await eventually('both parts are on worker 1', async () => {
      const labels = await page.$$eval('.actions label', (found) => found.map((label) => label.firstChild.textContent));
      return labels.join() === 'Part on worker 1 to ';
    });
    assert.equal(await page.textContent('.head .error'), '');
    await page.click('#logout');
    await page.waitForURL(`${rig.base}/login`);
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
    const reloaded = page.waitForEvent('load');
    await setHidden(false);
    await reloaded;
    await page.waitForSelector('#logout:text-is("Log out bob")');
    await page.waitForSelector('.facts >> text=Live');
    assert.equal(await page.isVisible('text=Switch off'), false);
    await expectMoving(page, 'dock');
    await page.route('**/api/v1/logout', (route) => route.abort());
    await page.click('#logout');
    await page.waitForSelector('#trouble:has-text("You are still logged in: campipe does not answer.")');
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.click('#logout');
    await page.waitForURL('**/login');
  });

  test('a login in another tab takes along the one that waits for it', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    await page.waitForSelector('form'); // from then on it listens
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
  });

  test('whoever logs out is not told that the session has ended', async () => {
    await page.goto(`${rig.base}/login?next=/camera/dock`);
    await logIn('ann', password);
    await page.waitForSelector('.facts >> text=Live');
    // The page learns of the end of its session before its own request is answered.
    await page.route('**/api/v1/logout', async (route) => {
      const refusal = page.waitForResponse((answer) => answer.status() === 401);
      const answer = await route.fetch();
      await (await refusal).finished();
      await route.fulfill({response: answer});
    });
    const visited = [];
    page.on('framenavigated', (frame) => visited.push(frame.url().replace(rig.base, '')));
    await page.click('#logout');
    await page.waitForURL('**/login');
    assert.deepEqual(visited, ['/login']);
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
      assert.equal(await page.locator(`:is(nav, .actions) :is(a, button, label):visible:has-text("${text}")`).count(), 0, text);
    const visited = [];
    page.on('framenavigated', (frame) => visited.push(new URL(frame.url()).pathname));
    await page.keyboard.press('r');
    await page.keyboard.press('s');
    await page.waitForURL('**/system');
    assert.deepEqual(visited, ['/system']);
  });
});
