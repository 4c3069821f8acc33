// Tensors made from shapes and indices, and rearrangements composed of simpler ones.
#include "exporter/onnx/compose.h"

namespace wick::onnx {
namespace {

// A small file must not make a large constant.
constexpr int64_t kMaxGenerated = 1 << 22;

struct Matrix {
  int64_t rows, columns;
};

HostTensor index_grid(ReadCtx& c, int64_t rows, int64_t columns, bool along_rows) {
  if (rows > kMaxGenerated || columns > kMaxGenerated || rows * columns > kMaxGenerated) {
    c.fail("the matrix is too large to be written down as a constant");
  }
  HostTensor t(DType::kI64, Shape{rows, columns});
  for (int64_t i = 0; i < rows * columns; ++i)
    t.as<int64_t>()[i] = along_rows ? i / columns : i % columns;
  return t;
}

Matrix matrix_of(ReadCtx& c, ValueId x) {
  int rank = c.rank(x);
  if (rank < 2) c.fail("needs rank 2 or more");
  const SymShape& s = shape(c, x);
  if (!s[rank - 1].known() || !s[rank - 2].known()) c.fail("needs known rows and columns");
  return {s[rank - 2].constant(), s[rank - 1].constant()};
}

// 0 .. n - 1, where n is only known when running up to a bound, has no op yet: n must be known.
ValueId iota(ReadCtx& c, int64_t n, DType dtype) {
  if (n < 0 || n > kMaxGenerated) c.fail("the range is too long to be written down as a constant");
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int64_t>(i);
  return cast(c, c.int_constant(v), dtype);
}

// [a, b] -> expand [1, a, 1, b] to [r0, a, r1, b] -> [r0 a, r1 b]
void tile(ReadCtx& c) {
  ValueId x = c.in(0), repeats = cast(c, c.in(1), DType::kI64);
  int rank = c.rank(x);
  if (rank == 0) return c.set(0, c.emit(OpId::kIdentity, {x}));
  if (rank > kMaxRank / 2) c.fail("rank over 4 is not supported");
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
  ValueId x = c.in(0);
  int rank = c.rank(x);
  std::vector<int64_t> axes = c.attr_ints("axes"), want;
  auto given = c.known_ints(c.in(1));
  if (!given) c.fail("the shape must be known when the model is read");
  want = *given;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (want.size() != axes.size()) c.fail("shape and axes must have one length");
  SliceAttrs cut;
  PadAttrs grow;
  std::vector<int64_t> begins(static_cast<size_t>(rank), 0), ends(static_cast<size_t>(rank), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    int axis = axis_of(c, axes[k], rank);
    if (!shape(c, x)[axis].known()) c.fail("needs known sizes");
    int64_t have = shape(c, x)[axis].constant();
    if (want[k] < 0 || want[k] > INT32_MAX) c.fail("the shape is out of range");
    if (have > want[k]) {
      int64_t start = (have - want[k]) / 2;
      int64_t i = cut.starts.count;
      if (i == kMaxRank) c.fail("too many axes");
      cut.starts.values[i] = start;
      cut.ends.values[i] = start + want[k];
      cut.axes.values[i] = axis;
      cut.starts.count = cut.ends.count = cut.axes.count = i + 1;
    } else {
      begins[static_cast<size_t>(axis)] = (want[k] - have) / 2;
      ends[static_cast<size_t>(axis)] = want[k] - have - (want[k] - have) / 2;
    }
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  grow.pads = to_list<16>(c, begins);
  ValueId y = cut.starts.empty() ? x : c.emit(OpId::kSlice, cut, {x});
  c.set(0, c.emit(OpId::kPad, grow, {y}));
}

void eye_like(ReadCtx& c) {
  ValueId x = c.in(0);
  DType dtype =
      (c.attr("dtype") != nullptr) ? static_cast<DType>(c.attr_int("dtype", 1)) : c.dtype(x);
  int64_t k = c.attr_int("k", 0);
  Matrix m = matrix_of(c, x);
  HostTensor row = index_grid(c, m.rows, m.columns, true),
             column = index_grid(c, m.rows, m.columns, false);
  HostTensor eye(DType::kBool, row.shape());
  for (int64_t i = 0; i < row.numel(); ++i) {
    eye.as<uint8_t>()[i] = column.as<int64_t>()[i] - row.as<int64_t>()[i] == k ? 1 : 0;
  }
  c.set(0, cast(c, c.g.add_constant(eye), dtype));
}

void range(ReadCtx& c) {
  auto from = c.known_ints(c.in(0)), to = c.known_ints(c.in(1)), by = c.known_ints(c.in(2));
  bool known = from && to && by && from->size() == 1 && to->size() == 1 && by->size() == 1;
  if (known && c.dtype(c.in(0)) == DType::kI64) {  // sizes of other values, as shapes give them
    int64_t step = (*by)[0];
    if (step == 0) c.fail("delta must not be 0");
    std::vector<int64_t> values;
    int64_t v = (*from)[0];
    while (step > 0 ? v < (*to)[0] : v > (*to)[0]) {
      if (values.size() >= static_cast<size_t>(kMaxGenerated))
        c.fail("the range is endless or too long");
      values.push_back(v);
      if (__builtin_add_overflow(v, step, &v)) break;
    }
    return c.set(0, c.int_constant(values));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (c.g.value(c.in(i)).origin != ValueOrigin::kConstant)
      c.fail("start, limit and delta must be constants");
  }
  double start = element_as_double(c.g.value(c.in(0)).constant.reshaped(Shape{}), 0);
  double limit = element_as_double(c.g.value(c.in(1)).constant.reshaped(Shape{}), 0);
  double delta = element_as_double(c.g.value(c.in(2)).constant.reshaped(Shape{}), 0);
  double count = delta == 0 ? -1 : __builtin_ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kMaxGenerated)) || delta == 0)
    c.fail("the range is endless or too long");
  DType dtype = c.dtype(c.in(0));
  ValueId index = iota(c, count < 0 ? 0 : static_cast<int64_t>(count), dtype);
  c.set(0, c.emit(OpId::kAdd, {c.in(0), c.emit(OpId::kMul, {index, c.in(2)})}));
}

