#!/usr/bin/env node
// Assembles the demo page:
//   site.js --wick WICK --package DIR --plain DIR --fused DIR --garment FILE [--digit FILE] [--read DIR] -o OUT
// --package is the npm package, --plain and --fused are builds with lenet.wasm, --garment and --digit .wick files of
// LeNet, --read a folder with PP-OCRv4's model.onnx and ppocr_keys_v1.txt. WICK answers the images beside the page.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {copyFile, cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

import {readNpy} from './demo/npy.js';
import {bundle} from './bundle.js';
import {brotli} from './package.js';

const here = dirname(fileURLToPath(import.meta.url));
const text = {type: 'string'};
const {values: given} = parseArgs({options: {wick: text, package: text, plain: text, fused: text, garment: text, digit: text, read: text, out: {...text, short: 'o'}}});
const lacking = ['wick', 'package', 'plain', 'fused', 'garment', 'out'].filter(name => !given[name]);
if (lacking.length) {
  console.error(`site.js needs --${lacking.join(', --')}`);
  process.exit(2);
}
const out = resolve(given.out), wick = (...words) => execFileSync(given.wick, words, {encoding: 'utf8'});

/** A LeNet, a hundred test images, and the answers that this machine gives to them: the trainer's, to the bit. */
async function lenet(id, file, data, facts) {
  const models = join(out, 'models'), scratch = await mkdtemp(join(tmpdir(), 'wick-site-'));
  await copyFile(file, join(models, `${id}.wick`));
  wick('data', data, '--count', '100', '-o', join(models, `${id}-images.npy`));
  wick('run', file, '--input', join(models, `${id}-images.npy`), '-o', scratch);
  await copyFile(join(scratch, 'logits.npy'), join(models, `${id}-answers.npy`));
  await rm(scratch, {recursive: true});
  const {data: images} = readNpy(new Uint8Array(await readFile(join(models, `${id}-images.npy`))));
  return {
    id, ...facts, file: `models/${id}.wick`, images: `models/${id}-images.npy`, answers: `models/${id}-answers.npy`,
    first: Buffer.from(images.slice(0, 784)).toString('base64'),
  };
}

await rm(out, {recursive: true, force: true});
await mkdir(join(out, 'models'), {recursive: true});
await cp(join(here, 'demo'), out, {recursive: true, filter: path => !/(page|pad|npy)\.js$/.test(path)});
await cp(given.package, join(out, 'wick'), {recursive: true, filter: path => !/\.(br|md|d\.ts)$|LICENSE$|package\.json$/.test(path)});
// Beside the worker, which it finds by its own address.
await writeFile(join(out, 'wick/page.js'), await bundle(join(here, 'demo/page.js')));
await copyFile(join(given.plain, 'lenet.wasm'), join(out, 'lenet.wasm'));
await copyFile(join(given.fused, 'lenet.wasm'), join(out, 'lenet-fma.wasm'));
const lenets = [await lenet('garment', given.garment, 'fashion-mnist', {title: 'Garment', says: 'It looks like:', digit: false})];
if (given.digit) lenets.push(await lenet('digit', given.digit, 'mnist', {title: 'Digit', says: 'It looks like a', digit: true}));
let reader;
if (given.read) {
  wick('convert', join(given.read, 'model.onnx'), '-o', join(out, 'models/read.wick'));
  await copyFile(join(given.read, 'ppocr_keys_v1.txt'), join(out, 'models/read-keys.txt'));
  reader = {file: 'models/read.wick', keys: 'models/read-keys.txt'};
}
await writeFile(join(out, 'models.json'), JSON.stringify({lenets, reader}));

// What the page keeps for when there is no network: all but the reader and its engine, which come when they are used, and
// the module, of which the page chooses one.
const files = (await readdir(out, {recursive: true, withFileTypes: true})).filter(f => f.isFile())
  .map(f => join(f.parentPath ?? f.path, f.name).slice(out.length + 1)).filter(f => !/^models\/read|^wick\/(?!page)|^sw\.js$|\.wasm$/.test(f)).sort();
await writeFile(join(out, 'files.json'), JSON.stringify({files: ['./', ...files]}));
const digest = createHash('sha256');
for (const file of files) digest.update(await readFile(join(out, file)));
const worker = join(out, 'sw.js');
await writeFile(worker, (await readFile(worker, 'utf8')).replace('@VERSION@', digest.digest('hex').slice(0, 12)));
await brotli(out);
