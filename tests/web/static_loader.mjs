// Lets node import the page's modules as the page does: "/static/x.js" is app/publisher/server/page/x.js.
import {register} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const folder = pathToFileURL(path.resolve(import.meta.dirname, '../../app/publisher/server/page') + path.sep).href;
const hooks = `export async function resolve(name, context, next) {
  const url = name.startsWith('/static/') ? ${JSON.stringify(folder)} + name.slice('/static/'.length)
    : name.startsWith('./') && context.parentURL?.startsWith(${JSON.stringify(folder)}) ? new URL(name, context.parentURL).href
    : '';
  return url ? {url, format: 'module', shortCircuit: true} : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
