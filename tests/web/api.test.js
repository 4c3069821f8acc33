// The package in Node: every dtype through a model and back, and the answers of this machine's own runtime. Needs a built
// package (WICK_WEB, tools/scripts/web.sh) and the tool that makes models (WICK_TOOL).
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {after, describe, test} from 'node:test';
import {pathToFileURL} from 'node:url';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';

import {readNpy} from '../../web/demo/npy.js';
import {serve} from '../../web/serve.js';
import {DTYPES, arrayLength, dtypeName} from '../../web/src/tensor.js';
import {onnx} from './onnx.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
setFlagsFromString('--experimental-wasm-relaxed-simd');  // behind a flag in Node 20
const {WICK_WEB: built, WICK_TOOL: tool, WICK_LENET: lenet} = process.env;
const {CODES, load, open, probe} = await import(pathToFileURL(join(built, 'index.js')));
const folder = mkdtempSync(join(tmpdir(), 'wick-api-'));
after(() => rmSync(folder, {recursive: true}));
const wick = (...words) => execFileSync(tool, words, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
const rejects = (f, code, message) => assert.rejects(f, error => error.name === 'WickError' && error.code === code && message.test(error.message));

let count = 0;
/** Returns a file that `wick convert` made of an ONNX model of one node. */
function converted(model) {
  const name = join(folder, `${++count}`);
  writeFileSync(`${name}.onnx`, onnx(model));
  wick('convert', `${name}.onnx`, '-o', `${name}.wick`);
  return `${name}.wick`;
}
const identity = (elem, {kind = 'tensor', dims = ['n']} = {}) => converted({op: 'Identity', inputs: [{name: 'x', kind, elem, dims}], output: {name: 'y', kind, elem, dims}});

const images = new Uint8Array(5 * 784).map((_, i) => i * 73 + (i >> 5) * 11 & 255);
/** Returns the answers of this machine's own runtime to the images. */
function here(model) {
  const head = "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 1, 28, 28), }".padEnd(117) + '\n';
  writeFileSync(join(folder, 'images.npy'), Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(head), images]));
  wick('run', model, '--input', join(folder, 'images.npy'), '-o', folder);
  return readNpy(new Uint8Array(readFileSync(join(folder, 'logits.npy')))).data;
}
/** A small GPT with a KV cache, which an example of the documentation writes where it runs. */
const writer = join(process.env.WICK_BUILD ?? 'build/release', 'tests/docs/docs_kv_cache_example');
const decoder = existsSync(writer) ? join(folder, 'gpt.wick') : null;
if (decoder) execFileSync(resolve(writer), [], {cwd: folder, stdio: 'pipe'});
const lacking = lenet && existsSync(lenet) ? false : 'no lenet.wick';

const engines = [['plain', {wasm: join(built, 'wick.wasm')}], ['in a worker', {worker: true}]];
if (probe().fused) engines.push(['fused', {wasmFused: join(built, 'wick-fma.wasm')}]);