// depth must be known: it is a size. values = [off, on]
void one_hot(ReadCtx& c) {
  const Value& d = c.g.value(c.in(1));
  if (d.origin != ValueOrigin::kConstant || d.constant.numel() != 1)
    c.fail("depth must be a constant");
  auto depth = static_cast<int64_t>(element_as_double(d.constant, 0));
  ValueId indices = cast(c, c.in(0), DType::kI64);
  int rank = c.rank(indices) + 1;
  int axis = axis_of(c, c.attr_int("axis", -1), rank);
  ValueId below = c.emit(OpId::kLess, {indices, int_scalar(c, 0)});
  ValueId wrapped = c.emit(OpId::kAdd, {indices, int_scalar(c, static_cast<double>(depth))});
  ValueId index = unsqueeze(c, c.emit(OpId::kWhere, {below, wrapped, indices}), {axis});
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = depth;
  ValueId classes = reshape(c, iota(c, depth, DType::kI64), shape);
  ValueId hit = c.emit(OpId::kEqual, {index, classes});
  ValueId off = c.emit(OpId::kGather, AxisAttrs{0}, {c.in(2), int_scalar(c, 0)});
  ValueId on = c.emit(OpId::kGather, AxisAttrs{0}, {c.in(2), int_scalar(c, 1)});
  c.set(0, c.emit(OpId::kWhere, {hit, on, off}));
}

// 1 at the first largest, 0 elsewhere
void hardmax(ReadCtx& c) {
  ValueId input = c.in(0);
  int rank = c.rank(input);
  int axis = axis_of(c, c.attr_int("axis", c.opset >= 13 ? -1 : 1), rank);
  bool flat = c.opset < 13 && axis != rank - 1;
  ValueId x = flat ? c.emit(OpId::kFlatten, AxisAttrs{axis}, {input}) : input;
  if (flat) {
    axis = 1;
    rank = 2;
  }
  if (!shape(c, x)[axis].known()) c.fail("needs a known size along the axis");
  int64_t n = shape(c, x)[axis].constant();
  ValueId first = c.emit(OpId::kArgMax, ArgAttrs{axis, 1, 0}, {x});
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = n;
  ValueId hit = c.emit(OpId::kEqual, {first, reshape(c, iota(c, n, DType::kI64), shape)});
  ValueId y = cast(c, hit, c.dtype(x));
  c.set(0, flat ? reshape_like(c, y, input) : y);
}

constexpr ReadRow kRows[] = {
    {"Tile", tile},        {"CenterCropPad", center_crop_pad},
    {"EyeLike", eye_like}, {"Range", range},
    {"OneHot", one_hot},   {"Hardmax", hardmax},
};

}  // namespace

Span<const ReadRow> generate_rows() { return kRows; }

}  // namespace wick::onnx
