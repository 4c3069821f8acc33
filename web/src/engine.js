// One instance of wick.wasm: its memory, its errors, and what it asks of its host.
import {CODES, WickError} from './errors.js';
import {Memory} from './layout.js';
import {probe} from './probe.js';

/** WASI as far as the runtime uses it: a clock, and a text on stderr before it gives up. */
function host(module, memoryOf) {
  const ENOSYS = 52;
  const functions = {
    clock_time_get(_clock, _precision, at) {
      memoryOf().view.setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    fd_write(_file, list, count, written) {
      const memory = memoryOf();
      let bytes = 0, text = '';
      for (let i = 0; i < count; ++i) {
        const size = memory.u32(list + 8 * i + 4);
        text += memory.textOf(memory.u32(list + 8 * i), size);
        bytes += size;
      }
      memory.setU32(written, bytes);
      console.error(text.trimEnd());
      return 0;
    },
    proc_exit(code) {
      throw new WebAssembly.RuntimeError(`it ended with ${code}`);
    },
  };
  const imports = {};
  for (const {module: from, name} of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = functions[name] ?? (() => ENOSYS);
  return imports;
}

export class Engine {
  /** Starts a compiled wick.wasm. Throws WickError 'refused' where the engine does not take it. */
  static async start(module) {
    const engine = new Engine();
    let instance;
    try {
      instance = await WebAssembly.instantiate(module, host(module, () => engine.memory));
    } catch (error) {
      throw new WickError('refused', `wick.wasm does not start: ${error.message}`, {cause: error});
    }
    if (typeof instance.exports.wick_web_fused !== 'function')
      throw new WickError('invalid argument', 'This WebAssembly module is no wick.wasm');
    engine.exports = instance.exports;
    engine.memory = new Memory(instance.exports);
    instance.exports._initialize?.();
    const {fused: fuses} = probe();
    const fused = fuses && instance.exports.wick_web_fused() === 1;
    engine.numerics = fused ? probe() : Object.freeze({
      fused: false,
      promise: 'P3',
      text: fuses ? "float32 results are close to the server's, within a stated bound: this module does not use the engine's fused multiply-add"
                  : probe().text,
    });
    engine.version = engine.memory.text(instance.exports.wick_version());
    return engine;
  }

  /** Why it ran into a trap, or null. Its stack and its locks are then in a state that nothing may use. */
  stopped = null;

  check(code) {
    if (code !== 0) throw new WickError(CODES[code] ?? 'internal', this.memory.text(this.exports.wick_last_error()));
  }
  /** Addresses come as signed numbers: above 2 GiB they would be negative. */
  allocate(bytes) {
    const at = this.exports.wick_web_allocate(bytes) >>> 0;
    if (at === 0) throw new WickError('out of memory', `There is no memory for ${bytes} bytes`);
    return at;
  }
  /** Returns the pointer that a call stores at the place that it gets. */
  made(call) {
    return this.scratch(place => {
      const at = place(4);
      this.memory.setU32(at, 0);
      this.check(call(at));
      return this.memory.u32(at);
    });
  }
  /** Calls f(place), where place(bytes or an array of bytes) returns memory until f returns. */
  scratch(f) {
    if (this.stopped) throw new WickError('internal', `wick.wasm stopped before (${this.stopped}): open another engine`);
    const places = [];
    const place = what => {
      const at = this.allocate(Math.max(1, typeof what === 'number' ? what : what.length));
      places.push(at);
      if (typeof what !== 'number') this.memory.u8.set(what, at);
      return at;
    };
    try {
      return f(place);
    } catch (error) {
      const overflow = error instanceof RangeError && /call stack/i.test(error.message);
      if (!overflow && !(error instanceof WebAssembly.RuntimeError)) throw error;
      this.stopped = error.message;
      throw new WickError('internal', `wick.wasm stopped (${error.message}): please report it`, {cause: error});
    } finally {
      for (const at of places) this.free(at);
    }
  }
  /** Frees what allocate() gave. */
  free(at) {
    if (!this.stopped) this.exports.wick_web_free(at);
  }
}
