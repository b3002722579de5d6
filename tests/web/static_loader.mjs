// Lets node import the page's modules as the page does: "/static/x.js" is app/publisher/server/page/x.js.
import {register} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const folder = pathToFileURL(path.resolve(import.meta.dirname, '../../app/publisher/server/page') + path.sep).href;
const hooks = `export async function resolve(name, context, next) {
  if (!name.startsWith('/static/')) return next(name, context);
  return {url: ${JSON.stringify(folder)} + name.slice('/static/'.length), format: 'module', shortCircuit: true};
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
