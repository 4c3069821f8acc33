// Tensors as JavaScript has them: a typed array for each dtype, texts for strings, arrays for sequences.
import {WickError} from './errors.js';

// name, ONNX's number, bits of an element, the array that holds it. Floats of 16 bits are given by their bits: few
// engines have an array of them. Elements of less than a byte are packed, the first in the lowest bits.
const ROWS = [
  ['float32', 1, 32, Float32Array], ['uint8', 2, 8, Uint8Array], ['int8', 3, 8, Int8Array],
  ['uint16', 4, 16, Uint16Array], ['int16', 5, 16, Int16Array], ['int32', 6, 32, Int32Array],
  ['int64', 7, 64, BigInt64Array], ['string', 8, 128, Array], ['bool', 9, 8, Uint8Array],
  ['float16', 10, 16, Uint16Array], ['float64', 11, 64, Float64Array], ['uint32', 12, 32, Uint32Array],
  ['uint64', 13, 64, BigUint64Array], ['bfloat16', 16, 16, Uint16Array],
  ['float8_e4m3fn', 17, 8, Uint8Array], ['float8_e4m3fnuz', 18, 8, Uint8Array],
  ['float8_e5m2', 19, 8, Uint8Array], ['float8_e5m2fnuz', 20, 8, Uint8Array],
  ['uint4', 21, 4, Uint8Array], ['int4', 22, 4, Uint8Array], ['float4_e2m1', 23, 4, Uint8Array],
  ['float8_e8m0fnu', 24, 8, Uint8Array], ['uint2', 25, 2, Uint8Array], ['int2', 26, 2, Uint8Array],
];
const BY_CODE = new Map(ROWS.map(([name, code, bits, array]) => [code, Object.freeze({name, code, bits, array})]));
export const DTYPES = new Map([...BY_CODE.values()].map(type => [type.name, type]));
export const SEQUENCE = 64, OPTIONAL = 65, OPTIONAL_SEQUENCE = 66;
const CONTAINERS = new Map([[SEQUENCE, 'sequence'], [OPTIONAL, 'optional'], [OPTIONAL_SEQUENCE, 'optional_sequence']]);

export const isContainer = code => CONTAINERS.has(code);
export const dtypeName = code => BY_CODE.get(code)?.name ?? CONTAINERS.get(code) ?? `dtype ${code}`;
export function dtypeOf(code) {
  const type = BY_CODE.get(code);
  if (!type) throw new WickError('unsupported', `${dtypeName(code)} has no array in JavaScript`);
  return type;
}

export const elements = dims => dims.reduce((n, d) => n * d, 1);
/** The length of the array that holds so many elements. */
export const arrayLength = (type, count) => type.bits < 8 ? Math.ceil(count * type.bits / 8) : count;

const article = name => `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`;
/** What a value is, as errors name it. */
export const kind = value => value === null || value === undefined ? `${value}`
  : article(Array.isArray(value) ? 'Array' : value.constructor?.name ?? typeof value);

const INTEGERS_64 = new Set(['int64', 'uint64']);

/**
 * Returns a typed array of a plain one. Each element has to be a number that the type holds: a typed array makes NaN of a
 * nested list, of a text and of a hole, and cuts what is too large. Integers of 64 bits may be numbers as far as these are exact.
 */
function fromList(type, list, what) {
  const bad = (i, why) => new WickError('type mismatch', `${what} is ${type.name}, and element ${i} is ${why}`);
  const wide = INTEGERS_64.has(type.name), wanted = type.name === 'string' ? 'string' : 'number';
  for (let i = 0; i < list.length; ++i) {
    const v = list[i];
    if (Array.isArray(v)) throw bad(i, 'a list: give one flat array, and dims');
    if (typeof v === wanted || (wide && typeof v === 'bigint') || (type.name === 'bool' && typeof v === 'boolean')) continue;
    throw bad(i, `${kind(v)}, not ${article(wide ? 'bigint' : wanted)}`);
  }
  if (type.name === 'string') return list;
  const exact = wide ? list.map((v, i) => {
    if (typeof v === 'number' && !Number.isSafeInteger(v)) throw bad(i, `${v}, which is no exact integer`);
    return BigInt(v);
  }) : type.name === 'bool' ? list.map(Number) : list;
  const data = type.array.from(exact);
  if (!type.name.startsWith('float'))
    data.forEach((v, i) => { if (v !== exact[i] || (type.name === 'bool' && v > 1)) throw bad(i, `${list[i]}, which it does not hold`); });
  return data;
}

/** Float16Array, where the engine has it, is read by its bits. */
function asArray(type, data, what) {
  if (ArrayBuffer.isView(data) && isDetached(data.buffer))
    throw new WickError('invalid argument', `${what} is an array whose memory was transferred before: it is empty`);
  if (Array.isArray(data) && type.bits >= 8 && !/^b?float(16|8)/.test(type.name)) return fromList(type, data, what);
  if (data instanceof type.array) return data;
  if (type.name === 'float16' && typeof Float16Array === 'function' && data instanceof Float16Array)
    return new Uint16Array(data.buffer, data.byteOffset, data.length);
  if (type.array === Uint8Array && data instanceof Uint8ClampedArray) return new Uint8Array(data.buffer, data.byteOffset, data.length);
  const hint = /^b?float16/.test(type.name) ? ` of its bits (fromFloat32(numbers, '${type.name}') makes one)` : '';
  throw new WickError('type mismatch', `${what} is ${type.name}, which takes ${article(type.array.name)}${hint}, not ${kind(data)}`);
}

