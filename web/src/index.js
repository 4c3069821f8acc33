// Wick's runtime in WebAssembly: index.d.ts describes what is exported.
import {Engine} from './engine.js';
import {WickError} from './errors.js';
import {bytesOf, moduleOf} from './fetch.js';
import {Model} from './model.js';
import {probe} from './probe.js';
import {openRemote} from './remote.js';

export {WickError, CODES} from './errors.js';

export {toFloat32} from './tensor.js';
export {probe};

class Wick {
  #engine;
  constructor(engine) {
    this.#engine = engine;
    this.version = engine.version;
    this.numerics = engine.numerics;
    this.worker = false;
  }
  async load(source, {onProgress, signal, ...options} = {}) {
    signal?.throwIfAborted();
    const bytes = await bytesOf(source, {signal, progress: onProgress && (p => onProgress({what: 'model', ...p}))});
    signal?.throwIfAborted();
    if (this.#engine === null) throw new WickError('invalid argument', 'The engine was closed');
    return new Model(this.#engine, bytes, options);
  }
  /** Whether it takes no calls any more: it was closed, or stopped by itself. */
  get ended() {
    return this.#engine === null || this.#engine.stopped !== null;
  }
  close() {
    this.#engine = null;
  }
}

const PLAIN_MODULE = () => new URL('./wick.wasm', import.meta.url);
const FUSED_MODULE = () => new URL('./wick-fma.wasm', import.meta.url);

/** Chooses the module by what the engine computes with, compiles it and starts it. */
export async function open(options = {}) {
  const {fused} = probe();
  if (options.worker) return openRemote(options);
  const {wasm, wasmFused, onProgress, signal} = options;
  const own = wasm === undefined && wasmFused === undefined;
  const source = fused && (own || wasmFused !== undefined) ? wasmFused ?? FUSED_MODULE() : wasm ?? PLAIN_MODULE();
  const module = await moduleOf(source, {signal, progress: onProgress && (p => onProgress({what: 'engine', ...p}))});
  return new Wick(await Engine.start(module));
}

// One engine for each place that models of load() run in. One that ended is replaced by the next load().
const shared = new Map();

/** Loads a model into an engine that all models of load() share: open() first, then load() of what it returns. */
export async function load(source, {worker = false, ...options} = {}) {
  const old = shared.get(worker);
  if (old && (await old.catch(() => null))?.ended && shared.get(worker) === old) shared.delete(worker);
  if (!shared.has(worker)) shared.set(worker, open({worker, onProgress: options.onProgress}));
  let wick;
  try {
    wick = await shared.get(worker);
  } catch (error) {
    shared.delete(worker);
    throw error;
  }
  return wick.load(source, options);
}
