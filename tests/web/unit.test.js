// What of web/ needs no wick.wasm: the probe, tensors, the server, the bundle.
import assert from 'node:assert/strict';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {setFlagsFromString} from 'node:v8';
import {receiveMessageOnPort} from 'node:worker_threads';

import {bundle} from '../../web/bundle.js';
import {readNpy} from '../../web/demo/npy.js';
import {serve} from '../../web/serve.js';
import {Engine} from '../../web/src/engine.js';
import {WickError} from '../../web/src/errors.js';
import {bytesOf, moduleOf} from '../../web/src/fetch.js';
import {open} from '../../web/src/index.js';
import {Model} from '../../web/src/model.js';
import {Line} from '../../web/src/remote.js';
import {DTYPES, arrayLength, buffersOf, fromFloat32, tensorOf, toFloat32} from '../../web/src/tensor.js';

const fails = (f, code, message) => assert.throws(f, error => error instanceof WickError && error.code === code && message.test(error.message));
const rejects = (f, code, message) => assert.rejects(f, error => error instanceof WickError && error.code === code && message.test(error.message));

test('the probe tells fused from unfused', async () => {
  setFlagsFromString('--no-experimental-wasm-relaxed-simd');
  const without = await import('../../web/src/probe.js?without');
  // (v128, v128, v128) -> v128: f32x4.relaxed_madd, which Node 20 has behind a flag, and newer versions without one.
  const relaxed = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 133, 2, 11);
  if (!WebAssembly.validate(relaxed)) assert.deepEqual([without.probe().fused, without.probe().promise], [false, 'P3']);
  setFlagsFromString('--experimental-wasm-relaxed-simd');
  const {probe} = await import('../../web/src/probe.js?with');
  const {fused, promise, text} = probe();
  // On a CPU with fused multiply-adds every engine that has the instruction fuses it.
  const cpu = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  if (/\bfma\b/.test(cpu)) assert.equal(fused, WebAssembly.validate(relaxed));
  assert.equal(promise, fused ? 'P2' : 'P3');
  assert.match(text, fused ? /the server's bits/ : /bound/);
  assert.equal(probe(), probe(), 'the engine is asked once');
});

test('the probe refuses an engine without vectors', async () => {
  const {validate} = WebAssembly;
  WebAssembly.validate = () => false;
  try {
    const {probe} = await import('../../web/src/probe.js?refused');
    fails(probe, 'refused', /SIMD128/);
  } finally {
    WebAssembly.validate = validate;
  }
});

test('the probe says what a policy needs', async () => {
  const {Module} = WebAssembly, {validate} = WebAssembly;
  WebAssembly.validate = () => true;
  WebAssembly.Module = class { constructor() { throw new WebAssembly.CompileError('blocked by a policy'); } };
  try {
    const {probe} = await import('../../web/src/probe.js?policy');
    fails(probe, 'refused', /wasm-unsafe-eval/);
  } finally {
    Object.assign(WebAssembly, {Module, validate});
  }
});

const port = dims => ({name: 'x', dims});

test('every dtype has an array', () => {
  assert.equal(DTYPES.size, 24);
  for (const {name, code, bits, array} of DTYPES.values()) {
    if (name === 'string') continue;
    const {data, dims} = tensorOf(port([4]), code, new array(arrayLength({bits}, 4)), 'x');
    assert.deepEqual(dims, [4]);
    assert.ok(data instanceof array);
    assert.equal(array.BYTES_PER_ELEMENT * 8, Math.max(8, bits));
  }
});

test('shapes are inferred where one size is free', () => {
  assert.deepEqual(tensorOf(port(['batch', 2, 3]), 1, new Float32Array(24), 'x').dims, [4, 2, 3]);
  assert.deepEqual(tensorOf(port([2, 3]), 1, [1, 2, 3, 4, 5, 6], 'x').dims, [2, 3]);
  assert.deepEqual(tensorOf(port([]), 7, 5n, 'x').dims, []);
  assert.deepEqual(tensorOf(port(['n']), 22, new Uint8Array(3), 'x').dims, [6], 'two numbers of four bits a byte');
  assert.deepEqual(tensorOf(port(['n']), 1, {data: new Float32Array(0), dims: [0]}, 'x').dims, [0]);
  fails(() => tensorOf(port(['a', 'b']), 1, new Float32Array(4), 'input x'), 'shape mismatch', /input x .*\[a, b\].*2 free/);
  fails(() => tensorOf(port(['a', 3]), 1, new Float32Array(4), 'x'), 'shape mismatch', /4 elements do not fill/);
  fails(() => tensorOf(port([3]), 1, new Float32Array(4), 'x'), 'shape mismatch', /4 elements.*\[3\] 3/);
  fails(() => tensorOf(port(null), 1, new Float32Array(4), 'x'), 'shape mismatch', /any shape/);
  fails(() => tensorOf(port([4]), 1, {data: new Float32Array(4), dims: [-2, -2]}, 'x'), 'shape mismatch', /no shape/);
});

