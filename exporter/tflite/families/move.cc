// Operators that take parts of tensors, put them together or choose among their elements. Bytes
// stay bytes.
#include <algorithm>

#include "exporter/tflite/read/read.h"
#include "runtime/ops/attrs/index.h"

namespace wick::tflite {
namespace {

// A slice takes this of each axis, in the file's order.
struct Cut {
  std::vector<int64_t> axes, starts, ends, steps;
  void add(int64_t axis, int64_t start, int64_t end, int64_t step) {
    axes.push_back(axis), starts.push_back(start), ends.push_back(end), steps.push_back(step);
  }
};

ValueId cut(ReadCtx& c, ValueId v, const Cut& what, Layout at = Layout::kFile) {
  if (what.axes.empty()) return v;
  SliceAttrs a;
  std::vector<int64_t> axes;
  for (const int64_t axis : what.axes) axes.push_back(axis_in(at, axis));
  a.axes = c.list(axes), a.starts = c.list(what.starts);
  a.ends = c.list(what.ends), a.steps = c.list(what.steps);
  return c.emit(OpId::kSlice, a, {v});
}

Layout where(const ReadCtx& c, int i) { return c.in_planes(i) ? Layout::kPlanes : Layout::kFile; }

// Inputs: x, where the part begins, its sizes; -1 is all that follows.
void read_slice(ReadCtx& c) {
  const std::vector<int64_t> s = c.sizes(0);
  const std::vector<int64_t> begins = c.ints(1, s.size(), "begins"),
                             sizes = c.ints(2, s.size(), "sizes");
  Cut what;
  for (size_t d = 0; d < s.size(); ++d) {
    const int64_t begin = begins[d], left = begin < 0 || begin > s[d] ? -1 : s[d] - begin;
    const int64_t size = sizes[d] == -1 ? left : sizes[d];
    if (left < 0 || size < 0 || size > left)
      c.fail("its part of dim " + std::to_string(d) + " is outside of the " + std::to_string(s[d]) +
             " elements");
    what.add(static_cast<int64_t>(d), begin, begin + size, 1);
  }
  const Layout at = where(c, 0);
  c.set_raw(0, cut(c, c.raw(0, at), what, at), at);
}

// Goes through the entries of begin, end and strides, of which each is a dim of x, a new dim of 1,
// or an ellipsis that stands for all dims that the others leave.
void read_strided_slice(ReadCtx& c) {
  const auto& o = c.options<fbs::StridedSliceOptions>();
  const std::vector<int64_t> s = c.sizes(0), begin = c.ints(1);
  const std::vector<int64_t> end = c.ints(2, begin.size(), "ends");
  const std::vector<int64_t> stride = c.ints(3, begin.size(), "strides");
  const auto rank = static_cast<int64_t>(s.size()), n = static_cast<int64_t>(begin.size());
  if (n > 2 * kMaxRank) c.fail("it has " + std::to_string(n) + " entries");
  const auto in = [](int32_t mask, int64_t i) { return (mask >> i & 1) != 0; };
  int64_t named = 0;  // entries that are a dim of x
  for (int64_t i = 0; i < n; ++i)
    named += in(o.ellipsis_mask(), i) || in(o.new_axis_mask(), i) ? 0 : 1;
  if (named > rank) c.fail("it names more dims than its input has");
  Cut what;
  std::vector<int64_t> shape;  // of the result, with new dims and without those of single elements
  bool same_rank = true, ellipsis = false;
  int64_t d = 0;
  const auto keep = [&](int64_t size) { shape.push_back(size); };
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    if (in(o.ellipsis_mask(), i)) {
      if (ellipsis) c.fail("it has two ellipses");
      ellipsis = true;
      for (int64_t left = rank - named; left > 0; --left) keep(s[static_cast<size_t>(d++)]);
      continue;
    }
    if (in(o.new_axis_mask(), i)) {
      keep(1);
      same_rank = false;
      continue;
    }
    const int64_t size = s[static_cast<size_t>(d)], step = stride[k];
    if (step == 0 || step < INT32_MIN || step > INT32_MAX) c.fail("a stride of it is out of range");
    const auto from_front = [&](int64_t v) { return v < 0 ? v + size : v; };
    if (in(o.shrink_axis_mask(), i)) {
      const int64_t at = from_front(begin[k]);
      if (at < 0 || at >= size)
        c.fail("element " + std::to_string(begin[k]) + " of a dim of " + std::to_string(size));
      what.add(d++, at, at + 1, 1);
      same_rank = false;
      continue;
    }
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const int64_t first = in(o.begin_mask(), i) ? (step > 0 ? low : high)
                                                : std::clamp(from_front(begin[k]), low, high);
    int64_t last = step > 0 ? high : low;
    if (!in(o.end_mask(), i)) {
      const bool from_begin = o.offset() && end[k] <= INT32_MAX && end[k] >= INT32_MIN;
      last = std::clamp(from_begin ? first + end[k] : from_front(end[k]), low, high);
    }
    const int64_t span = step > 0 ? last - first : first - last, by = step > 0 ? step : -step;
    keep(span <= 0 ? 0 : (span + by - 1) / by);
    if (span <= 0) {
      what.add(d++, 0, 0, 1);
    } else {  // an end of -1 is before the first element here, the last one for the op
      what.add(d++, first, last == -1 ? INT64_MIN : last, step);
    }
  }
  while (d < rank) keep(s[static_cast<size_t>(d++)]);
  const Layout at = same_rank ? where(c, 0) : Layout::kFile;
  const ValueId v = cut(c, c.raw(0, at), what, at);
  if (same_rank) return c.set_raw(0, v, at);
  c.set_raw(0, c.reshape(v, shape));
}

void read_reverse(ReadCtx& c) {
  const std::vector<int64_t> s = c.sizes(0);
  Cut what;
  for (const int64_t given : c.ints(1)) {
    const int64_t axis = c.axis(given, static_cast<int>(s.size()));
    what.add(axis, s[static_cast<size_t>(axis)] - 1, INT64_MIN, -1);
  }
  c.set_raw(0, cut(c, c.raw(0), what));
}

// Splits a value along an axis of the file into the operator's outputs.
void split(ReadCtx& c, int i, int64_t axis, const std::vector<int64_t>& parts) {
  const Layout at = where(c, i);
  SplitAttrs a;
  a.axis = axis_in(at, axis);
  a.sizes = c.list<IntList<64>>(parts);
  const std::vector<ValueId> made = c.emit_all(OpId::kSplit, a, {c.raw(i, at)}, c.outputs());
  for (int k = 0; k < c.outputs(); ++k) c.set_raw(k, made[static_cast<size_t>(k)], at);
}
std::vector<int64_t> equal_parts(ReadCtx& c, int64_t size) {
  const int64_t n = c.outputs();
  if (size % n != 0)
    c.fail(std::to_string(size) + " elements do not make " + std::to_string(n) + " equal parts");
  return std::vector<int64_t>(static_cast<size_t>(n), size / n);
}

void read_split(ReadCtx& c) {  // axis, x
  const int64_t axis = c.axis(c.ints(0, 1, "axes")[0], c.rank(1));
  split(c, 1, axis, equal_parts(c, c.sizes(1)[static_cast<size_t>(axis)]));
}
void read_split_v(ReadCtx& c) {  // x, sizes, axis
  const int64_t axis = c.axis(c.ints(2, 1, "axes")[0], c.rank(0));
  std::vector<int64_t> parts = c.ints(1, static_cast<size_t>(c.outputs()), "sizes");
  int64_t rest = c.sizes(0)[static_cast<size_t>(axis)], open = 0;
  for (const int64_t p : parts) {
    if (p == -1) ++open;
    if (p < -1 || p > rest) c.fail("its sizes do not fit the dim that it splits");
    if (p > 0) rest -= p;
  }
  if (open > 1) c.fail("only one of its sizes may be -1");
  std::replace(parts.begin(), parts.end(), int64_t{-1}, rest);
  split(c, 0, axis, parts);
}
void read_unpack(ReadCtx& c) {
  const std::vector<int64_t> s = c.sizes(0);
  const int64_t axis = c.axis(c.options<fbs::UnpackOptions>().axis(), static_cast<int>(s.size()));
  if (s[static_cast<size_t>(axis)] != c.outputs())
    c.fail("it has " + std::to_string(c.outputs()) + " outputs, the dim that it takes apart has " +
           std::to_string(s[static_cast<size_t>(axis)]));
  SplitAttrs a;
  a.axis = axis;
  a.sizes = c.list<IntList<64>>(equal_parts(c, c.outputs()));
  const std::vector<ValueId> made = c.emit_all(OpId::kSplit, a, {c.raw(0)}, c.outputs());
  for (int k = 0; k < c.outputs(); ++k) {
    const ValueId part = made[static_cast<size_t>(k)];
    c.set_raw(k, c.emit(OpId::kSqueeze, AxesAttrs{c.list({axis})}, {part}));
  }
}
void read_pack(ReadCtx& c) {
  const int64_t axis = c.axis(c.options<fbs::PackOptions>().axis(), c.rank(0) + 1);
  const bool bytes = c.same_bytes();
  std::vector<ValueId> parts;
  for (int i = 0; i < c.inputs(); ++i) {
    const ValueId v = bytes ? c.raw(i) : c.in(i);
    parts.push_back(c.emit(OpId::kUnsqueeze, AxesAttrs{c.list({axis})}, {v}));
  }
  const ValueId y = c.emit(OpId::kConcat, AxisAttrs{axis}, std::move(parts));
  return bytes ? c.set_raw(0, y) : c.set(0, y);
}

// Inputs of other scales than the result's are requantized.
void read_concatenation(ReadCtx& c) {
  const auto& o = c.options<fbs::ConcatenationOptions>();
  const bool bytes = c.same_bytes() && o.activation() == fbs::Activation::None;
  const Layout at = c.layout();
  const int64_t axis = axis_in(at, c.axis(o.axis(), c.rank(0)));
  std::vector<ValueId> parts;
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.rank(i) != c.rank(0)) c.fail("its inputs have different numbers of dims");
    parts.push_back(bytes ? c.raw(i, at) : c.in(i, at));
  }
  const ValueId y = c.emit(OpId::kConcat, AxisAttrs{axis}, std::move(parts));
  return bytes ? c.set_raw(0, y, at) : c.set(0, c.activated(y, o.activation()), at);
}

