// The options of benches that run campipe and Chromium; they are told to tests/web/rig.mjs and browser.mjs, which read
// them while they are imported: import those afterwards.
import path from 'node:path';
import {parseArgs} from 'node:util';
import {modulesFolder} from '../web/modules_folder.mjs';

const release = path.join(import.meta.dirname, '../../build/release');

// `own`: {name: default} of one bench. Returns all values as texts.
export function readOptions(own) {
  const defaults = {
    ...own,
    browser: '/usr/bin/chromium',
    program: path.join(release, 'app/campipe'),
    modules: path.join(release, 'tests/web'),
  };
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, {type: 'string', default: value}]),
  );
  const {values} = parseArgs({options});
  process.env.CAMPIPE_PROGRAM = path.resolve(values.program);
  process.env.CAMPIPE_TEST_CHROMIUM = values.browser;
  process.env.CAMPIPE_TEST_MODULES = modulesFolder(values.modules);
  return values;
}
