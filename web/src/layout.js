// The structs of wick.h in a 32-bit memory (native/wick_web.c checks these numbers), and texts.
export const TENSOR = 80;
export const PORT = 112;
const MAX_RANK = 8;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Bytes of memory that may have grown since: a view is made anew when its buffer is gone. */
export class Memory {
  constructor(exports) {
    this.exports = exports;
    this.buffer = null;
  }
  get view() {
    if (this.buffer !== this.exports.memory.buffer) {
      this.buffer = this.exports.memory.buffer;
      this.data = new DataView(this.buffer);
      this.bytes = new Uint8Array(this.buffer);
    }
    return this.data;
  }
  get u8() {
    return this.view && this.bytes;
  }
  u32(at) {
    return this.view.getUint32(at, true);
  }
  setU32(at, value) {
    this.view.setUint32(at, value, true);
  }
  text(address) {
    if (address === 0) return null;
    const at = address >>> 0, end = this.u8.indexOf(0, at);
    return decoder.decode(this.u8.subarray(at, end));
  }
  textOf(at, bytes) {
    return decoder.decode(this.u8.subarray(at, at + bytes));
  }

  port(at) {
    const rank = this.view.getInt32(at + 8, true);
    const dims = [];
    for (let i = 0; i < rank; ++i) {
      const size = Number(this.view.getBigInt64(at + 16 + 8 * i, true));
      dims.push(size >= 0 ? size : this.text(this.u32(at + 80 + 4 * i)));
    }
    return {name: this.text(this.u32(at)), dtype: this.view.getInt32(at + 4, true), dims: rank < 0 ? null : dims};
  }
  tensor(at) {
    const rank = this.view.getInt32(at + 8, true);
    const dims = [];
    for (let i = 0; i < rank; ++i) dims.push(Number(this.view.getBigInt64(at + 16 + 8 * i, true)));
    return {data: this.u32(at), dtype: this.view.getInt32(at + 4, true), dims};
  }
  setTensor(at, data, dtype, dims) {
    this.setU32(at, data);
    this.view.setInt32(at + 4, dtype, true);
    this.view.setInt32(at + 8, dims.length, true);
    for (let i = 0; i < MAX_RANK; ++i) this.view.setBigInt64(at + 16 + 8 * i, BigInt(dims[i] ?? 0), true);
  }
}

/** The bytes of a text with its end, as C wants it. */
export const cText = text => encoder.encode(`${text}\0`);
export const utf8 = text => encoder.encode(text);
