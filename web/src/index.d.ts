/** Wick's runtime in WebAssembly, in browsers and in Node 18 or newer. */

/** A code of wick.h by name; 'refused': this engine does not run WebAssembly with vectors, or may not. */
export type Code =
  | 'ok' | 'invalid argument' | 'shape mismatch' | 'type mismatch' | 'not found' | 'unsupported' | 'invalid program'
  | 'budget exceeded' | 'out of memory' | 'io' | 'device' | 'deadline' | 'internal' | 'cancelled' | 'busy' | 'refused';
/** The codes of wick.h, in the order of their numbers. */
export const CODES: readonly Code[];

/** What every function here throws, or rejects with. */
export class WickError extends Error {
  constructor(code: Code, message: string, options?: {cause?: unknown});
  readonly code: Code;
}

/**
 * Element types. `data` of a tensor is the typed array of the same name (int64 and uint64: of BigInt), and
 * float16, bfloat16: Uint16Array of the bits (`fromFloat32` makes them, `toFloat32` reads them; a Float16Array is taken, too),
 * bool, floats of 8 bits: Uint8Array, types below a byte: Uint8Array, packed, the first in the lowest bits,
 * string: an array of strings.
 */
export type DType =
  | 'float32' | 'float64' | 'float16' | 'bfloat16' | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32'
  | 'uint64' | 'bool' | 'string' | 'float8_e4m3fn' | 'float8_e4m3fnuz' | 'float8_e5m2' | 'float8_e5m2fnuz' | 'float8_e8m0fnu'
  | 'float4_e2m1' | 'uint4' | 'int4' | 'uint2' | 'int2';
export type NumberArray =
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray | Uint16Array
  | Uint32Array | BigUint64Array;

/** A row-major tensor. A result's `data` is a copy of its own. */
export interface Tensor<Data = any> {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly data: Data;
}
/**
 * An array, whose shape is the input's where at most one of its sizes is free, or data with dims; a number for one element.
 * Integers of 64 bits may be numbers in plain arrays, as far as these are exact.
 */
export type TensorLike =
  | NumberArray | readonly number[] | readonly bigint[] | readonly string[] | readonly boolean[] | number | bigint | string
  | {readonly data: NumberArray | readonly number[] | readonly bigint[] | readonly string[] | readonly boolean[]; readonly dims?: readonly number[]; readonly dtype?: DType};
/** Sequences are arrays of tensors, an absent optional is null. */
export type Value<Data = any> = Tensor<Data> | Tensor<Data>[] | null;
export type ValueLike = TensorLike | readonly TensorLike[] | null;
export type Inputs = Readonly<Record<string, ValueLike>>;
export type Outputs = Record<string, any>;

/** An input or output. A size is a number, the name of a free one, or null; dims are null where the rank is free. */
export interface Port {
  readonly name: string;
  readonly dtype: DType | 'sequence' | 'optional' | 'optional_sequence';
  readonly dims: readonly (number | string | null)[] | null;
  /** Of sequences and optionals: the type of their elements. */
  readonly element?: DType;
}

/** What float32 results are worth here. Integer results have the bits of every other machine in both cases. */
export interface Numerics {
  /** Whether multiply-adds are fused, so that float32 bits equal those of a server. */
  readonly fused: boolean;
  /** P2: the bits of every machine with a fused multiply-add; P3: a stated bound (docs/numerics.md). */
  readonly promise: 'P2' | 'P3';
  readonly text: string;
}
/** Asks the engine, once. Throws WickError 'refused' where WebAssembly does not run. */
export function probe(): Numerics;

/** `total` is null where only the sender knows it. */
export interface Progress {
  readonly what: 'engine' | 'model';
  readonly loaded: number;
  readonly total: number | null;
}
/** An address (in Node also a path), or what has the bytes already. */
export type Source = string | URL | Request | Response | Blob | ArrayBuffer | ArrayBufferView;

export interface OpenOptions {
  /** Another wick.wasm than the one beside this module, such as one with the kernels of a model alone. */
  wasm?: Source | WebAssembly.Module;
  /** The same, built with fused multiply-adds: taken where the engine has them. */
  wasmFused?: Source | WebAssembly.Module;
  /** Run models in a worker of its own (a thread in Node). */
  worker?: boolean;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}