test('arrays of another type are refused, not converted', () => {
  fails(() => tensorOf(port([4]), 1, new Float64Array(4), 'x'), 'type mismatch', /float32, which takes a Float32Array, not a Float64Array/);
  fails(() => tensorOf(port([4]), 2, new Int8Array(4), 'x'), 'type mismatch', /a Uint8Array, not an Int8Array/);
  fails(() => tensorOf(port([1]), 7, [1.5], 'x'), 'type mismatch', /int64/);
  fails(() => tensorOf(port([1]), 10, [1.5], 'x'), 'type mismatch', /float16.*fromFloat32.*not an Array/);
  fails(() => tensorOf(port([1]), 1, new ArrayBuffer(4), 'x'), 'type mismatch', /a Float32Array, not an ArrayBuffer/);
  fails(() => tensorOf(port([1]), 1, {dtype: 'int8', data: new Float32Array(1)}, 'x'), 'type mismatch', /not int8/);
  fails(() => tensorOf(port([1]), 1, null, 'x'), 'type mismatch', /null/);
  assert.deepEqual([...tensorOf(port([2]), 9, [true, false], 'x').data], [1, 0]);
  fails(() => tensorOf(port([2]), 9, [true, 2], 'x'), 'type mismatch', /bool, and element 1 is 2, which it does not hold/);
  fails(() => tensorOf(port([2]), 9, Uint8Array.of(1, 2), 'x'), 'type mismatch', /bool, whose elements are 0 or 1/);
  assert.equal(tensorOf(port([2]), 2, new Uint8ClampedArray([300, 7]), 'x').data[0], 255);
});

test('plain arrays hold numbers of the type, and nothing else', () => {
  assert.deepEqual([...tensorOf(port([3]), 1, [1, NaN, -0], 'x').data], [1, NaN, -0]);
  assert.deepEqual([...tensorOf(port([2]), 3, [-128, 127], 'x').data], [-128, 127]);
  assert.deepEqual([...tensorOf(port([2]), 7, [-1n, 2n], 'x').data], [-1n, 2n]);
  fails(() => tensorOf(port(['n']), 1, [[1, 2], [3, 4]], 'input x'), 'type mismatch', /input x is float32, and element 0 is a list: give one flat array/);
  fails(() => tensorOf(port(['n']), 1, [1, 'a'], 'x'), 'type mismatch', /element 1 is a String, not a number/);
  fails(() => tensorOf(port(['n']), 1, [1, null], 'x'), 'type mismatch', /element 1 is null/);
  fails(() => tensorOf(port(['n']), 1, [true], 'x'), 'type mismatch', /Boolean/);
  fails(() => tensorOf(port(['n']), 2, [1, 300], 'x'), 'type mismatch', /uint8, and element 1 is 300, which it does not hold/);
  fails(() => tensorOf(port(['n']), 6, [1.5], 'x'), 'type mismatch', /1\.5/);
  fails(() => tensorOf(port(['n']), 6, [NaN], 'x'), 'type mismatch', /element 0 is NaN/);
  assert.deepEqual([...tensorOf(port([3]), 7, [1, -(2 ** 53 - 1), 3n], 'x').data], [1n, -(2n ** 53n - 1n), 3n], 'numbers that are exact');
  assert.deepEqual([...tensorOf(port([]), 7, 16000, 'x').data], [16000n]);
  fails(() => tensorOf(port(['n']), 7, [1, 2 ** 53], 'x'), 'type mismatch', /element 1 is 9007199254740992, which is no exact integer/);
  fails(() => tensorOf(port(['n']), 7, [0.5], 'x'), 'type mismatch', /no exact integer/);
  fails(() => tensorOf(port(['n']), 7, ['1'], 'x'), 'type mismatch', /a String, not a bigint/);
  fails(() => tensorOf(port(['n']), 13, [-1], 'x'), 'type mismatch', /does not hold/);
  fails(() => tensorOf(port(['n']), 7, [2n ** 63n], 'x'), 'type mismatch', /does not hold/);
  for (const code of [1, 2, 7, 8, 9]) fails(() => tensorOf(port(['n']), code, [, ,], 'input x'), 'type mismatch', /input x is \w+, and element 0 is undefined, not a/);
  fails(() => tensorOf(port(['n']), 8, ['a', 1], 'input x'), 'type mismatch', /input x is string, and element 1 is a Number, not a string/);
});