/** Returns the dims of data without dims: the port's, where at most one of them is free. */
function inferDims(port, length, type, what) {
  const dims = port.dims;
  if (dims === null) throw new WickError('shape mismatch', `${what} may have any shape: give {data, dims}`);
  const count = type.bits < 8 ? Math.floor(length * 8 / type.bits) : length;
  const free = dims.filter(d => typeof d === 'string' || d === null);
  const known = elements(dims.filter(d => typeof d === 'number'));
  if (free.length > 1) throw new WickError('shape mismatch', `${what} has the shape [${dims.join(', ')}] with ${free.length} free sizes: give {data, dims}`);
  const size = free.length === 1 && known > 0 ? count / known : NaN;
  if (free.length === 1 && !Number.isInteger(size))
    throw new WickError('shape mismatch', `${what} has the shape [${dims.join(', ')}], which ${count} elements do not fill`);
  return dims.map(d => typeof d === 'number' ? d : size);
}

/**
 * Returns {type, data, dims} of what a caller gave for a port: a tensor {data, dims}, or data alone. `what` names it in
 * errors.
 */
export function tensorOf(port, code, value, what) {
  const type = dtypeOf(code);
  const whole = value !== null && typeof value === 'object' && !ArrayBuffer.isView(value) && !Array.isArray(value);
  if (whole && value.dtype !== undefined && value.dtype !== type.name)
    throw new WickError('type mismatch', `${what} is ${type.name}, not ${value.dtype}`);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') value = [value];
  const data = asArray(type, whole && value.data !== undefined ? value.data : value, what);
  const dims = whole && value.dims !== undefined ? [...value.dims] : inferDims(port, data.length, type, what);
  if (!dims.every(d => Number.isSafeInteger(d) && d >= 0) || dims.length > 8)
    throw new WickError('shape mismatch', `${what}: [${dims.join(', ')}] is no shape of at most 8 sizes`);
  if (type.name === 'bool' && data.some(v => v > 1)) throw new WickError('type mismatch', `${what} is bool, whose elements are 0 or 1`);
  if (data.length !== arrayLength(type, elements(dims)))
    throw new WickError('shape mismatch', `${what} has ${data.length} elements, the shape [${dims.join(', ')}] ${elements(dims)}`);
  return {type, data, dims};
}

/** A result: `data` is a copy that nothing else writes. */
export const makeTensor = (type, dims, data) => ({dtype: type.name, dims, data});

/** Whether a buffer was transferred to somewhere else: no view of it can be made. (`detached` of ArrayBuffer is too new.) */
export function isDetached(buffer) {
  try {
    return !new Uint8Array(buffer);
  } catch {
    return true;
  }
}

/** Returns the buffers of all arrays in a value, each once. Shared ones are not moved. */
export function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  }
  else if (value !== null && typeof value === 'object') for (const part of Object.values(value)) buffersOf(part, found);
  return [...found];
}

/** Returns the numbers of a tensor of 16-bit floats, or of any other dtype, as float32. */
export function toFloat32(tensor) {
  const {dtype, data} = tensor ?? {};
  if (!DTYPES.has(dtype) || data === undefined) throw new WickError('invalid argument', `toFloat32() takes a tensor {dtype, data}, not ${kind(tensor)}`);
  if (dtype === 'float32') return data;
  if (dtype === 'bfloat16') {
    const words = Uint32Array.from(data, bits => bits << 16);
    return new Float32Array(words.buffer);
  }
  if (dtype === 'float16') return Float32Array.from(data, half);
  if (DTYPES.get(dtype).bits < 8 || dtype === 'string' || dtype.startsWith('float8'))
    throw new WickError('unsupported', `${dtype} has no conversion to float32 here: let the model cast it`);
  return Float32Array.from(data, Number);
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Returns the bits of float32 numbers as float16 or bfloat16, rounded to the nearest, ties to even. */
export function fromFloat32(numbers, dtype) {
  const bitsOf = {float16: halfBits, bfloat16: brainBits}[dtype];
  if (!bitsOf) throw new WickError('invalid argument', `fromFloat32() makes float16 or bfloat16, not ${dtype}`);
  const floats = asArray(DTYPES.get('float32'), numbers, 'what fromFloat32() was given');
  return Uint16Array.from(new Uint32Array(Float32Array.from(floats).buffer), bitsOf);
}

/** `bits >> by`, rounded by the bits that leave. A fraction that runs over makes the next exponent, as it should. */
const rounded = (bits, by) => bits + (1 << by - 1) - 1 + (bits >>> by & 1) >>> by;

function brainBits(bits) {
  const sign = bits >>> 16 & 0x8000, size = bits & 0x7fffffff;
  return sign | (size > 0x7f800000 ? 0x7fc0 : rounded(size, 16));
}

function halfBits(bits) {
  const sign = bits >>> 16 & 0x8000, size = bits & 0x7fffffff, exponent = size >>> 23;
  if (size > 0x7f800000) return sign | 0x7e00;
  if (size >= 0x477ff000) return sign | 0x7c00;  // 65520 and more
  if (exponent > 112) return sign | rounded(size - (112 << 23), 13);
  // A subnormal: a count of 2^-24, of which nothing is left below half of one.
  return exponent < 102 ? sign : sign | rounded(size & 0x7fffff | 0x800000, 126 - exponent);
}
