// One file of an ES module and all that it imports by relative paths: fewer requests, and smaller when compressed. It
// knows the forms of import and export that this folder has, and asks for names that differ in all files.
import {readFile} from 'node:fs/promises';
import {dirname, resolve} from 'node:path';

const IMPORT = /^(?:import|export) \{[^}]*\} from '(\.[^']+)';$/gm;
const DECLARED = /^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)/gm;

async function collect(file, done, order) {
  if (done.has(file)) return;
  done.add(file);
  const text = await readFile(file, 'utf8');
  for (const [, path] of text.matchAll(IMPORT)) await collect(resolve(dirname(file), path), done, order);
  order.push({file, text});
}

/** Returns the text of the module `entry` with what it imports before it, without comments and indents. */
export async function bundle(entry) {
  const order = [], names = new Map();
  await collect(resolve(entry), new Set(), order);
  for (const {file, text} of order) {
    for (const [, name] of text.matchAll(DECLARED)) {
      if (names.has(name)) throw new Error(`${file} and ${names.get(name)} both declare ${name}`);
      names.set(name, file);
    }
  }
  const plain = text => text.replace(IMPORT, '').replace(/^export \{[^}]*\};$/gm, '').replace(/^export /gm, '')
    .replace(/^\s*\/\*\*[^]*?\*\/$/gm, '').replace(/^\s*\/\/.*$/gm, '').replace(/  \/\/ [^'"`\n]*$/gm, '').replace(/^[ \t]+/gm, '').replace(/\n+/g, '\n');
  return order.map(({text}) => plain(text)).join('');
}