test('16-bit floats are made, rounded to the nearest', () => {
  const e = power => 2 ** power;
  assert.deepEqual([...fromFloat32([1, -2, 65504, 65519, 65520, -Infinity, -0, e(-24), e(-25), e(-25) * (1 + e(-10)), 1 + e(-11), 1 + 3 * e(-11), e(-14) - e(-26)], 'float16')],
    [0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x8000, 1, 0, 1, 0x3c00, 0x3c02, 0x0400]);
  assert.deepEqual([...fromFloat32(Float32Array.of(1, -3, NaN, 1 + e(-8), 1 + 3 * e(-8), 3.4e38), 'bfloat16')], [0x3f80, 0xc040, 0x7fc0, 0x3f80, 0x3f82, 0x7f80]);
  assert.ok((fromFloat32([NaN], 'float16')[0] & 0x7fff) > 0x7c00);
  for (const dtype of ['float16', 'bfloat16']) {
    const all = Uint16Array.from({length: 65536}, (_, i) => i), floats = toFloat32({dtype, data: all});
    fromFloat32(floats, dtype).forEach((bits, i) => { if (!Number.isNaN(floats[i])) assert.equal(bits, i); });
  }
  fails(() => fromFloat32([1], 'int8'), 'invalid argument', /int8/);
  fails(() => fromFloat32(['1'], 'float16'), 'type mismatch', /String/);
});

test('16-bit floats are read', () => {
  const halves = toFloat32({dtype: 'float16', data: Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x7c00, 0xfc00, 0x7e00)});
  assert.deepEqual([...halves], [1, -2, 65504, 2 ** -24, -0, Infinity, -Infinity, NaN]);
  assert.deepEqual([...toFloat32({dtype: 'bfloat16', data: Uint16Array.of(0x3f80, 0xc040)})], [1, -3]);
  assert.deepEqual([...toFloat32({dtype: 'int64', data: BigInt64Array.of(-3n)})], [-3]);
  fails(() => toFloat32({dtype: 'int4', data: new Uint8Array(1)}), 'unsupported', /int4/);
  fails(() => toFloat32(new Float32Array(1)), 'invalid argument', /a tensor.*not a Float32Array/);
  fails(() => toFloat32(undefined), 'invalid argument', /not undefined/);
});

test('sources: memory, files, addresses', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'wick-web-'));
  try {
    await writeFile(join(folder, 'a.bin'), 'abc');
    await writeFile(join(folder, 'a.wasm'), Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    assert.equal((await bytesOf(join(folder, 'a.bin'))).length, 3);
    assert.equal((await bytesOf(new Uint8Array(9).subarray(4))).length, 5);
    assert.equal((await bytesOf(new Blob(['abcd']))).length, 4);
    await rejects(() => bytesOf(join(folder, 'b.bin')), 'not found', /b\.bin/);
    await writeFile(join(folder, 'page.wasm'), '<!doctype html>');
    await writeFile(join(folder, 'index.html'), '<!doctype html>');
    const server = await serve([folder]);
    t.after(server.close);  // also where something fails: the process would not end
    const read = [];
    await bytesOf(join(folder, 'a.bin'), {progress: p => read.push(p)});
    assert.deepEqual(read, [{loaded: 3, total: 3}]);
    const mine = new Error('of the caller');
    await assert.rejects(() => bytesOf(join(folder, 'a.bin'), {progress() { throw mine; }}), mine);
    await rejects(() => moduleOf(`data:text/html;base64,${'PGI+'.repeat(200)}`), 'invalid argument', /^data:.{195}\.\.\. is a page of HTML/);
    for (const [source, message] of [[undefined, /not undefined/], [null, /not null/], [5, /not a Number/], [{}, /not an Object/], [Promise.resolve('a.bin'), /not a Promise: await it/], [[1, 2], /not an Array/]]) {
      await rejects(() => bytesOf(source), 'invalid argument', message);
      await rejects(() => moduleOf(source), 'invalid argument', message);
    }
    const seen = [];
    assert.equal((await bytesOf(`${server.url}/a.bin`, {progress: p => seen.push(p)})).length, 3);
    assert.deepEqual(seen, [{loaded: 3, total: 3}]);
    assert.ok(await moduleOf(`${server.url}/a.wasm`) instanceof WebAssembly.Module);
    await rejects(() => moduleOf(`${server.url}/a.bin`), 'invalid argument', /a\.bin is not WebAssembly/);
    await rejects(() => moduleOf(`${server.url}/page.wasm`), 'refused', /does not compile/);
    await rejects(() => moduleOf(`${server.url}/index.html`), 'invalid argument', /index\.html is a page of HTML, not WebAssembly/);
    await rejects(() => bytesOf(`${server.url}/b.bin`), 'not found', /404/);
    await rejects(() => bytesOf(`${server.url}/..%2f..%2fetc/passwd`), 'not found', /404/);
    await rejects(() => bytesOf(`${server.url}/%zz`), 'not found', /404/);
    assert.equal((await fetch(`${server.url}/a.bin`, {method: 'POST'})).status, 405);
    await server.close();
    await rejects(() => bytesOf(`${server.url}/a.bin`), 'io', /Cannot fetch.*\(\w+\)/);
    await assert.rejects(() => bytesOf('http://127.0.0.1:9/x', {signal: AbortSignal.abort()}), {name: 'AbortError'});
  } finally {
    await rm(folder, {recursive: true});
  }
});

