// The worker's end of remote.js: an engine and its models.
import {WickError, packError} from './errors.js';
import {openHere} from './local.js';
import {nodeModule} from './node.js';
import {buffersOf} from './tensor.js';

let port;  // to who called
let wick;
const models = new Map();
const states = new Map();
let next = 1;

function modelOf(id) {
  const model = models.get(id);
  if (!model) throw new WickError('invalid argument', 'The model was disposed of');
  return model;
}

function stateOf(id) {
  const state = states.get(id);
  if (!state) throw new WickError('invalid argument', 'The state was disposed of');
  return state;
}
function kept(model) {
  const id = next++;
  models.set(id, model);
  const {inputs, outputs, labels, sha256, numerics, memory} = model;
  return {id, inputs, outputs, labels, sha256, numerics, memory};
}

const calls = {
  async open(sources, onProgress) {
    wick = await openHere({...sources, onProgress});
    return {version: wick.version, numerics: wick.numerics};
  },
  async load(source, options, onProgress) {
    return kept(await wick.load(source, {...options, onProgress}));
  },
  async entry(id, name, options) {
    return kept(await modelOf(id).entry(name, options));
  },
  async state(id, options) {
    const state = await modelOf(id).state(options), number = next++;
    states.set(number, state);
    return number;
  },
  reset: id => stateOf(id).reset(),
  forget(id) {
    states.get(id)?.dispose();
    states.delete(id);
  },
  metadata: (id, key) => modelOf(id).metadata(key),
  run: (id, values, {state, ...options}) => modelOf(id).runSync(values, {...options, state: state && stateOf(state)}),
  dispose(id) {
    models.get(id)?.dispose();
    models.delete(id);
  },
};

async function answer({id, name, args}) {
  try {
    const given = name === 'open' || name === 'load' ? [...args, progress => port.postMessage({id, progress})] : args;
    const result = await calls[name](...given);
    port.postMessage({id, result}, name === 'run' ? buffersOf(result) : []);
  } catch (error) {
    port.postMessage({id, error: packError(error), ended: wick?.ended ?? false});
  }
}

// Not by an await of the module, which bundlers refuse in a worker that they write as a script.
if (typeof WorkerGlobalScope === 'function' && globalThis instanceof WorkerGlobalScope) {
  port = globalThis;
  port.addEventListener('message', event => answer(event.data));
} else {
  nodeModule('worker_threads').then(({parentPort}) => {
    port = parentPort;
    port.on('message', answer);
  });
}
