// ONNX files of one node, written byte by byte: what `wick convert` makes of them has inputs and outputs of any type.
const varint = n => {
  const bytes = [];
  for (; n > 127; n = Math.floor(n / 128)) bytes.push(n % 128 | 128);
  return [...bytes, n];
};
const number = (field, n) => [...varint(field * 8), ...varint(n)];
const bytes = (field, content) => [...varint(field * 8 + 2), ...varint(content.length), ...content];
const text = (field, s) => bytes(field, [...new TextEncoder().encode(s)]);

const tensor = (elem, dims) => bytes(1, [...number(1, elem), ...bytes(2, dims.flatMap(d =>
  bytes(1, typeof d === 'number' ? number(1, d) : text(2, d))))]);
const TYPES = {
  tensor: (elem, dims) => tensor(elem, dims),
  sequence: (elem, dims) => bytes(4, bytes(1, tensor(elem, dims))),
  optional: (elem, dims) => bytes(9, bytes(1, tensor(elem, dims))),
  optional_sequence: (elem, dims) => bytes(9, bytes(1, bytes(4, bytes(1, tensor(elem, dims))))),
};
const port = (field, {name, kind = 'tensor', elem, dims}) => bytes(field, [...text(1, name), ...bytes(2, TYPES[kind](elem, dims))]);

/** Returns the bytes of a model: `op` on all inputs, one output. Attributes are integers. */
export function onnx({op, inputs, output, attributes = {}, opset = 23}) {
  const attribute = ([name, value]) => bytes(5, [...text(1, name), ...number(3, value), ...number(20, 2)]);
  const node = [...inputs.flatMap(i => text(1, i.name)), ...text(2, output.name), ...text(3, 'one'), ...text(4, op), ...Object.entries(attributes).flatMap(attribute)];
  const graph = [...bytes(1, node), ...text(2, 'one'), ...inputs.flatMap(i => port(11, i)), ...port(12, output)];
  return new Uint8Array([...number(1, 10), ...bytes(8, number(2, opset)), ...bytes(7, graph)]);
}

/** Returns {code, dims, data} of a TensorProto; null for what is no tensor of numbers. */
export function readTensor(file, dtypeOf) {
  let at = 0, raw = null;
  const dims = [], values = [];
  let code = 0;
  const read = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = file[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, n);
    }
  };
  while (at < file.length) {
    const key = Number(read()), field = key >> 3;
    if ((key & 7) === 0) {
      const value = read();
      if (field === 1) dims.push(Number(value));
      else if (field === 2) code = Number(value);
      else values.push(value);
    } else if ((key & 7) === 2) {
      const size = Number(read()), part = file.subarray(at, at + size);
      const numbers = new DataView(part.buffer, part.byteOffset, size);
      if (field === 9) raw = part;
      else if (field === 4) for (let i = 0; i < size; i += 4) values.push(numbers.getFloat32(i, true));
      else if (field === 10) for (let i = 0; i < size; i += 8) values.push(numbers.getFloat64(i, true));
      else if (field === 6) return null;
      else if (field !== 8) {
        for (const end = at + size; at < end;) (field === 1 ? dims : values).push(field === 1 ? Number(read()) : read());
        continue;
      }
      at += size;
    } else {
      return null;
    }
  }
  if (code === 0 || code === 8) return null;
  const {array, bits} = dtypeOf(code), count = dims.reduce((n, d) => n * d, 1);
  if (raw) return {dims, data: new array(new Uint8Array(raw).buffer, 0, bits < 8 ? Math.ceil(count * bits / 8) : count)};
  const big = array === BigInt64Array || array === BigUint64Array;
  return {dims, data: array.from(values, v => big ? BigInt(v) : Number(v))};
}
