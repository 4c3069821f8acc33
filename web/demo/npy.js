/** Returns {dims, data} of NumPy's file format, of the dtypes that the page has: bytes and float32. */
export function readNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = bytes[6] === 1 ? 10 : 12;
  const size = bytes[6] === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const head = new TextDecoder().decode(bytes.subarray(start, start + size));
  const type = /'descr':\s*'([^']+)'/.exec(head)?.[1];
  const dims = /'shape':\s*\(([^)]*)\)/.exec(head)[1].split(',').filter(s => s.trim()).map(Number);
  const array = {'|u1': Uint8Array, '<f4': Float32Array}[type];
  if (!array) throw new Error(`arrays of ${type} are not read here`);
  return {dims, data: new array(bytes.slice(start + size).buffer)};
}