test('a body that breaks off is no refusal of the engine', async () => {
  const broken = type => new Response(new ReadableStream({
    pull(controller) {
      controller.error(new TypeError('terminated'));
    },
  }), {headers: {'content-type': type}});
  await rejects(() => bytesOf(broken('text/plain')), 'io', /terminated/);
  await rejects(() => moduleOf(broken('application/wasm')), 'io', /terminated/);
  await rejects(() => moduleOf(broken('text/plain')), 'io', /terminated/);
  const read = new Response('abc');
  await read.text();
  await rejects(() => bytesOf(read, {progress() {}}), 'io', /./);
  const reason = new Error('not wanted any more');
  await assert.rejects(() => bytesOf('http://127.0.0.1:9/x', {signal: AbortSignal.abort(reason)}), reason);
});

/** A worker of Node that says what it is told to; messages go through one of Node's ports. */
class FakeWorker {
  constructor() {
    Object.assign(this, {handlers: {}, sent: [], refs: 0, ended: false});
  }
  on(event, f) {
    this.handlers[event] = f;
  }
  postMessage(message, transfer) {
    const {port1, port2} = new MessageChannel();
    port1.postMessage(message, transfer);
    const arrived = receiveMessageOnPort(port2);
    port1.close();
    if (arrived) this.sent.push(arrived.message);
  }
  ref() {
    this.refs = 1;
  }
  unref() {
    this.refs = 0;
  }
  terminate() {
    this.ended = true;
  }
}

test('what cannot be sent to a worker is an error, and nobody waits for it', async () => {
  const worker = new FakeWorker(), line = new Line(worker);
  const moved = new Float32Array(4);
  const first = line.call('run', [1, moved], {transfer: buffersOf(moved)});
  await rejects(() => line.call('run', [1, moved], {transfer: buffersOf(moved)}), 'invalid argument', /run\(\).*cannot be sent.*transferred before/);
  fails(() => tensorOf(port(['n']), 1, moved, 'input x'), 'invalid argument', /input x.*transferred before/);
  fails(() => tensorOf(port(['n']), 1, {data: moved, dims: [4]}, 'input x'), 'invalid argument', /transferred before/);
  await rejects(() => bytesOf(moved), 'invalid argument', /transferred before/);
  await rejects(() => bytesOf(moved.buffer), 'invalid argument', /transferred before/);
  await rejects(() => line.call('run', [1, () => 1]), 'invalid argument', /cannot be sent/);
  assert.equal(worker.refs, 1, 'the first call is waited for');
  worker.handlers.message({id: worker.sent[0].id, result: 5});
  assert.equal(await first, 5);
  assert.equal(worker.refs, 0);
  assert.deepEqual(buffersOf({x: new Uint8Array(new SharedArrayBuffer(4))}), [], 'shared memory is not moved');
  const lost = line.call('run', [1]);
  worker.handlers.messageerror();
  await assert.rejects(lost, {code: 'internal'});
  assert.ok(worker.ended && line.ended);
});

