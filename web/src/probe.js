// Asks the engine what it computes with. WebAssembly has no fused multiply-add that every engine must round once: its
// relaxed one may round once or twice, so the answer is known only when it has run.
import {WickError} from './errors.js';

const section = (id, ...bytes) => [id, bytes.length, ...bytes];
const module = (...sections) => new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...sections.flat()]);
const body = (...code) => [code.length + 2, 0, ...code, 11];  // no locals; the code; end

// () -> v128: i8x16.splat of 0.
const SIMD = module(section(1, 1, 96, 0, 1, 123), section(3, 1, 0), section(10, 1, ...body(65, 0, 253, 15)));

// (a, b, c) -> lane 0 of f32x4.relaxed_madd ("f") and of f32x4.relaxed_nmadd ("g").
const lane = op => body(32, 0, 253, 19, 32, 1, 253, 19, 32, 2, 253, 19, 253, op, 2, 253, 31, 0);
const FUSED = module(section(1, 1, 96, 3, 125, 125, 125, 1, 125), section(3, 2, 0, 0),
  section(7, 2, 1, 102, 0, 0, 1, 103, 0, 1), section(10, 2, ...lane(0x85), ...lane(0x86)));

// a, b, c, and a b + c rounded once; rounded twice it is another number.
const e = power => 2 ** power;
const CASES = [
  [1 + e(-12), 1 + e(-12), -(1 + e(-11)), e(-24)],
  [1 + e(-23), 1 - e(-23), -1, -e(-46)],
  [3 + e(-21), Math.fround(1 / 3), -1, Math.fround((3 + e(-21)) * Math.fround(1 / 3) - 1)],
];

function engineFuses() {
  if (!WebAssembly.validate(FUSED)) return false;
  const {f, g} = new WebAssembly.Instance(new WebAssembly.Module(FUSED)).exports;
  // Engines compile a function again once it was called often; both forms must agree.
  for (let i = 0; i < 600; ++i) {
    const [a, b, c, exact] = CASES[i % CASES.length];
    if (f(a, b, c) !== exact || g(a, b, -c) !== -exact) return false;
  }
  return true;
}

let known;

/**
 * Returns what this engine gives: `fused` and `promise` 'P2' where float32 results have the bits of every other machine
 * with a fused multiply-add; else 'P3', a bound. Integer models have the same bits in both cases.
 * Throws WickError 'refused' where there is no WebAssembly with vectors, or a policy forbids it.
 */
export function probe() {
  if (known) return known;
  if (typeof WebAssembly !== 'object')
    throw new WickError('refused', 'This engine has no WebAssembly: it is switched off, or the browser is too old');
  if (!WebAssembly.validate(SIMD))
    throw new WickError('refused', 'This engine has no vectors of WebAssembly (SIMD128): it takes Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or newer');
  let fused;
  try {
    fused = engineFuses();
  } catch (error) {
    throw new WickError('refused', `WebAssembly may not be compiled here (${error.message}): the page's Content-Security-Policy needs 'wasm-unsafe-eval'`, {cause: error});
  }
  known = Object.freeze({
    fused,
    promise: fused ? 'P2' : 'P3',
    text: fused ? "float32 results have the server's bits"
                : "float32 results are close to the server's, within a stated bound: this engine has no fused multiply-add",
  });
  return known;
}
