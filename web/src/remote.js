// The same interface in front of a worker: calls cross as messages, results are moved, not copied.
import {WickError, unpackError} from './errors.js';
import {bytesOf} from './fetch.js';

async function startWorker() {
  if (typeof Worker === 'function')
    return new Worker(new URL('./worker.js', import.meta.url), {type: 'module', name: 'wick'});
  const threads = await import(/* webpackIgnore: true */ /* @vite-ignore */ 'node:worker_threads');
  const worker = new threads.Worker(new URL('./worker.js', import.meta.url));
  worker.unref();
  return worker;
}

/** Calls by number: the worker answers each with a result or an error, and may report progress before. */
class Line {
  #worker;
  #waiting = new Map();
  #next = 1;
  #ended = null;

  constructor(worker) {
    this.#worker = worker;
    const on = (event, f) => worker.addEventListener ? worker.addEventListener(event, f) : worker.on(event, f);
    on('message', event => this.#answer(worker.addEventListener ? event.data : event));
    on('error', event => this.end(new WickError('refused', `The worker does not run: ${event.message ?? 'it could not be loaded'}`)));
  }
  #answer({id, result, error, progress}) {
    const call = this.#waiting.get(id);
    if (!call) return;
    if (progress) return call.progress?.(progress);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref?.();
    if (error) call.reject(unpackError(error));
    else call.resolve(result);
  }
  call(name, args, {transfer = [], progress} = {}) {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, {resolve, reject, progress});
      this.#worker.ref?.();
      this.#worker.postMessage({id, name, args}, transfer);
    });
  }
  end(error) {
    this.#ended = error;
    for (const {reject} of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#worker.terminate();
  }
}

class RemoteModel {
  #line;
  #id;
  constructor(line, {id, ...facts}) {
    this.#line = line;
    this.#id = id;
    Object.assign(this, facts);
  }
  /** With `transfer` the arrays of the inputs are moved to the worker, and are empty here afterwards. */
  run(values, {transfer = false, ...options} = {}) {
    return this.#line.call('run', [this.#id, values, options], {transfer: transfer ? buffersOf(values) : []});
  }
  metadata(key) {
    return this.#line.call('metadata', [this.#id, key]);
  }
  async dispose() {
    await this.#line.call('dispose', [this.#id]);
  }
}

/** Returns the buffers of all arrays in a value, each once. */
export function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value.buffer);
  else if (value !== null && typeof value === 'object') for (const part of Object.values(value)) buffersOf(part, found);
  return [...found];
}

class RemoteWick {
  #line;
  constructor(line, facts) {
    this.#line = line;
    Object.assign(this, facts);
    this.worker = true;
  }
  async load(source, {onProgress, signal, ...options} = {}) {
    signal?.throwIfAborted();
    // A response cannot be sent to another thread.
    const sent = typeof Response === 'function' && source instanceof Response ? await bytesOf(source) : addressed(source);
    const facts = await this.#line.call('load', [sent, options], {progress: onProgress});
    return new RemoteModel(this.#line, facts);
  }
  close() {
    this.#line.end(new WickError('invalid argument', 'The worker was closed'));
  }
}

/** Addresses are relative to the page, not to the worker's file. */
function addressed(source) {
  if (source instanceof URL) return source.href;
  if (typeof source === 'string' && typeof location === 'object') return new URL(source, globalThis.document?.baseURI ?? location.href).href;
  return source;
}

export async function openRemote({wasm, wasmFused, onProgress}) {
  const line = new Line(await startWorker());
  const sources = {};
  if (wasm !== undefined) sources.wasm = addressed(wasm);
  if (wasmFused !== undefined) sources.wasmFused = addressed(wasmFused);
  const facts = await line.call('open', [sources], {progress: onProgress});
  return new RemoteWick(line, facts);
}
