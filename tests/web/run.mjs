// node run.mjs PROGRAM FOLDER TEST...: runs these *.test.mjs with that campipe. FOLDER is for what npm fetches, and stays.
// Leaves with 77, which ctest shows as skipped, where there is no browser, or no network to fetch what package.json names.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {modulesFolder, names} from './modules_folder.mjs';

const here = import.meta.dirname;
const [program, folder, ...tests] = process.argv.slice(2);
const skipped = 77;

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(skipped);
}

const browsers = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const browser = browsers.find((file) => file && fs.existsSync(file));
if (!browser) skip('there is no Chromium; CHROMIUM names one');

const modules = modulesFolder(folder);
if (!fs.existsSync(modules)) {
  // Tests that begin together each fetch it; the first to be done puts it there.
  fs.mkdirSync(folder, {recursive: true});
  const own = fs.mkdtempSync(path.join(folder, 'fetched-'));
  fs.copyFileSync(path.join(here, 'package.json'), path.join(own, 'package.json'));
  const npm = spawnSync('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: own,
    stdio: 'inherit',
    timeout: 120000,
  });
  if (npm.status === 0 && !fs.existsSync(modules)) {
    try {
      fs.renameSync(own, modules);
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY'].includes(error.code)) throw error;
    }
  }
  fs.rmSync(own, {recursive: true, force: true});
  if (!fs.existsSync(modules)) skip(`npm cannot fetch ${names.join(' and ')}`);
}

const options = ['--test', '--test-concurrency=1', '--test-reporter=spec'];
const only = process.env.WEB_TEST_ONLY ? [`--test-name-pattern=${process.env.WEB_TEST_ONLY}`] : [];
const run = spawnSync(process.execPath, [...options, ...only, ...tests], {
  stdio: 'inherit',
  env: {
    ...process.env,
    CAMPIPE_PROGRAM: path.resolve(program),
    CAMPIPE_TEST_CHROMIUM: browser,
    CAMPIPE_TEST_MODULES: modules,
  },
});
process.exit(run.status ?? 1);