for (const [name, options] of engines) {
  describe(`an engine, ${name}`, async () => {
    const engine = await open(options);
    after(() => engine.close());

    test('says what it is', () => {
      assert.match(engine.version, /^\d+\.\d+\.\d+$/);
      assert.equal(engine.numerics.fused, name !== 'plain' && probe().fused);
      assert.equal(engine.worker, name === 'in a worker');
    });

    for (const type of DTYPES.values()) {
      if (type.name.endsWith('nt2')) continue;  // ONNX has them from opset 25 on
      test(`${type.name} there and back`, async () => {
        const model = await engine.load(identity(type.code));
        assert.deepEqual(model.inputs, [{name: 'x', dtype: type.name, dims: ['n']}]);
        if (type.name === 'string') {
          const texts = ['', 'a', 'Grüße', '日本語', 'x'.repeat(1000)];
          const {y} = await model.run({x: texts});
          assert.deepEqual(y, {dtype: 'string', dims: [5], data: texts});
          await rejects(() => model.run({x: [1]}), 'type mismatch', /input x is string, and element 0 is a Number/);
        } else {
          const data = new type.array(arrayLength(type, 6));
          new Uint8Array(data.buffer).forEach((_, i, all) => { all[i] = type.name === 'bool' ? i % 2 : 37 * i + 11 & 127; });
          const {y} = await model.run({x: data});
          assert.deepEqual(y, {dtype: type.name, dims: [6], data});
        }
        await model.dispose();
      });
    }

    for (const [kind, values] of [
      ['sequence', [[], [[1, 2], [3]]]], ['optional', [null, [4, 5]]], ['optional_sequence', [null, [], [[6], [7, 8]]]],
    ]) {
      test(`${kind} there and back`, async () => {
        const model = await engine.load(identity(1, {kind}));
        assert.deepEqual(model.inputs, [{name: 'x', dtype: kind, dims: model.inputs[0].dims, element: 'float32'}]);
        const made = v => ({data: Float32Array.from(v), dims: [v.length]});
        for (const value of values) {
          const given = value === null ? null : kind === 'optional' ? made(value) : value.map(made);
          const {y} = await model.run({x: given});
          const wanted = given === null ? null : kind === 'optional' ? {dtype: 'float32', ...given} : given.map(v => ({dtype: 'float32', ...v}));
          assert.deepEqual(y, wanted);
        }
        await model.dispose();
      });
    }

    test('errors name what is wrong', async () => {
      const model = await engine.load(identity(1, {dims: ['n', 3]}));
      await rejects(() => model.run({z: new Float32Array(3)}), 'not found', /no input "z".* x/);
      await rejects(() => model.run({}), 'invalid argument', /input x is missing/);
      await rejects(() => model.run({x: new Int32Array(3)}), 'type mismatch', /input x is float32/);
      await rejects(() => model.run({x: {data: new Float32Array(8), dims: [2, 4]}}), 'shape mismatch', /3/);
      await rejects(() => model.run({x: new Float32Array(3)}, {outputs: ['w']}), 'not found', /no output "w"/);
      await rejects(async () => model.run({x: new Float32Array(3)}, {outputs: 'y'}), 'invalid argument', /outputs is a String/);
      assert.deepEqual((await model.run(new Float32Array(3))).y.dims, [1, 3], 'and the model still runs');
      await model.dispose();
      await rejects(async () => model.run({x: new Float32Array(3)}), 'invalid argument', /disposed of/);
      await rejects(async () => model.metadata('key'), 'invalid argument', /disposed of/);
    });

    test('files that are none are refused', async () => {
      await rejects(() => engine.load(new Uint8Array(100)), 'invalid program', /./);
      const bytes = new Uint8Array(readFileSync(identity(1)));
      await rejects(() => engine.load(bytes.slice(0, bytes.length - 70)), 'invalid program', /./);
      await rejects(() => engine.load(join(built, 'index.js')), 'invalid program', /index\.js: not a \.wick file/);
      writeFileSync(join(folder, 'start.wick'), '<!doctype html><title>The start page</title>');
      await rejects(() => engine.load(join(folder, 'start.wick')), 'invalid program', /start\.wick is a page of HTML/);
      await rejects(() => engine.load(bytes, {entry: 'nothing'}), 'not found', /nothing/);
      await rejects(() => engine.load(bytes, {dims: {m: 3}}), 'not found', /m/);
      await rejects(() => engine.load(bytes, {maxMemory: 1}), 'budget exceeded', /./);
      await rejects(() => engine.load(join(folder, 'none.wick')), 'not found', /none\.wick/);
      await (await engine.load(bytes, {dims: {n: 3}})).dispose();
    });

    test('memory is freed, and grows', async () => {
      const big = new Float32Array(1 << 22).fill(2);
      const file = identity(1);
      for (let i = 0; i < 20; ++i) {
        const model = await engine.load(file);
        const {y} = await model.run(big);
        assert.equal(y.data[big.length - 1], 2);
        await model.dispose();
      }
    });

    test('a text token by token, in states', {skip: decoder ? false : 'no program with states'}, async () => {
      const prefill = await engine.load(decoder, {entry: 'prefill'}), decode = await prefill.entry('decode');
      const tokens = list => ({data: list, dims: [1, list.length]});
      const [text, other] = [await prefill.state(), await prefill.state()];
      await rejects(async () => prefill.run(tokens([1])), 'invalid argument', /keeps state.*\{state: await model\.state\(\)\}/);
      await prefill.run(tokens([1, 2, 3]), {state: text});
      await prefill.run(tokens([9]), {state: other});
      await rejects(async () => decode.run(tokens([64]), {state: text}), 'invalid argument', /./);  // and leaves it as it was
      await decode.run(tokens([5]), {state: text});
      const {logits: last} = await decode.run(tokens([7]), {state: text});
      await text.reset();
      const {logits: all} = await prefill.run(tokens([1, 2, 3, 5, 7]), {state: text});
      assert.deepEqual(all.data.slice(4 * 64), last.data, 'the bits of the whole text');
      await prefill.dispose();
      await decode.run(tokens([1]), {state: text});  // what it shares with a model that is gone stays
      await text.dispose();
      await rejects(async () => decode.run(tokens([1]), {state: text}), 'invalid argument', /state was disposed of/);
      await rejects(async () => decode.run(tokens([1]), {state: {}}), 'invalid argument', /state is an Object/);
      await rejects(async () => decode.state({dims: {n: 1}}), 'not found', /n/);
      const elsewhere = await open(options), foreign = await (await elsewhere.load(decoder)).state();
      await rejects(async () => decode.run(tokens([1]), {state: foreign}), 'invalid argument', /another engine/);
      elsewhere.close();
      await other.dispose();
      await decode.dispose();
    });

    test('a model that nobody has any more is freed with it', async () => {
      const big = new Float32Array(1 << 22).fill(2), file = identity(1);
      const before = process.memoryUsage().rss;
      for (let i = 0; i < 30; ++i) {
        await (async () => (await engine.load(file)).run(big))();  // 16 MiB in the engine
        for (let k = 0; k < 3; ++k) {
          collect();
          await new Promise(done => setTimeout(done, 1));
        }
      }
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < 200e6, `${grown} bytes more`);
    });

    test('LeNet: the bits of this machine, or close', {skip: lacking}, async () => {
      const wanted = here(lenet);
      const seen = [];
      const model = await engine.load(lenet, {onProgress: p => seen.push(p)});
      assert.match(model.sha256, /^[0-9a-f]{64}$/);
      assert.equal(await model.metadata('no such key'), null);
      const {logits} = await model.run(images);
      if (model.numerics.fused) assert.deepEqual(new Uint32Array(logits.data.buffer), new Uint32Array(wanted.buffer));
      const largest = Math.max(...wanted.map(Math.abs));
      logits.data.forEach((v, i) => assert.ok(Math.abs(v - wanted[i]) <= 1e-5 * largest));
      await rejects(() => model.run(images, {timeout: 1e-6}), 'deadline', /./);
      assert.deepEqual((await model.run(images.slice(0, 784))).logits.data, logits.data.slice(0, 10), 'a row alone, and after a deadline');
      await model.dispose();
    });

    test('LeNet of integers: the bits of this machine', {skip: lacking}, async () => {
      const file = join(folder, 'lenet8.wick');
      if (!existsSync(file)) wick('quantize', lenet.replace(/wick$/, 'onnx'), '--calib', 'sample', '--no-verify', '--quiet', '-o', file);
      const model = await engine.load(file);
      const {logits} = await model.run(images);
      assert.deepEqual(new Uint32Array(logits.data.buffer), new Uint32Array(here(file).buffer));
      await model.dispose();
    });
  });
}

