// A model in this thread's engine.
import {PORT, TENSOR, cText, utf8} from './layout.js';
import {DTYPES, OPTIONAL, OPTIONAL_SEQUENCE, SEQUENCE, arrayLength, dtypeName, dtypeOf, elements, isContainer, kind, makeTensor, tensorOf} from './tensor.js';
import {WickError} from './errors.js';

/** Memory of one purpose that grows and is kept from run to run. */
class Buffer {
  constructor(engine) {
    this.engine = engine;
    this.at = 0;
    this.size = 0;
  }
  of(bytes) {
    if (bytes > this.size) {
      this.free();
      this.at = this.engine.allocate(bytes);
      this.size = bytes;
    }
    return this.at;
  }
  free() {
    this.engine.free(this.at);
    this.at = this.size = 0;
  }
}

/** A bound of a load or a run: a number of at least 0; 0, Infinity and what C's number does not hold are none. */
function limit(name, value, unit = 1) {
  if (typeof value !== 'number' || !(value >= 0)) throw new WickError('invalid argument', `${name} is ${value}: it takes a number of at least 0`);
  return value * unit < 2 ** 63 ? value : 0;
}

/** A program and its bytes, which it reads as long as it lives: of the models of its entry points, and of their states. */
class Shared {
  file = 0;
  program = 0;
  users = 0;
  constructor(engine) {
    this.engine = engine;
  }
  drop() {
    if (--this.users > 0) return;
    if (!this.engine.stopped) this.engine.exports.wick_program_free(this.program);
    this.engine.free(this.file);
    this.program = this.file = 0;
  }
}

/** What a model, or a state, has in the engine's memory. */
class Held {
  session = 0;
  state = 0;
  ports = 0;  // wick_tensor of each input, then of each output
  inputs = [];  // their memory
  freed = false;
  constructor(shared) {
    this.shared = shared;
    ++shared.users;
  }
  free() {
    if (this.freed) return;
    this.freed = true;
    const {engine} = this.shared;
    if (!engine.stopped) {
      if (this.session) engine.exports.wick_session_free(this.session);
      if (this.state) engine.exports.wick_state_free(this.state);
    }
    for (const buffer of this.inputs) buffer.free();
    engine.free(this.ports);
    this.session = this.state = this.ports = 0;
    this.inputs = [];
    this.shared.drop();
  }
}

// Frees what models held that nobody has any more and nobody disposed of: the collector does not see that memory.
const dropped = new FinalizationRegistry(held => held.free());

function checkDims(dims) {
  for (const [name, size] of Object.entries(dims))
    if (!Number.isSafeInteger(size) || size < 0) throw new WickError('invalid argument', `dims.${name} is ${size}, which is no size`);
}
/** Puts {name: size} where C reads a list of them; returns its address and length. */
function putDims(engine, dims, place) {
  const {memory} = engine, names = Object.keys(dims), list = place(16 * names.length);
  names.forEach((name, i) => {
    const text = place(cText(name));
    memory.setU32(list + 16 * i, text);
    memory.view.setBigInt64(list + 16 * i + 8, BigInt(dims[name]), true);
  });
  return [list, names.length];
}

