#!/usr/bin/env node
// Assembles the npm package: package.js VERSION PLAIN FUSED OUT, where PLAIN and FUSED are builds of this folder by
// targets/wasm32 and targets/wasm32_fma. Each file that is served gets its .br beside it with --brotli.
import {copyFile, mkdir, readFile, readdir, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {constants, brotliCompressSync} from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));

export async function brotli(folder) {
  for (const name of await readdir(folder, {recursive: true})) {
    if (!/\.(js|css|html|json|wasm|txt)$/.test(name)) continue;
    const bytes = await readFile(join(folder, name));
    await writeFile(join(folder, `${name}.br`), brotliCompressSync(bytes, {params: {
      [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    }}));
  }
}

async function main([version, plain, fused, out]) {
  if (!out) {
    console.error('usage: package.js VERSION PLAIN FUSED OUT');
    process.exit(2);
  }
  await rm(out, {recursive: true, force: true});
  await mkdir(out, {recursive: true});
  for (const name of await readdir(join(here, 'src'))) await copyFile(join(here, 'src', name), join(out, name));
  await copyFile(join(plain, 'wick.wasm'), join(out, 'wick.wasm'));
  await copyFile(join(fused, 'wick.wasm'), join(out, 'wick-fma.wasm'));
  await copyFile(join(here, '../LICENSE'), join(out, 'LICENSE'));
  await copyFile(join(here, 'README.md'), join(out, 'README.md'));
  const facts = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
  await writeFile(join(out, 'package.json'), `${JSON.stringify({...facts, version, private: undefined}, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
