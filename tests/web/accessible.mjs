// axe-core's rules for accessibility, on a phone and on a desk, in both themes.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';

const axe = createRequire(`${process.env.CAMPIPE_TEST_MODULES}/`).resolve('axe-core/axe.min.js');

async function problems(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.addScriptTag({path: axe});
  return page.evaluate(async () => {
    // Two frames: the first lays out, and what watches sizes takes part in the second.
    for (let i = 0; i < 2; ++i) await new Promise(requestAnimationFrame);
    const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(transitions.map(({finished}) => finished));
    const options = {rules: {'label-content-name-mismatch': {enabled: true}}};
    const {violations} = await window.axe.run(document, options);
    return violations.map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 200)).join('\n')}`);
  });
}

// `page`: of a browser with `bypassCSP`.
export async function expectAccessible(page, what) {
  for (const width of [390, 1280]) {
    await page.setViewportSize({width, height: 800});
    for (const theme of ['dark', 'light']) {
      await page.evaluate((wanted) => {
        document.documentElement.dataset.theme = wanted;
      }, theme);
      assert.deepEqual(await problems(page), [], `${what}, ${width} px, ${theme}`);
    }
  }
}
