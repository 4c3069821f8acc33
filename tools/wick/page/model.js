"use strict";
// The data of the page and queries on it: names, sizes, who makes and who reads a value. All text of the model reaches
// the page as text nodes or canvas text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes, values = data.values, regions = data.regions, constants = data.constants;

const CLASSES = {
  compute: "Conv FusedConv ConvTranspose ConvInteger DeformConv MatMul MatMulInteger Linear FusedLinear " +
    "LinearAttention Cholesky TriangularSolve Solve Inverse Det SlogDet Qr Svd Eigh DFT",
  norm: "BatchNorm Softmax LogSoftmax",
  reduce: "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ArgMax ArgMin MaxPool MaxPoolIndices AveragePool LpPool " +
    "TopK CumSum CumProd MaxRoiPool RoiAlign NonMaxSuppression",
  move: "Identity Reshape Flatten Squeeze Unsqueeze Transpose Expand Concat Split Slice Pad Shape Gather GatherElements " +
    "GatherND ScatterElements ScatterND SliceScatter AsStrided AsStridedScatter Cast BitCast Resize GridSample " +
    "AffineGrid Col2Im NonZero Unique Trilu Range SequenceConstruct SequenceInsert SequenceErase SequenceAt " +
    "SequenceLength SplitToSequence ConcatFromSequence Optional OptionalHasElement OptionalGetElement",
  control: "If Loop",
  sequence: "RNN GRU LSTM",
  quantize: "QuantizeLinear DequantizeLinear",
};
const CLASS_NAMES = {
  compute: "convolution, product", pointwise: "element by element", norm: "normalisation", reduce: "reduction, pooling",
  move: "shape, copy", control: "If, Loop", sequence: "recurrence", quantize: "quantization", port: "input, output",
};
const classOf = new Map();
for (const [name, ops] of Object.entries(CLASSES)) for (const op of ops.split(" ")) classOf.set(op, name);
const opClass = op => classOf.get(op) || "pointwise";

// -- who makes, who reads; regions
const maker = new Int32Array(values.length).fill(-1);
const readers = values.map(() => []);
const regionNodes = regions.map(() => []);
nodes.forEach((n, id) => {
  n.id = id;
  for (const v of n.outputs) if (v >= 0) maker[v] = id;
  for (const v of new Set(n.inputs)) if (v >= 0) readers[v].push(id);
  regionNodes[n.region].push(id);
});
regions.forEach((r, id) => { r.id = id; r.owner = -1; r.title = ""; });
for (const n of nodes) {
  (n.regions || []).forEach((r, k) => {
    regions[r].owner = n.id;
    regions[r].title = n.op === "If" ? (k === 0 ? "then" : "else") : "body";
  });
}
// A control node takes as long as its contents.
const timed = !!data.profile;
for (let id = nodes.length - 1; timed && id >= 0; --id) {
  const n = nodes[id];
  if (!n.regions) continue;
  n.inside = 0;
  for (const r of n.regions) for (const k of regionNodes[r]) n.inside += nodes[k].inside || nodes[k].ms || 0;
}
const nodeMs = n => n.inside !== undefined ? n.inside : n.ms || 0;
const kernelMs = nodes.reduce((sum, n) => sum + (n.ms || 0), 0);

// -- module of a node: from the trainer, or the path in its name (PyTorch's "/a/b/Conv", the trainer's "a.b")
const fromTrainer = "wick.model" in data.model.metadata;
function modulePath(n) {
  if (n.path) return n.path;
  let parts = n.module ? n.module.split(".") : [];
  if (!n.module && n.name.includes("/")) parts = n.name.split("/").filter(Boolean).slice(0, -1);
  else if (!n.module && fromTrainer) parts = n.name.split(".").slice(0, -1);
  return n.path = parts;
}
const hasModules = (() => {
  const tops = new Map();
  for (const n of nodes) if (n.region === 0 && modulePath(n).length) tops.set(n.path[0], (tops.get(n.path[0]) || 0) + 1);
  let grouped = 0;
  for (const k of tops.values()) if (k > 1) grouped += k;
  return grouped * 2 > regionNodes[0].length;
})();

// -- text
const number = x => x === undefined || x === null ? "" : typeof x === "string" ? x : Number.isInteger(x)
  ? x.toLocaleString("en-US") : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(3) : String(+x.toPrecision(5));
function scaled(x, units, step) {
  let k = 0;
  while (x >= step && k < units.length - 1) { x /= step; ++k; }
  return (k === 0 ? x.toLocaleString("en-US") : x.toFixed(x < 10 ? 2 : x < 100 ? 1 : 0)) + " " + units[k];
}
const bytesText = b => b === undefined ? "" : scaled(b, ["B", "KB", "MB", "GB", "TB"], 1000);
const countText = c => scaled(c, ["", "K", "M", "G", "T", "P"], 1000).trim();
const msText = ms => ms >= 100 ? ms.toFixed(0) + " ms" : ms >= 1 ? ms.toFixed(2) + " ms" : (ms * 1000).toFixed(ms < .01 ? 2 : 1) + " µs";
const shareText = x => (100 * x).toFixed(x < .0995 ? 1 : 0) + " %";
const SHORT = { float32: "f32", float16: "f16", bfloat16: "bf16", float64: "f64", int64: "i64", int32: "i32", int8: "i8", uint8: "u8" };
const shapeText = s => s === undefined ? "?" : s.length === 0 ? "scalar" : s.join("×");
const sizeText = v => v.now ? shapeText(v.now) : shapeText(v.shape);
function typeText(v) {
  let text = v.type + " [" + (v.shape ? v.shape.join(", ") : "?") + "]";
  if (v.now && (!v.shape || v.shape.join() !== v.now.join())) text += " = [" + v.now.join(", ") + "]";
  return text;
}
const valueName = id => values[id].name || (maker[id] >= 0 ? "(" + nodes[maker[id]].op + " " + maker[id] + ")" : "(value " + id + ")");
const nodeName = n => n.name || n.op + " " + n.id;
const firstOutput = n => n.outputs.find(v => v >= 0);

const total = {
  parameters: constants.reduce((s, c) => s + c.elements, 0),
  flops: nodes.reduce((s, n) => s + (n.flops || 0), 0),
  moved: nodes.reduce((s, n) => s + movedBytes(n), 0),
  inMain: regionNodes[0].length,
};
function movedBytes(n) {
  if (n.moved !== undefined) return n.moved;
  let sum = 0;
  for (const v of [...new Set(n.inputs), ...n.outputs]) sum += v >= 0 && values[v].bytes || 0;
  return n.moved = n.regions ? 0 : sum;
}