/** What a model remembers of one stream of runs. */
export class State {
  #held;
  constructor(shared, dims, maxMemory) {
    const {engine} = shared, {exports: wick} = engine;
    checkDims(dims);
    const most = limit('maxMemory', maxMemory);
    if (!wick.wick_web_state) throw new WickError('unsupported', 'This module, of one model alone, keeps no states: take wick.wasm');
    const held = new Held(shared);
    try {
      engine.scratch(place => {
        const [list, count] = putDims(engine, dims, place);
        held.state = engine.made(p => wick.wick_web_state(shared.program, list, count, most, p));
      });
    } catch (error) {
      held.free();
      throw error;
    }
    this.#held = held;
    dropped.register(this, held, this);
  }
  /** The address for a run of a model of the same engine. */
  of(engine) {
    if (this.#held.freed) throw new WickError('invalid argument', 'The state was disposed of');
    if (this.#held.shared.engine !== engine) throw new WickError('invalid argument', 'The state is of another engine');
    return this.#held.state;
  }
  /** Makes it what it was at first. */
  async reset() {
    const {engine} = this.#held.shared;
    engine.scratch(() => engine.exports.wick_state_reset(this.of(engine)));
  }
  dispose() {
    dropped.unregister(this);
    this.#held.free();
  }
}

export class Model {
  #engine;
  #held;
  #elements;

  /** Takes the bytes of a .wick file, or what a model of it has; see load() in index.js for the options. */
  constructor(engine, source, {dims = {}, entry = null, maxMemory = 0} = {}) {
    checkDims(dims);
    const most = limit('maxMemory', maxMemory);
    this.#engine = engine;
    this.#held = new Held(source instanceof Shared ? source : new Shared(engine));
    dropped.register(this, this.#held, this);
    try {
      if (!(source instanceof Shared)) this.#read(source, most);
      this.#open(dims, entry, most);
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  #read(bytes, maxMemory) {
    const {exports: wick, memory} = this.#engine, {shared} = this.#held;
    shared.file = this.#engine.allocate(bytes.length);
    memory.u8.set(bytes, shared.file);
    shared.program = this.#engine.made(p => wick.wick_web_load(shared.file, bytes.length, maxMemory, p));
  }
  #open(dims, entry, maxMemory) {
    const {exports: wick, memory} = this.#engine, {program} = this.#held.shared;
    this.#engine.scratch(place => {
      const [list, count] = putDims(this.#engine, dims, place);
      const first = entry === null ? 0 : place(cText(entry));
      this.#held.session = this.#engine.made(p => wick.wick_web_open(program, first, list, count, maxMemory, p));
    });
    const ports = (count, fill, element) => this.#engine.scratch(place => {
      const at = place(PORT), list = [];
      for (let i = 0; i < count; ++i) {
        this.#engine.check(fill(this.#held.session, i, at));
        const {name, dtype, dims: shape} = memory.port(at);
        const of = isContainer(dtype) ? {element: dtypeName(element(this.#held.session, i))} : {};
        list.push(Object.freeze({name, dtype: dtypeName(dtype), dims: shape && Object.freeze(shape), ...of}));
      }
      return Object.freeze(list);
    });
    this.inputs = ports(wick.wick_session_input_count(this.#held.session), wick.wick_session_input, wick.wick_session_input_element);
    this.outputs = ports(wick.wick_session_output_count(this.#held.session), wick.wick_session_output, wick.wick_session_output_element);
    this.labels = [];
    for (let i = 0; i < wick.wick_program_label_count(this.#held.shared.program); ++i)
      this.labels.push(memory.text(wick.wick_program_label(this.#held.shared.program, i)));
    const digest = wick.wick_program_digest(this.#held.shared.program) >>> 0;
    this.sha256 = digest === 0 ? null : Array.from(memory.u8.subarray(digest, digest + 32), b => b.toString(16).padStart(2, '0')).join('');
    this.#held.ports = this.#engine.allocate(TENSOR * (this.inputs.length + this.outputs.length));
    this.#held.inputs = this.inputs.map(() => new Buffer(this.#engine));
    this.#elements = this.inputs.map((_, i) => wick.wick_session_input_element(this.#held.session, i));
  }

  get numerics() {
    return this.#engine.numerics;
  }
  get memory() {
    return this.#engine.exports.wick_session_memory(this.#held.session) >>> 0;
  }
  async metadata(key) {
    this.#alive();
    return this.#engine.scratch(place => this.#engine.memory.text(this.#engine.exports.wick_program_metadata(this.#held.shared.program, place(cText(key)))));
  }

  /** Another entry point of the file, which is not loaded again. */
  async entry(name, options = {}) {
    this.#alive();
    return new Model(this.#engine, this.#held.shared, {...options, entry: name});
  }
  /** What the entry points of the file remember of one stream of runs, as it is at first. */
  async state({dims = {}, maxMemory = 0} = {}) {
    this.#alive();
    return new State(this.#held.shared, dims, maxMemory);
  }

  /** Runs here and now, and returns the outputs by name. */
  runSync(values, {timeout = 0, outputs: wanted = null, state = null} = {}) {
    this.#alive();
    if (state !== null && !(state instanceof State)) throw new WickError('invalid argument', `state is ${kind(state)}: it takes what state() of a model here gave`);
    const most = limit('timeout', timeout, 1e6);  // in nanoseconds below
    const {exports: wick, memory} = this.#engine;
    const given = this.#byName(values);
    if (wanted !== null && !Array.isArray(wanted)) throw new WickError('invalid argument', `outputs is ${kind(wanted)}: it takes an Array of names`);
    if (wanted) for (const name of wanted) if (!this.outputs.some(o => o.name === name)) throw this.#noPort('output', name, this.outputs);
    return this.#engine.scratch(place => {
      this.inputs.forEach((port, i) => this.#put(this.#held.ports + TENSOR * i, port, i, given[port.name], place));
      const out = this.#held.ports + TENSOR * this.inputs.length;
      for (let i = 0; i < this.outputs.length; ++i) memory.setTensor(out + TENSOR * i, 0, 0, []);
      const code = wick.wick_web_run(this.#held.session, this.#held.ports, this.inputs.length, out, this.outputs.length, most, state === null ? 0 : state.of(this.#engine));
      try {
        this.#engine.check(code);
      } catch (error) {
        // The runtime names C++'s way.
        error.message = error.message.replace(/give the run a RecurrentState.*/, 'give the run one: run(inputs, {state: await model.state()})');
        throw error;
      }
      const results = {};
      this.outputs.forEach((port, i) => {
        if (!wanted || wanted.includes(port.name)) results[port.name] = this.#take(out + TENSOR * i, place);
      });
      return results;
    });
  }
  async run(values, options) {
    return this.runSync(values, options);
  }

  #alive() {
    if (this.#held.session === 0) throw new WickError('invalid argument', 'The model was disposed of');
  }
  #noPort(what, name, ports) {
    return new WickError('not found', `There is no ${what} ${JSON.stringify(name)}; the model has ${ports.map(p => p.name).join(', ')}`);
  }
  /** One input may be given by itself. */
  #byName(values) {
    const plain = values !== null && typeof values === 'object' && !ArrayBuffer.isView(values) && !Array.isArray(values);
    const names = this.inputs.map(p => p.name);
    if (!plain || ('data' in values && !names.includes('data'))) {
      if (names.length === 0 && values === undefined) return {};
      if (names.length !== 1) throw new WickError('invalid argument', `The model has ${names.length} inputs: give an object with ${names.join(', ')}`);
      return {[names[0]]: values};
    }
    for (const name of Object.keys(values)) if (!names.includes(name)) throw this.#noPort('input', name, this.inputs);
    return values;
  }

  #put(at, port, i, value, place) {
    const {exports: wick, memory} = this.#engine;
    const what = `input ${port.name}`;
    if (value === undefined) throw new WickError('invalid argument', `${what} is missing`);
    const code = [SEQUENCE, OPTIONAL, OPTIONAL_SEQUENCE].find(c => dtypeName(c) === port.dtype);
    if (code === undefined) return this.#write(at, tensorOf(port, DTYPES.get(port.dtype).code, value, what), bytes => this.#held.inputs[i].of(bytes), place);
    const absent = value === null;
    const list = absent ? [] : code === OPTIONAL ? [value] : value;
    if (!Array.isArray(list) || (absent && code === SEQUENCE)) throw new WickError('type mismatch', `${what} is a ${port.dtype}: give an array of tensors`);
    const parts = place(TENSOR * Math.max(1, list.length));
    list.forEach((v, k) => this.#write(parts + TENSOR * k, tensorOf({dims: null}, this.#elements[i], v, `${what}[${k}]`), place, place));
    const from = absent ? 0 : parts, size = place(4);
    this.#engine.check(wick.wick_pack_bytes(from, list.length, size));
    const bytes = memory.u32(size);
    this.#engine.check(wick.wick_pack(code, this.#elements[i], from, list.length, this.#held.inputs[i].of(bytes), bytes, at));
  }
  #write(at, {type, data, dims}, memoryOf, place) {
    const {memory} = this.#engine;
    if (type.name === 'string') {
      const to = memoryOf(16 * Math.max(1, data.length));
      data.forEach((text, k) => {
        const bytes = utf8(text);
        memory.setU32(to + 16 * k, place(bytes));
        memory.view.setBigUint64(to + 16 * k + 8, BigInt(bytes.length), true);
      });
      return memory.setTensor(at, to, type.code, dims);
    }
    const to = memoryOf(Math.max(1, data.byteLength));
    memory.u8.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), to);
    memory.setTensor(at, to, type.code, dims);
  }

  #take(at, place) {
    const {exports: wick, memory} = this.#engine;
    const {data, dtype, dims} = memory.tensor(at);
    if (isContainer(dtype)) {
      const count = place(8), part = place(TENSOR), list = [];
      this.#engine.check(wick.wick_packed_count(at, count, count + 4));
      const n = memory.u32(count);
      if (dtype !== SEQUENCE && memory.u32(count + 4) === 0) return null;
      for (let k = 0; k < n; ++k) {
        this.#engine.check(wick.wick_packed_element(at, k, part));
        list.push(this.#take(part, place));
      }
      return dtype === OPTIONAL ? list[0] : list;
    }
    const type = dtypeOf(dtype), count = elements(dims);
    if (type.name === 'string') {
      const texts = [];
      for (let k = 0; k < count; ++k) texts.push(memory.textOf(memory.u32(data + 16 * k), memory.u32(data + 16 * k + 8)));
      return makeTensor(type, dims, texts);
    }
    const length = arrayLength(type, count);
    const bytes = memory.u8.slice(data, data + length * type.array.BYTES_PER_ELEMENT);
    return makeTensor(type, dims, new type.array(bytes.buffer, 0, length));
  }

  /** Frees the model's memory; later runs throw. */
  dispose() {
    dropped.unregister(this);
    this.#held.free();
  }
}
