// Tensors made from shapes and indices, and rearrangements composed of simpler ones.
#include <algorithm>

#include "exporter/onnx/read/compose.h"

namespace wick::onnx {
namespace {

// A small file must not make a large constant.
constexpr uint64_t kMaxGenerated = 1 << 22;

// Returns element k of a vector, as a vector.
ValueId element(ReadCtx& c, ValueId v, int64_t k) {
  return c.emit(OpId::kSlice, SliceAttrs{{k}, {k + 1}, {0}, {}}, {v});
}

// Tiles axis after axis: each gathers elements 0 .. size - 1, then starts from 0 again.
void tile_by_axis(ReadCtx& c, ValueId x, ValueId repeats, int rank) {
  for (int i = 0; i < rank; ++i) {
    ValueId size = dim(c, x, i), count = c.emit(OpId::kMul, {size, element(c, repeats, i)});
    ValueId from = c.emit(OpId::kMod, {arange(c, count), size});
    x = c.emit(OpId::kGather, AxisAttrs{i}, {x, from});
  }
  c.set(0, x);
}

// [a, b] -> expand [1, a, 1, b] to [r0, a, r1, b] -> [r0 a, r1 b]
void tile(ReadCtx& c) {
  ValueId x = c.in(0), repeats = cast(c, c.in(1), DType::kI64);
  if (!ranked(c, x) && c.opset >= 6) {
    const SymShape& s = c.g.value(repeats).shape;
    if (c.g.value(repeats).ranked && s.rank() == 1 && s[0].known())
      rank_or(c, x, static_cast<int>(std::min<int64_t>(s[0].constant(), kMaxRank + 1)));
  }
  int rank = c.rank(x);
  if (rank == 0) return c.set(0, c.emit(OpId::kIdentity, {x}));
  if (c.opset < 6) {  // a count and the axis that it is for
    std::vector<int64_t> all;
    for (int i = 0; i < rank; ++i) all.push_back(i);
    ValueId here =
        c.emit(OpId::kEqual, {c.int_constant(all), reshape(c, cast(c, c.in(2), DType::kI64), {1})});
    repeats = c.emit(OpId::kWhere, {here, reshape(c, repeats, {1}), int_scalar(c, 1)});
  }
  if (rank > kMaxRank / 2) return tile_by_axis(c, x, repeats, rank);
  std::vector<int64_t> places;
  for (int i = 0; i < rank; ++i) places.push_back(2 * i);
  ValueId extents = shape_of(c, x);
  ValueId pairs =
      c.emit(OpId::kConcat, AxisAttrs{1}, {unsqueeze(c, repeats, {1}), unsqueeze(c, extents, {1})});
  ValueId wide =
      c.emit(OpId::kExpand, ShapeAttrs{}, {unsqueeze(c, x, places), reshape(c, pairs, {-1})});
  c.set(0, reshape_to(c, wide, c.emit(OpId::kMul, {repeats, extents})));
}

// Each axis is cut around its middle, or padded; an odd rest goes to the end.
void center_crop_pad(ReadCtx& c) {
  ValueId x = c.in(0), want = cast(c, c.in(1), DType::kI64);
  std::vector<int64_t> axes = c.attr_ints("axes");
  check_rank(c, want, 1, "shape");
  if (ranked(c, want) && (ranked(c, x) || !axes.empty())) {
    const int64_t count = axes.empty() ? c.rank(x) : static_cast<int64_t>(axes.size());
    if (dim_equal(shape(c, want)[0], SymDim(count)) == Tri::kNo)
      c.fail("shape must have " + std::to_string(count) + " sizes, one an axis");
  }
  ValueId zero = c.int_constant({0}), two = c.int_constant({2}), have = shape_of(c, x);
  if (!axes.empty()) have = c.emit(OpId::kGather, AxisAttrs{0}, {have, c.int_constant(axes)});
  ValueId over = c.emit(OpId::kSub, {have, want});
  ValueId begin = c.emit(OpId::kDiv, {c.emit(OpId::kMax, {over, zero}), two});
  ValueId end = c.emit(OpId::kAdd, {begin, c.emit(OpId::kMin, {have, want})});
  SliceAttrs cut;
  cut.axes = to_list<kMaxRank>(c, axes);
  ValueId y = c.emit(OpId::kSlice, cut, {x, begin, end});
  ValueId missing = c.emit(OpId::kMax, {c.emit(OpId::kSub, {want, have}), zero});
  ValueId before = c.emit(OpId::kDiv, {missing, two});
  ValueId pads =
      c.emit(OpId::kConcat, AxisAttrs{0}, {before, c.emit(OpId::kSub, {missing, before})});
  PadAttrs grow;
  grow.axes = to_list<kMaxRank>(c, axes);
  c.set(0, c.emit(OpId::kPad, grow, {y, pads}));
}

// 1 where column - row is k.
void eye_like(ReadCtx& c) {
  ValueId x = c.in(0);
  const DType dtype = asked_dtype(c, c.dtype(x));
  if (c.g.value(x).ranked && c.rank(x) != 2) c.fail("takes a matrix");
  ValueId sizes = shape_of(c, x);
  auto along = [&](int64_t axis) {
    ValueId size = c.emit(OpId::kGather, AxisAttrs{0}, {sizes, c.int_constant({axis})});
    return arange(c, size);
  };
  ValueId diagonal =
      c.emit(OpId::kAdd, {reshape(c, along(0), {-1, 1}), int_scalar(c, c.attr_int("k", 0))});
  c.set(0, cast(c, c.emit(OpId::kEqual, {along(1), diagonal}), dtype));
}

void range(ReadCtx& c) {
  auto from = c.known_ints(c.in(0)), to = c.known_ints(c.in(1)), by = c.known_ints(c.in(2));
  bool known = from && to && by && from->size() == 1 && to->size() == 1 && by->size() == 1;
  if (known && is_int(c.dtype(c.in(0)))) {  // from sizes of other values, as shapes give them
    int64_t step = (*by)[0];
    if (step == 0) c.fail("delta must not be 0");
    const auto first = static_cast<uint64_t>((*from)[0]), last = static_cast<uint64_t>((*to)[0]);
    uint64_t n = 0;
    if (step > 0 && (*to)[0] > (*from)[0]) n = (last - first - 1) / static_cast<uint64_t>(step) + 1;
    if (step < 0 && (*to)[0] < (*from)[0])
      n = (first - last - 1) / (uint64_t{0} - static_cast<uint64_t>(step)) + 1;
    if (n > kMaxGenerated) c.fail("the range is endless or too long");
    // A constant that the file's budget does not allow is computed at run time.
    if (c.scope.model.ledger.take(n * sizeof(int64_t)).ok()) {
      std::vector<int64_t> values(static_cast<size_t>(n));
      for (uint64_t i = 0; i < n; ++i)
        values[i] = static_cast<int64_t>(first + i * static_cast<uint64_t>(step));
      ValueId numbers = c.g.add_constant(HostTensor::ints(values));  // it is paid for
      return c.set(0, cast(c, numbers, c.dtype(c.in(0))));
    }
  }
  ValueId in[3];
  for (int i = 0; i < 3; ++i) {
    const Value& v = c.g.value(c.in(i));
    in[i] = v.ranked && v.shape.rank() == 0 ? c.in(i) : reshape(c, c.in(i), {});
  }
  DType dtype = c.dtype(in[0]);
  if (is_int(dtype)) {
    ValueId index = c.emit(OpId::kRange, {cast(c, in[0], DType::kI64), cast(c, in[1], DType::kI64),
                                          cast(c, in[2], DType::kI64)});
    return c.set(0, cast(c, index, dtype));
  }
  // The number of steps is computed in double; an endless or backward range is empty or refused at
  // run time.
  ValueId wide[3];
  for (int i = 0; i < 3; ++i) wide[i] = cast(c, in[i], DType::kF64);
  ValueId steps = c.emit(OpId::kDiv, {c.emit(OpId::kSub, {wide[1], wide[0]}), wide[2]});
  ValueId count = cast(c, c.emit(OpId::kCeil, {steps}), DType::kI64);
  ValueId index = c.emit(OpId::kRange, {int_scalar(c, 0), count, int_scalar(c, 1)});
  // 16-bit floats do not hold large indices: compute in float32, unless stash_type says otherwise.
  const bool wider = is_float(dtype) && dtype_bits(dtype) == 16 && c.attr_int("stash_type", 1) == 1;
  const DType inner = wider ? DType::kF32 : dtype;
  ValueId way = c.emit(OpId::kMul, {cast(c, index, inner), cast(c, in[2], inner)});
  c.set(0, cast(c, c.emit(OpId::kAdd, {cast(c, in[0], inner), way}), dtype));
}

// values = [off, on]; an index outside of [-depth, depth) gives off everywhere.
void one_hot(ReadCtx& c) {
  ValueId depth = reshape(c, cast(c, c.in(1), DType::kI64), {});
  ValueId indices = cast(c, c.in(0), DType::kI64);
  int64_t axis = c.attr_int("axis", -1);
  if (axis >= 0 || ranked(c, indices)) {
    const int rank = c.rank(indices) + 1;
    axis = axis_of(c, axis, rank) - rank;
  } else if (axis < -kMaxRank) {
    c.fail("axis " + std::to_string(axis) + " is out of range");
  }
  ValueId below = c.emit(OpId::kLess, {indices, int_scalar(c, 0)});
  ValueId wrapped = c.emit(OpId::kAdd, {indices, depth});
  ValueId index = unsqueeze(c, c.emit(OpId::kWhere, {below, wrapped, indices}), {axis});
  std::vector<int64_t> shape(static_cast<size_t>(-axis), 1);  // from the axis on
  shape[0] = -1;
  ValueId classes = arange(c, reshape(c, depth, {1}));
  ValueId hit = c.emit(OpId::kEqual, {index, reshape(c, classes, shape)});
  ValueId off = c.emit(OpId::kGather, AxisAttrs{0}, {c.in(2), int_scalar(c, 0)});
  ValueId on = c.emit(OpId::kGather, AxisAttrs{0}, {c.in(2), int_scalar(c, 1)});
  c.set(0, c.emit(OpId::kWhere, {hit, on, off}));
}

// Reads Hardmax: 1 at the first largest element, 0 elsewhere. Before opset 13 the axes from `axis`
// on are treated as one.
void hardmax(ReadCtx& c) {
  ValueId input = c.in(0);
  int64_t axis = c.attr_int("axis", c.opset >= 13 ? -1 : 1);
  const bool flat = c.opset < 13;
  ValueId x = flat ? c.emit(OpId::kFlatten, AxisAttrs{axis}, {input}) : input;
  if (flat) axis = 1;
  // An empty axis has no largest element, and the result has no elements either.
  if (ranked(c, x) && dim_equal(shape(c, x)[axis_of(c, axis, c.rank(x))], SymDim(0)) == Tri::kYes)
    return c.set(0, c.emit(OpId::kIdentity, {input}));
  ValueId first = c.emit(OpId::kArgMax, ArgAttrs{axis, 1, 0}, {x});
  ValueId none = expand_to(c, c.scalar(x, 0), shape_of(c, x));
  ValueId hit = expand_to(c, c.scalar(x, 1), shape_of(c, first));
  ValueId y = c.emit(OpId::kScatterElements, ScatterAttrs{axis, 0}, {none, first, hit});
  c.set(0, flat ? reshape_like(c, y, input) : y);
}

}  // namespace

WICK_READ(Tile, tile);
WICK_READ(CenterCropPad, center_crop_pad);
WICK_READ(EyeLike, eye_like);
WICK_READ(Range, range);
WICK_READ(OneHot, one_hot);
WICK_READ(Hardmax, hardmax);

}  // namespace wick::onnx