test('a worker that does not open is ended', async () => {
  await rejects(() => open({worker: true, wasm: Uint8Array.of(1, 2, 3), wasmFused: Uint8Array.of(1, 2, 3)}), 'invalid argument', /not WebAssembly/);
  await rejects(() => open({worker: true, wasm: () => 1, wasmFused: () => 1}), 'invalid argument', /open\(\).*cannot be sent/);
  await assert.rejects(() => open({worker: true, signal: AbortSignal.abort()}), {name: 'AbortError'});
  const threads = () => process.getActiveResourcesInfo().filter(what => what === 'MessagePort').length;
  for (let i = 0; i < 200 && threads() > 0; ++i) await new Promise(done => setTimeout(done, 20));
  assert.equal(threads(), 0, 'their threads have ended');
});

test('numbers of options are looked at before C gets them', () => {
  const engine = {};
  for (const [options, message] of [
    [{dims: {n: 1.5}}, /dims\.n is 1\.5/], [{dims: {n: -1}}, /dims\.n/], [{dims: {n: '3'}}, /dims\.n/],
    [{maxMemory: -1}, /maxMemory is -1/], [{maxMemory: NaN}, /maxMemory/], [{maxMemory: '1'}, /maxMemory/],
  ]) fails(() => new Model(engine, new Uint8Array(1), options), 'invalid argument', message);
});

test('an engine that ran into a trap takes no more calls', () => {
  const freed = [];
  const engine = Object.assign(new Engine(), {exports: {wick_web_allocate: () => 64, wick_web_free: at => freed.push(at)}, memory: {u8: new Uint8Array(128)}});
  assert.equal(engine.scratch(place => place(4)), 64);
  assert.deepEqual(freed, [64]);
  fails(() => engine.scratch(place => { place(4); throw new WickError('io', 'an error of its own'); }), 'io', /own/);
  assert.deepEqual(freed, [64, 64], 'and goes on after an error');
  fails(() => engine.scratch(place => { place(4); throw new WebAssembly.RuntimeError('unreachable'); }), 'internal', /stopped \(unreachable\): please report/);
  fails(() => engine.scratch(() => 1), 'internal', /stopped before \(unreachable\): open another engine/);
  assert.deepEqual(freed, [64, 64], 'its memory is left alone');
  const deep = Object.assign(new Engine(), {exports: {}});
  const recurse = () => recurse() + 1;
  fails(() => deep.scratch(recurse), 'internal', /stopped/);
  const worker = new FakeWorker(), line = new Line(worker);
  const run = line.call('run', []);
  worker.handlers.message({id: worker.sent[0].id, error: {code: 'internal', message: 'it stopped'}, ended: true});
  return assert.rejects(run, {code: 'internal'}).then(() => assert.ok(worker.ended && line.ended));
});

test('addresses above 2 GiB are no negative numbers', () => {
  const engine = Object.assign(new Engine(), {exports: {wick_web_allocate: () => -64}});
  assert.equal(engine.allocate(8), 2 ** 32 - 64);
});

test('the bundle is one module', async () => {
  const text = await bundle(new URL('../../web/demo/page.js', import.meta.url).pathname);
  assert.doesNotMatch(text, /^(import|export) /m);
  assert.match(text, /class Pad/);
  assert.match(text, /let known;\nfunction probe\(\) \{/, 'comments are gone, code is not');
  new (Object.getPrototypeOf(async () => {}).constructor)(text.replaceAll('import.meta', '({})'));  // it is well-formed
});

test('a bundler finds nothing of Node, and a worker that starts no worker', async () => {
  const source = name => new URL(`../../web/src/${name}`, import.meta.url).pathname;
  for (const name of ['index.js', 'worker.js'])
    assert.doesNotMatch(await bundle(source(name)), /['"`]node:[a-z]/, 'esbuild fails for a page where an import() names a module of Node');
  const worker = await bundle(source('worker.js'));
  assert.doesNotMatch(worker, /new Worker\(/, 'Vite refuses a worker that imports the start of itself');
  new Function(worker.replaceAll('import.meta', '({})'));  // Vite writes a script of it, where the module must not await
  assert.equal((await bundle(source('index.js'))).match(/new URL\('\.\/worker\.js', import\.meta\.url\)/g).length, 1, 'webpack would copy the file of any other');
});

test('arrays of NumPy', () => {
  const head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }".padEnd(118 - 1) + '\n';
  const file = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([118, 0]), Buffer.from(head), Buffer.from(Float32Array.of(1, 2).buffer)]);
  assert.deepEqual(readNpy(new Uint8Array(file)), {dims: [2, 1], data: Float32Array.of(1, 2)});
});