test('a file by HTTP, with progress', async t => {
  const server = await serve([built, folder]);
  t.after(server.close);
  const file = identity(1);
  const seen = [];
  const engine = await open({wasm: `${server.url}/wick.wasm`, onProgress: p => seen.push(p)});
  const model = await engine.load(`${server.url}/${file.split('/').pop()}`, {onProgress: p => seen.push(p)});
  assert.deepEqual((await model.run([1, 2])).y.data, Float32Array.of(1, 2));
  assert.ok(seen.some(p => p.what === 'engine' && p.loaded === p.total) && seen.some(p => p.what === 'model' && p.loaded === p.total));
});

test('a model without inputs is run without any', async () => {
  const model = await load(converted({op: 'Constant', inputs: [], output: {name: 'y', kind: 'tensor', elem: 7, dims: []}, attributes: {value_int: 5}}));
  assert.deepEqual((await model.run()).y.data, BigInt64Array.of(5n));
});

test('a closed engine loads nothing', async () => {
  for (const worker of [false, true]) {
    const engine = await open({worker});
    engine.close();
    await rejects(() => engine.load(identity(1)), 'invalid argument', /closed/);
  }
});

test('load() shares an engine', async () => {
  const file = identity(6);
  const [a, b] = [await load(file), await load(file)];
  assert.deepEqual(a.runSync([1, 2]), b.runSync(Int32Array.of(1, 2)));
  const there = await load(file, {worker: true});
  const moved = Int32Array.of(3, 4);
  assert.deepEqual((await there.run(moved, {transfer: true})).y.data, Int32Array.of(3, 4));
  assert.equal(moved.length, 0, 'it was moved');
});

test('every code of wick.h has its name', async () => {
  const header = readFileSync(new URL('../../runtime/include/wick/wick.h', import.meta.url), 'utf8');
  const codes = [...header.matchAll(/^  WICK_(\w+) = (\d+),?\s/gm)].filter(([, name]) => /^(OK|[A-Z_]+)$/.test(name)).slice(0, CODES.length);
  assert.equal(codes.length, CODES.length);
  for (const [, name, value] of codes) assert.equal(CODES[value], name.toLowerCase().replaceAll('_', ' ').replace(/^ok$/, 'ok'));
  assert.equal(dtypeName(1), 'float32');
});