export interface LoadOptions {
  /** Sizes to plan memory for now: runs up to them allocate nothing. */
  dims?: Readonly<Record<string, number>>;
  /** An entry point; the first one by default. */
  entry?: string;
  /** Bytes that the program, and each of its runs, may take. */
  maxMemory?: number;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}
export interface RunOptions {
  /** Milliseconds; then the run ends with the code 'deadline', and the next one begins anew. */
  timeout?: number;
  /** The names of the outputs that are wanted; all by default. */
  outputs?: readonly string[];
  /** What the model remembers of the stream of which this run is a step. A run that fails leaves it as it was. */
  state?: State;
  /** Of a worker: move the arrays of the inputs there instead of copying them. They are empty here afterwards. */
  transfer?: boolean;
}

/** What the entry points of a file remember of one stream of runs, such as the keys and values of a text. */
export interface State {
  /** Makes it what it was at first. */
  reset(): Promise<void>;
  dispose(): void | Promise<void>;
}
export interface StateOptions {
  /** Sizes that the file leaves free, such as the batch. */
  dims?: Readonly<Record<string, number>>;
  /** Bytes that it may take; 0 is a GiB. */
  maxMemory?: number;
}

/** A model, whether here or in a worker. */
export interface AnyModel {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** Class labels, in the order of the last dim of the output; [] where there are none. */
  readonly labels: readonly string[];
  /** The SHA-256 that the file has of itself. */
  readonly sha256: string | null;
  readonly numerics: Numerics;
  /** Bytes of planned memory and packed weights; 0 until sizes are known. In a worker: as it was when loaded. */
  readonly memory: number;
  /** The text that the file has for a key, or null. */
  metadata(key: string): Promise<string | null>;
  /** Runs on all inputs by name; the one input of a model may be given by itself, and none of a model without. */
  run(inputs?: Inputs | ValueLike, options?: RunOptions): Promise<Outputs>;
  /** Another entry point of the file, which is not loaded again: states serve all of them. */
  entry(name: string, options?: Pick<LoadOptions, 'dims' | 'maxMemory'>): Promise<AnyModel>;
  /** A new stream, for models that keep state between runs: runs are given it as an option. */
  state(options?: StateOptions): Promise<State>;
  /** Frees its memory at once; that of a model which nobody has any more is freed some time later. */
  dispose(): void | Promise<void>;
}
/** A model in this thread. */
export interface Model extends AnyModel {
  /** As run(), at once. */
  runSync(inputs?: Inputs | ValueLike, options?: RunOptions): Outputs;
  entry(name: string, options?: Pick<LoadOptions, 'dims' | 'maxMemory'>): Promise<Model>;
  dispose(): void;
}

/** An engine: a wick.wasm that was started, here or in a worker. */
export interface Engine<M extends AnyModel = Model> {
  readonly version: string;
  readonly numerics: Numerics;
  readonly worker: boolean;
  /** Whether it takes no calls any more: it was closed, or stopped by itself. load() of this package then opens another. */
  readonly ended: boolean;
  load(source: Source, options?: LoadOptions): Promise<M>;
  /** Ends a worker; models of it reject from then on. */
  close(): void;
}
export function open(options: OpenOptions & {worker: true}): Promise<Engine<AnyModel>>;
export function open(options?: OpenOptions & {worker?: false}): Promise<Engine>;
export function open(options: OpenOptions): Promise<Engine<AnyModel>>;

/** Loads a model into an engine that all models of load() share, one here and one in a worker. */
export function load(source: Source, options: LoadOptions & {worker: true}): Promise<AnyModel>;
export function load(source: Source, options?: LoadOptions & {worker?: false}): Promise<Model>;
export function load(source: Source, options: LoadOptions & {worker?: boolean}): Promise<AnyModel>;

/** Returns the numbers of a tensor as float32: of 16-bit floats by their bits, of others converted. */
export function toFloat32(tensor: Tensor): Float32Array;
/** Returns the bits of numbers as float16 or bfloat16, for inputs of these types: rounded to the nearest, ties to even. */
export function fromFloat32(numbers: Float32Array | readonly number[], dtype: 'float16' | 'bfloat16'): Uint16Array;
