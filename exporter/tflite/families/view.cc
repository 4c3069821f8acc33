// Operators that give the same elements another shape, or repeat them. Bytes stay bytes.
#include <algorithm>

#include "exporter/tflite/read/read.h"
#include "runtime/ops/attrs/layout.h"

namespace wick::tflite {
namespace {

// The shape is input 1, or an option of the first files, in which [0] was how a scalar was written.
void read_reshape(ReadCtx& c) {
  std::vector<int64_t> shape;
  const auto* option = c.options<fbs::ReshapeOptions>().new_shape();
  if (c.has(1)) {
    shape = c.ints(1);
  } else if (option != nullptr) {
    c.tensors.visit(option->size());
    shape.assign(option->begin(), option->end());
    if (shape.size() == 1 && shape[0] == 0) shape.clear();
  } else {
    for (const int32_t d : c.output(0).shape) shape.push_back(d);
  }
  c.set_raw(0, c.reshape(c.raw(0), shape));
}

void read_squeeze(ReadCtx& c) {
  const auto* option = c.options<fbs::SqueezeOptions>().squeeze_dims();
  std::vector<int64_t> axes;
  const int rank = c.rank(0);
  if (size_of(option) > static_cast<size_t>(rank)) c.fail("it squeezes more dims than there are");
  for (size_t i = 0; i < size_of(option); ++i)
    axes.push_back(c.axis(option->Get(static_cast<flatbuffers::uoffset_t>(i)), rank));
  c.set_raw(0, c.emit(OpId::kSqueeze, AxesAttrs{c.list(axes)}, {c.raw(0)}));
}

void read_expand_dims(ReadCtx& c) {
  const int64_t axis = c.axis(c.ints(1, 1, "axes")[0], c.rank(0) + 1);
  c.set_raw(0, c.emit(OpId::kUnsqueeze, AxesAttrs{c.list({axis})}, {c.raw(0)}));
}

void read_transpose(ReadCtx& c) {
  std::vector<int64_t> perm;
  for (const int64_t a : c.ints(1)) perm.push_back(c.axis(a, c.rank(0)));
  c.set_raw(0, c.emit(OpId::kTranspose, TransposeAttrs{c.list(perm)}, {c.raw(0)}));
}

// Sizes are known now, as a rule, so that what is computed from them is, too.
void read_shape(ReadCtx& c) {
  const DType to = c.output(0).dtype;
  const SymShape s = c.tensors.shape(c.input(0));
  if (!is_static(s))
    return c.set_raw(0, c.cast(c.emit(OpId::kShape, ShapeOpAttrs{}, {c.raw(0)}), to));
  if (to != DType::kI32 && to != DType::kI64) c.fail("its result must be int32 or int64");
  std::vector<int64_t> wide;
  std::vector<int32_t> narrow;
  for (const SymDim& d : s) {
    wide.push_back(d.constant());
    narrow.push_back(static_cast<int32_t>(std::min<int64_t>(d.constant(), INT32_MAX)));
  }
  const Shape length{static_cast<int64_t>(wide.size())};
  c.set_raw(0, c.g.add_constant(to == DType::kI32 ? HostTensor::of(length, narrow)
                                                  : HostTensor::ints(wide)));
}

ValueId expanded(ReadCtx& c, ValueId v, const std::vector<int64_t>& shape) {
  return c.emit(OpId::kExpand, ShapeAttrs{c.list(shape)}, {v});
}
void read_broadcast_to(ReadCtx& c) {
  const ValueId x = c.raw(0);
  c.set_raw(0, c.emit(OpId::kExpand, ShapeAttrs{}, {x, c.int_constant(c.ints(1))}));
}
void read_fill(ReadCtx& c) {
  const ValueId dims = c.int_constant(c.ints(0));
  c.set_raw(0, c.emit(OpId::kExpand, ShapeAttrs{}, {c.raw(1), dims}));
}

// Repeats one axis after the other: [a, n, b] becomes [a, times, n, b], which is [a, times n, b].
void read_tile(ReadCtx& c) {
  std::vector<int64_t> sizes = c.sizes(0);
  const std::vector<int64_t> times = c.ints(1, sizes.size(), "numbers");
  ValueId v = c.raw(0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (times[d] < 0) c.fail("it repeats an axis " + std::to_string(times[d]) + " times");
    if (times[d] == 1) continue;
    int64_t before = 1, behind = 1, total = 0;
    for (size_t k = 0; k < d; ++k) before = saturated_product(before, sizes[k]);
    for (size_t k = d + 1; k < sizes.size(); ++k) behind = saturated_product(behind, sizes[k]);
    if (__builtin_mul_overflow(sizes[d], times[d], &total)) c.fail("its result is too large");
    const ValueId one = c.reshape(v, {before, 1, sizes[d], behind});
    v = expanded(c, one, {before, times[d], sizes[d], behind});
    sizes[d] = total;
    v = c.reshape(v, sizes);
  }
  c.set_raw(0, v);
}

// Halves of the two below: [.., n, ..] as [.., n / block, block, ..].
int64_t block_of(ReadCtx& c, uint8_t options) {
  c.need_rank(0, 4);
  const int64_t block = c.options<fbs::BlockOptions>(options).block_size();
  if (block < 1) c.fail("its block size must be 1 or more, is " + std::to_string(block));
  return block;
}
int64_t divided(const ReadCtx& c, int64_t size, int64_t by) {
  if (size % by != 0) c.fail(std::to_string(size) + " is no multiple of " + std::to_string(by));
  return size / by;
}

void read_space_to_depth(ReadCtx& c) {
  const int64_t b = block_of(c, kSpaceToDepthOptions);
  const std::vector<int64_t> s = c.sizes(0);
  const int64_t h = divided(c, s[1], b), w = divided(c, s[2], b);
  ValueId v = c.reshape(c.raw(0), {s[0], h, b, w, b, s[3]});
  v = c.transpose(v, {0, 1, 3, 2, 4, 5});
  c.set_raw(0, c.reshape(v, {s[0], h, w, saturated_product(b * b, s[3])}));
}
void read_depth_to_space(ReadCtx& c) {
  const int64_t b = block_of(c, kDepthToSpaceOptions);
  const std::vector<int64_t> s = c.sizes(0);
  const int64_t depth = divided(c, s[3], b * b);
  ValueId v = c.reshape(c.raw(0), {s[0], s[1], s[2], b, b, depth});
  v = c.transpose(v, {0, 1, 3, 2, 4, 5});
  c.set_raw(0, c.reshape(v, {s[0], saturated_product(s[1], b), saturated_product(s[2], b), depth}));
}

// The blocks of the dims behind the first one, as these two name them.
struct Blocks {
  std::vector<int64_t> sizes;  // of the blocks
  std::vector<int64_t> begins, ends;
};
Blocks blocks_of(ReadCtx& c) {
  Blocks b;
  b.sizes = c.ints(1);
  const size_t n = b.sizes.size(), rank = static_cast<size_t>(c.rank(0));
  if (n + 1 > rank || rank + n > static_cast<size_t>(kMaxRank))
    c.fail("it has " + std::to_string(n) + " blocks of " + std::to_string(rank) + " dims");
  const std::vector<int64_t> margins = c.ints(2, 2 * n, "margins");
  for (size_t i = 0; i < n; ++i) {
    const auto fits = [](int64_t v, int64_t least) { return v >= least && v <= INT32_MAX; };
    if (!fits(b.sizes[i], 1) || !fits(margins[2 * i], 0) || !fits(margins[2 * i + 1], 0))
      c.fail("a block must be 1 or more, a margin 0 or more, and both below 2^31");
    b.begins.push_back(margins[2 * i]), b.ends.push_back(margins[2 * i + 1]);
  }
  return b;
}

// [N, n blocks.., rest] becomes [blocks.. N, n.., rest].
void read_space_to_batch(ReadCtx& c) {
  const Blocks b = blocks_of(c);
  std::vector<int64_t> s = c.sizes(0), before(s.size(), 0), behind(s.size(), 0);
  for (size_t i = 0; i < b.sizes.size(); ++i)
    before[1 + i] = b.begins[i], behind[1 + i] = b.ends[i];
  PadAttrs pad;
  for (const auto* side : {&before, &behind}) {
    for (const int64_t p : *side) pad.pads.values[pad.pads.count++] = p;
  }
  const Tensor& x = c.input(0);
  pad.value = x.quantized() ? static_cast<double>(x.how.zeros[0]) : 0;
  ValueId v = c.emit(OpId::kPad, pad, {c.raw(0)});
  const size_t n = b.sizes.size();
  std::vector<int64_t> split = {s[0]}, perm, shape = {s[0]};
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = divided(c, s[1 + i] + before[1 + i] + behind[1 + i], b.sizes[i]);
    split.push_back(size), split.push_back(b.sizes[i]);
    shape.push_back(size);
    shape[0] = saturated_product(shape[0], b.sizes[i]);
    perm.push_back(static_cast<int64_t>(2 + 2 * i));
  }
  perm.push_back(0);
  for (size_t i = 0; i < n; ++i) perm.push_back(static_cast<int64_t>(1 + 2 * i));
  for (size_t d = n + 1; d < s.size(); ++d) {
    perm.push_back(static_cast<int64_t>(d + n));
    split.push_back(s[d]), shape.push_back(s[d]);
  }
  c.set_raw(0, c.reshape(c.transpose(c.reshape(v, split), perm), shape));
}

// The way back, and the margins are cut off.
void read_batch_to_space(ReadCtx& c) {
  const Blocks b = blocks_of(c);
  const std::vector<int64_t> s = c.sizes(0);
  const size_t n = b.sizes.size();
  int64_t all = 1;
  for (const int64_t size : b.sizes) all = saturated_product(all, size);
  std::vector<int64_t> split = b.sizes, perm = {static_cast<int64_t>(n)};
  std::vector<int64_t> shape = {divided(c, s[0], all)};
  split.push_back(shape[0]);
  SliceAttrs cut;
  for (size_t i = 0; i < n; ++i) {
    split.push_back(s[1 + i]);
    shape.push_back(saturated_product(s[1 + i], b.sizes[i]));
    perm.push_back(static_cast<int64_t>(n + 1 + i)), perm.push_back(static_cast<int64_t>(i));
    const int64_t end = shape.back() - b.ends[i];
    if (end < b.begins[i]) c.fail("its margins are larger than dim " + std::to_string(1 + i));
    cut.axes.values[cut.axes.count++] = static_cast<int64_t>(1 + i);
    cut.starts.values[cut.starts.count++] = b.begins[i];
    cut.ends.values[cut.ends.count++] = end;
    cut.steps.values[cut.steps.count++] = 1;
  }
  for (size_t d = n + 1; d < s.size(); ++d) {
    perm.push_back(static_cast<int64_t>(d + n));
    split.push_back(s[d]), shape.push_back(s[d]);
  }
  const ValueId v = c.reshape(c.transpose(c.reshape(c.raw(0), split), perm), shape);
  c.set_raw(0, c.emit(OpId::kSlice, cut, {v}));
}

}  // namespace

WICK_TFLITE_READ(RESHAPE, read_reshape);
WICK_TFLITE_READ(SQUEEZE, read_squeeze);
WICK_TFLITE_READ(EXPAND_DIMS, read_expand_dims);
WICK_TFLITE_READ(TRANSPOSE, read_transpose);
WICK_TFLITE_READ(SHAPE, read_shape);
WICK_TFLITE_READ(BROADCAST_TO, read_broadcast_to);
WICK_TFLITE_READ(FILL, read_fill);
WICK_TFLITE_READ(TILE, read_tile);
WICK_TFLITE_READ(SPACE_TO_DEPTH, read_space_to_depth);
WICK_TFLITE_READ(DEPTH_TO_SPACE, read_depth_to_space);
WICK_TFLITE_READ(SPACE_TO_BATCH_ND, read_space_to_batch);
WICK_TFLITE_READ(BATCH_TO_SPACE_ND, read_batch_to_space);

}  // namespace wick::tflite
