// Runs a WASI program as ../wasm32/run.mjs does, with relaxed instructions where Node has them behind a flag (20).
import {setFlagsFromString} from 'node:v8';

// (v128, v128, v128) -> v128: f32x4.relaxed_madd.
const RELAXED = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 133, 2, 11]);
if (!WebAssembly.validate(RELAXED)) setFlagsFromString('--experimental-wasm-relaxed-simd');
if (!WebAssembly.validate(RELAXED)) {
  console.error('this engine has no relaxed SIMD: the target wasm32 does without');
  process.exit(1);
}
await import('../wasm32/run.mjs');
