// The worker's end of remote.js: an engine and its models.
import {packError} from './errors.js';
import {open} from './index.js';
import {buffersOf} from './remote.js';

const port = typeof WorkerGlobalScope === 'function' && globalThis instanceof WorkerGlobalScope
  ? globalThis : (await import(/* webpackIgnore: true */ /* @vite-ignore */ 'node:worker_threads')).parentPort;

let wick;
const models = new Map();
let next = 1;

const calls = {
  async open(sources, onProgress) {
    wick = await open({...sources, onProgress});
    return {version: wick.version, numerics: wick.numerics};
  },
  async load(source, options, onProgress) {
    const model = await wick.load(source, {...options, onProgress});
    const id = next++;
    models.set(id, model);
    const {inputs, outputs, labels, sha256, numerics, memory} = model;
    return {id, inputs, outputs, labels, sha256, numerics, memory};
  },
  metadata: (id, key) => models.get(id).metadata(key),
  run: (id, values, options) => models.get(id).runSync(values, options),
  dispose(id) {
    models.get(id)?.dispose();
    models.delete(id);
  },
};

async function answer({id, name, args}) {
  try {
    const given = name === 'run' || name === 'metadata' || name === 'dispose' ? args : [...args, progress => port.postMessage({id, progress})];
    const result = await calls[name](...given);
    port.postMessage({id, result}, name === 'run' ? buffersOf(result) : []);
  } catch (error) {
    port.postMessage({id, error: packError(error)});
  }
}

if (port.addEventListener && port === globalThis) port.addEventListener('message', event => answer(event.data));
else port.on('message', answer);
