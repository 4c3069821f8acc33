// ONNX's node tests (Debian's libonnx-testdata) as .wick files, here and in both modules: wick-fma.wasm has this machine's
// bits wherever the engine fuses, wick.wasm stays close to them. Tests of strings, sequences and optionals are left out
// (api.test.js has these).
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {pathToFileURL} from 'node:url';
import {setFlagsFromString} from 'node:v8';

import {dtypeOf, toFloat32} from '../../web/src/tensor.js';
import {readTensor} from './onnx.js';

setFlagsFromString('--experimental-wasm-relaxed-simd');  // behind a flag in Node 20
const {WICK_WEB: built, WICK_TOOL: tool, WICK_NODE_TESTS: data} = process.env;
const {open} = await import(pathToFileURL(join(built, 'index.js')));
const folder = mkdtempSync(join(tmpdir(), 'wick-nodes-'));
after(() => rmSync(folder, {recursive: true}));
const wick = (...words) => execFileSync(tool, words, {stdio: 'ignore'});
const plain = await open({wasm: join(built, 'wick.wasm')}), fused = await open({wasmFused: join(built, 'wick-fma.wasm')});

/** Returns the elements of NumPy's file as they are stored. */
function stored(path) {
  const file = readFileSync(path);
  return new Uint8Array(file.subarray(file[6] === 1 ? 10 + file.readUInt16LE(8) : 12 + file.readUInt32LE(8)));
}
/** All NaNs count as one. */
function same(tensor, wanted) {
  const got = new Uint8Array(tensor.data.buffer);
  if (got.length !== wanted.length) return false;
  if (tensor.dtype !== 'float32') return got.every((byte, i) => byte === wanted[i]);
  const numbers = new Float32Array(wanted.buffer), bits = new Uint32Array(wanted.buffer), ours = new Uint32Array(got.buffer);
  return ours.every((b, i) => b === bits[i] || (Number.isNaN(numbers[i]) && Number.isNaN(tensor.data[i])));
}
function close(tensor, wanted) {
  if (!/^float(32|64)$/.test(tensor.dtype)) return same(tensor, wanted);
  const numbers = new tensor.data.constructor(wanted.buffer);
  const largest = numbers.reduce((most, v) => Number.isFinite(v) ? Math.max(most, Math.abs(v)) : most, 1);
  return tensor.data.every((v, i) => Object.is(v, numbers[i]) || v === numbers[i] || Math.abs(v - numbers[i]) <= 1e-5 * largest);
}

for (const name of readdirSync(data).sort()) {
  test(name, async t => {
    const set = join(data, name, 'test_data_set_0'), file = join(folder, 'model.wick'), out = join(folder, 'out');
    const files = readdirSync(set).filter(f => f.startsWith('input_')).sort((a, b) => parseInt(a.slice(6)) - parseInt(b.slice(6)));
    rmSync(out, {recursive: true, force: true});
    const tensors = files.map(f => readTensor(readFileSync(join(set, f)), dtypeOf));
    if (tensors.includes(null)) return t.skip('not of numbers');
    try {
      wick('convert', join(data, name, 'model.onnx'), '-o', file);
    } catch {
      return t.skip('not read');
    }
    const models = [await plain.load(file), await fused.load(file)];
    if (models[0].inputs.length !== files.length || models[0].inputs.some(p => p.element)) return t.skip('not of numbers');
    try {
      wick('run', file, ...models[0].inputs.flatMap((port, i) => ['--input', `${port.name}=${join(set, files[i])}`]), '-o', out);
    } catch {
      return t.skip('not written as NumPy has it');
    }
    const values = Object.fromEntries(models[0].inputs.map((port, i) => [port.name, tensors[i]]));
    const [near, exact] = models.map(model => model.runSync(values));
    // NumPy's files have no bfloat16: the tool writes float32.
    const asWritten = tensor => tensor.dtype === 'bfloat16' ? {dtype: 'float32', data: toFloat32(tensor)} : tensor;
    for (const {name: output} of models[0].outputs) {
      if (!existsSync(join(out, `${output}.npy`))) return t.skip('not written as NumPy has it');
      const wanted = stored(join(out, `${output}.npy`));
      const [a, b] = [near[output], exact[output]].map(asWritten);
      assert.ok(close(a, wanted), `${output} of wick.wasm`);
      assert.ok(fused.numerics.fused ? same(b, wanted) : close(b, wanted), `${output} of wick-fma.wasm`);
    }
    for (const model of models) model.dispose();
  });
}