// The paddings of each dim, which begin and end it, as the op has them: all begins first.
std::vector<int64_t> paddings(ReadCtx& c, Layout at) {
  const auto rank = static_cast<size_t>(c.rank(0));
  const std::vector<int64_t> given = c.ints(1, 2 * rank, "paddings");
  std::vector<int64_t> pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    if (given[2 * d] < 0 || given[2 * d + 1] < 0) c.fail("its paddings must be 0 or more");
    const auto to = static_cast<size_t>(axis_in(at, static_cast<int64_t>(d)));
    pads[to] = given[2 * d], pads[to + rank] = given[2 * d + 1];
  }
  return pads;
}

// A byte that is not given is the one that stands for 0.
void read_pad(ReadCtx& c) {
  const Layout at = where(c, 0);
  const Tensor& x = c.input(0);
  PadAttrs a;
  a.pads = c.list<IntList<16>>(paddings(c, at));
  if (c.has(2)) {
    const ValueId value = c.reshape(c.raw(2), {});
    return c.set_raw(0, c.emit(OpId::kPad, a, {c.raw(0, at), kNoValue, value}), at);
  }
  a.value = x.quantized() ? static_cast<double>(x.how.zeros[0]) : 0;
  c.set_raw(0, c.emit(OpId::kPad, a, {c.raw(0, at)}), at);
}

