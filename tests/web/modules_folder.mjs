// Where what package.json names lies, below the folder that is for what npm fetches.
import fs from 'node:fs';
import path from 'node:path';

const {dependencies} = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'package.json')));

export const names = Object.entries(dependencies).map(([name, version]) => `${name}-${version}`);
export const modulesFolder = (folder) => path.resolve(folder, names.join('_'));
