// Wick's runtime in WebAssembly: index.d.ts describes what is exported.
import {openHere} from './local.js';
import {probe} from './probe.js';
import {openRemote} from './remote.js';

export {WickError, CODES} from './errors.js';

export {fromFloat32, toFloat32} from './tensor.js';
export {probe};

/** Opens an engine, here or in a worker. */
export async function open(options = {}) {
  probe();  // what refuses here is told before a worker is started
  return options.worker ? openRemote(options) : openHere(options);
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