// REFLECT leaves the edge out. SYMMETRIC repeats it: each end is joined with what is next to it, in
// reverse.
void read_mirror_pad(ReadCtx& c) {
  const fbs::MirrorMode mode = c.options<fbs::MirrorPadOptions>().mode();
  if (mode == fbs::MirrorMode::Reflect) {
    const Layout at = where(c, 0);
    PadAttrs a;
    a.pads = c.list<IntList<16>>(paddings(c, at));
    a.mode = static_cast<int64_t>(PadMode::kReflect);
    return c.set_raw(0, c.emit(OpId::kPad, a, {c.raw(0, at)}), at);
  }
  if (mode != fbs::MirrorMode::Symmetric) c.fail("its mode is neither REFLECT nor SYMMETRIC");
  const std::vector<int64_t> s = c.sizes(0), pads = paddings(c, Layout::kFile);
  ValueId v = c.raw(0);
  for (size_t d = 0; d < s.size(); ++d) {
    const int64_t before = pads[d], behind = pads[d + s.size()];
    const auto axis = static_cast<int64_t>(d);
    if (before > s[d] || behind > s[d]) c.fail("its paddings are larger than what they repeat");
    std::vector<ValueId> parts = {v};
    Cut begin, end;
    begin.add(axis, before - 1, INT64_MIN, -1);
    end.add(axis, s[d] - 1, behind == s[d] ? INT64_MIN : s[d] - 1 - behind, -1);
    if (before > 0) parts.insert(parts.begin(), cut(c, v, begin));
    if (behind > 0) parts.push_back(cut(c, v, end));
    if (parts.size() > 1) v = c.emit(OpId::kConcat, AxisAttrs{axis}, std::move(parts));
  }
  c.set_raw(0, v);
}

void read_gather(ReadCtx& c) {
  const auto& o = c.options<fbs::GatherOptions>();
  if (o.batch_dims() != 0) c.fail("it gathers in batches, which is not supported");
  const AxisAttrs a{c.axis(o.axis(), c.rank(0))};
  c.set_raw(0, c.emit(OpId::kGather, a, {c.raw(0), c.raw(1)}));
}
void read_gather_nd(ReadCtx& c) {
  const ValueId at = c.cast(c.raw(1), DType::kI64);
  c.set_raw(0, c.emit(OpId::kGatherND, GatherNDAttrs{}, {c.raw(0), at}));
}

}  // namespace

WICK_TFLITE_READ(SLICE, read_slice);
WICK_TFLITE_READ(STRIDED_SLICE, read_strided_slice);
WICK_TFLITE_READ(REVERSE_V2, read_reverse);
WICK_TFLITE_READ(SPLIT, read_split);
WICK_TFLITE_READ(SPLIT_V, read_split_v);
WICK_TFLITE_READ(UNPACK, read_unpack);
WICK_TFLITE_READ(PACK, read_pack);
WICK_TFLITE_READ(CONCATENATION, read_concatenation);
WICK_TFLITE_READ(PAD, read_pad);
WICK_TFLITE_READ(PADV2, read_pad);
WICK_TFLITE_READ(MIRROR_PAD, read_mirror_pad);
WICK_TFLITE_READ(GATHER, read_gather);
WICK_TFLITE_READ(GATHER_ND, read_gather_nd);

}  // namespace wick::tflite
