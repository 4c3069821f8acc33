// What of web/ needs no wick.wasm: the probe, tensors, the server, the bundle.
import assert from 'node:assert/strict';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {setFlagsFromString} from 'node:v8';

import {bundle} from '../../web/bundle.js';
import {readNpy} from '../../web/demo/npy.js';
import {serve} from '../../web/serve.js';
import {WickError} from '../../web/src/errors.js';
import {bytesOf, moduleOf} from '../../web/src/fetch.js';
import {DTYPES, arrayLength, tensorOf, toFloat32} from '../../web/src/tensor.js';

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
  fails(() => tensorOf(port([4]), 2, new Int8Array(4), 'x'), 'type mismatch', /Uint8Array, not a Int8Array/);
  fails(() => tensorOf(port([1]), 7, [1.5], 'x'), 'type mismatch', /int64/);
  fails(() => tensorOf(port([1]), 10, [1.5], 'x'), 'type mismatch', /float16/);
  fails(() => tensorOf(port([1]), 1, {dtype: 'int8', data: new Float32Array(1)}, 'x'), 'type mismatch', /not int8/);
  fails(() => tensorOf(port([1]), 1, null, 'x'), 'type mismatch', /null/);
  assert.deepEqual([...tensorOf(port([2]), 9, [true, false], 'x').data], [1, 0]);
  assert.equal(tensorOf(port([2]), 2, new Uint8ClampedArray([300, 7]), 'x').data[0], 255);
});

test('16-bit floats are read', () => {
  const halves = toFloat32({dtype: 'float16', data: Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x7c00, 0xfc00, 0x7e00)});
  assert.deepEqual([...halves], [1, -2, 65504, 2 ** -24, -0, Infinity, -Infinity, NaN]);
  assert.deepEqual([...toFloat32({dtype: 'bfloat16', data: Uint16Array.of(0x3f80, 0xc040)})], [1, -3]);
  assert.deepEqual([...toFloat32({dtype: 'int64', data: BigInt64Array.of(-3n)})], [-3]);
  fails(() => toFloat32({dtype: 'int4', data: new Uint8Array(1)}), 'unsupported', /int4/);
});

test('sources: memory, files, addresses', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wick-web-'));
  try {
    await writeFile(join(folder, 'a.bin'), 'abc');
    await writeFile(join(folder, 'a.wasm'), Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    assert.equal((await bytesOf(join(folder, 'a.bin'))).length, 3);
    assert.equal((await bytesOf(new Uint8Array(9).subarray(4))).length, 5);
    assert.equal((await bytesOf(new Blob(['abcd']))).length, 4);
    await rejects(() => bytesOf(join(folder, 'b.bin')), 'not found', /b\.bin/);
    const server = await serve([folder]);
    const seen = [];
    assert.equal((await bytesOf(`${server.url}/a.bin`, {progress: p => seen.push(p)})).length, 3);
    assert.deepEqual(seen, [{loaded: 3, total: 3}]);
    assert.ok(await moduleOf(`${server.url}/a.wasm`) instanceof WebAssembly.Module);
    await rejects(() => moduleOf(`${server.url}/a.bin`), 'refused', /does not compile/);
    await rejects(() => bytesOf(`${server.url}/b.bin`), 'not found', /404/);
    await rejects(() => bytesOf(`${server.url}/..%2f..%2fetc/passwd`), 'not found', /404/);
    await rejects(() => bytesOf(`${server.url}/%zz`), 'not found', /404/);
    assert.equal((await fetch(`${server.url}/a.bin`, {method: 'POST'})).status, 405);
    await server.close();
    await rejects(() => bytesOf(`${server.url}/a.bin`), 'io', /Cannot fetch/);
    await assert.rejects(() => bytesOf('http://127.0.0.1:9/x', {signal: AbortSignal.abort()}), {name: 'AbortError'});
  } finally {
    await rm(folder, {recursive: true});
  }
});

test('the bundle is one module', async () => {
  const text = await bundle(new URL('../../web/demo/page.js', import.meta.url).pathname);
  assert.doesNotMatch(text, /^(import|export) /m);
  assert.match(text, /class Pad/);
  assert.match(text, /let known;\nfunction probe\(\) \{/, 'comments are gone, code is not');
  new (Object.getPrototypeOf(async () => {}).constructor)(text.replaceAll('import.meta', '({})'));  // it is well-formed
});

test('arrays of NumPy', () => {
  const head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }".padEnd(118 - 1) + '\n';
  const file = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([118, 0]), Buffer.from(head), Buffer.from(Float32Array.of(1, 2).buffer)]);
  assert.deepEqual(readNpy(new Uint8Array(file)), {dims: [2, 1], data: Float32Array.of(1, 2)});
});
