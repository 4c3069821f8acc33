// The same interface in front of a worker: calls cross as messages, results are moved, not copied.
import {WickError, unpackError} from './errors.js';
import {bytesOf, moduleOf} from './fetch.js';
import {nodeModule} from './node.js';
import {buffersOf, isDetached, kind} from './tensor.js';

/** Bundlers know a worker by the first form. They would copy the file of the second as it is, but for the name `here`. */
async function startWorker() {
  if (typeof Worker === 'function')
    return new Worker(new URL('./worker.js', import.meta.url), {type: 'module', name: 'wick'});
  const threads = await nodeModule('worker_threads'), here = import.meta.url;
  const worker = new threads.Worker(new URL('./worker.js', here));
  worker.unref();
  return worker;
}

/** Calls by number: the worker answers each with a result or an error, and may report progress before. */
export class Line {
  #worker;
  #waiting = new Map();
  #next = 1;
  #ended = null;

  constructor(worker) {
    this.#worker = worker;
    const on = (event, f) => worker.addEventListener ? worker.addEventListener(event, f) : worker.on(event, f);
    on('message', event => this.#answer(worker.addEventListener ? event.data : event));
    on('messageerror', () => this.end(new WickError('internal', 'An answer of the worker could not be read')));
    on('error', event => this.end(new WickError('refused', `The worker does not run: ${event.message ?? 'it could not be loaded'}`)));
  }
  get ended() {
    return this.#ended !== null;
  }
  #forget(id) {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref?.();
  }
  #answer({id, result, error, ended, progress}) {
    const call = this.#waiting.get(id);
    if (!call) return;
    if (progress) return call.progress?.(progress);
    this.#forget(id);
    if (error) call.reject(unpackError(error));
    else call.resolve(result);
    if (ended) this.end(unpackError(error));
  }
  call(name, args, {transfer = [], progress} = {}) {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, {resolve, reject, progress});
      this.#worker.ref?.();
      try {
        // Node would send nothing, and say nothing.
        if (transfer.some(isDetached)) throw new TypeError('the memory of an array was transferred before');
        this.#worker.postMessage({id, name, args}, transfer);
      } catch (error) {
        // An array that was moved before, a function: nothing was sent, and nobody will answer.
        this.#forget(id);
        reject(new WickError('invalid argument', `What ${name}() was given cannot be sent to the worker: ${error.message}`, {cause: error}));
      }
    });
  }
  end(error) {
    this.#ended ??= error;
    for (const {reject} of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#worker.terminate();
  }
}

// Models and states that nobody has any more and nobody disposed of.
const forgotten = new FinalizationRegistry(({line, call, id}) => line.call(call, [id]).catch(() => {}));

/** What a model in a worker remembers of one stream of runs. */
class RemoteState {
  #line;
  #id;
  constructor(line, id) {
    this.#line = line;
    this.#id = id;
    forgotten.register(this, {line, call: 'forget', id}, this);
  }
  /** Its number in the worker of the line. */
  of(line) {
    if (line !== this.#line) throw new WickError('invalid argument', 'The state is of another engine');
    return this.#id;
  }
  async reset() {
    await this.#line.call('reset', [this.#id]);
  }
  async dispose() {
    forgotten.unregister(this);
    await this.#line.call('forget', [this.#id]);
  }
}

class RemoteModel {
  #line;
  #id;
  constructor(line, {id, ...facts}) {
    this.#line = line;
    this.#id = id;
    forgotten.register(this, {line, call: 'dispose', id}, this);
    Object.assign(this, facts);
  }
  /** With `transfer` the arrays of the inputs are moved to the worker, and are empty here afterwards. */
  async run(values, {transfer = false, state = null, ...options} = {}) {
    if (state !== null && !(state instanceof RemoteState)) throw new WickError('invalid argument', `state is ${kind(state)}: it takes what state() of a model in this worker gave`);
    const given = {...options, state: state === null ? null : state.of(this.#line)};
    return this.#line.call('run', [this.#id, values, given], {transfer: transfer ? buffersOf(values) : []});
  }
  async entry(name, options) {
    return new RemoteModel(this.#line, await this.#line.call('entry', [this.#id, name, options]));
  }
  async state(options) {
    return new RemoteState(this.#line, await this.#line.call('state', [this.#id, options]));
  }
  metadata(key) {
    return this.#line.call('metadata', [this.#id, key]);
  }
  async dispose() {
    forgotten.unregister(this);
    await this.#line.call('dispose', [this.#id]);
  }
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
    const progress = onProgress && (p => onProgress({what: 'model', ...p}));
    const sent = isResponse(source) ? await bytesOf(source, {signal, progress}) : addressed(source);
    const loading = this.#line.call('load', [sent, options], {progress: onProgress}).then(facts => new RemoteModel(this.#line, facts));
    if (!signal) return loading;
    let stop;
    const stopped = new Promise((_, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
    });
    try {
      return await Promise.race([loading, stopped]);
    } catch (error) {
      loading.then(model => model.dispose()).catch(() => {});  // it came too late
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
  get ended() {
    return this.#line.ended;
  }
  close() {
    this.#line.end(new WickError('invalid argument', 'The worker was closed'));
  }
}

/** Requests and responses cannot be sent to another thread. */
const isResponse = source => (typeof Response === 'function' && source instanceof Response) ||
  (typeof Request === 'function' && source instanceof Request);

/** Addresses are relative to the page, not to the worker's file. */
function addressed(source) {
  if (source instanceof URL) return source.href;
  if (typeof source === 'string' && typeof location === 'object') return new URL(source, globalThis.document?.baseURI ?? location.href).href;
  return source;
}

export async function openRemote({wasm, wasmFused, onProgress, signal}) {
  signal?.throwIfAborted();
  const sources = {};
  for (const [name, source] of Object.entries({wasm, wasmFused}))
    if (source !== undefined) sources[name] = isResponse(source) ? await moduleOf(source, {signal}) : addressed(source);
  const line = new Line(await startWorker());
  const stop = () => line.end(signal.reason);
  signal?.addEventListener('abort', stop);
  try {
    return new RemoteWick(line, await line.call('open', [sources], {progress: onProgress}));
  } catch (error) {
    line.end(error);  // nobody has this worker
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
