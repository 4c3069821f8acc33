// An engine in this thread, and the module that it takes. Of index.js, and of worker.js: a worker that imported all of
// index.js would import the start of a worker again, a circle that bundlers refuse.
import {Engine} from './engine.js';
import {WickError} from './errors.js';
import {bytesOf, isHtml, moduleOf, nameOf} from './fetch.js';
import {Model} from './model.js';
import {probe} from './probe.js';

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
    if (isHtml(bytes)) throw new WickError('invalid program', `${nameOf(source) || 'What was given'} is a page of HTML, not a model: is the file there?`);
    try {
      return new Model(this.#engine, bytes, options);
    } catch (error) {
      // Which of several files it was.
      if (error instanceof WickError && error.code === 'invalid program' && nameOf(source)) error.message = `${nameOf(source)}: ${error.message}`;
      throw error;
    }
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
export async function openHere({wasm, wasmFused, onProgress, signal} = {}) {
  const {fused} = probe();
  const own = wasm === undefined && wasmFused === undefined;
  const source = fused && (own || wasmFused !== undefined) ? wasmFused ?? FUSED_MODULE() : wasm ?? PLAIN_MODULE();
  const module = await moduleOf(source, {signal, progress: onProgress && (p => onProgress({what: 'engine', ...p}))});
  return new Wick(await Engine.start(module));
}
