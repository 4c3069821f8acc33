#include "trainer/capture/varied.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "runtime/core/half.h"

namespace wick {
namespace {

using Runs = std::vector<const HostTensor*>;

// Returns the input that can replace the attribute of this name; 0 if there is none.
size_t input_of(OpId op, const std::string& field) {
  struct Slot {
    OpId op;
    const char* field;
    size_t input;
  };
  static constexpr Slot kSlots[] = {
      {OpId::kReshape, "shape", 1}, {OpId::kExpand, "shape", 1}, {OpId::kSlice, "starts", 1},
      {OpId::kSlice, "ends", 2},    {OpId::kPad, "pads", 1},     {OpId::kSplit, "sizes", 1},
      {OpId::kTopK, "k", 1},        {OpId::kTrilu, "k", 1},
  };
  for (const Slot& s : kSlots) {
    if (s.op == op && field == s.field) return s.input;
  }
  return 0;
}

std::vector<int64_t> integers_of(const AttrField& f, const AnyAttrs& a) {
  if (f.kind == AttrKind::kInt) return {attr_int(f, const_cast<void*>(a.get()))};
  const auto list = attr_ints(f, a.get());
  return {list.begin(), list.end()};
}

// Solves element by element; empty if the lists have different lengths or an element has no
// expression.
std::optional<std::vector<SymDim>> solve_list(const std::vector<std::vector<int64_t>>& runs,
                                              const SizeSolver& solver) {
  std::vector<SymDim> list;
  for (size_t i = 0; i < runs[0].size(); ++i) {
    std::vector<int64_t> values;
    for (const auto& run : runs) {
      if (run.size() != runs[0].size()) return {};
      values.push_back(run[i]);
    }
    const auto e = solver.solve(values);
    if (!e) return {};
    list.push_back(*e);
  }
  for (const auto& run : runs) {
    if (run.size() != runs[0].size()) return {};
  }
  return list;
}

// Expresses a shape in numbers: 0 for a dim that is copied, -1 for one that is inferred. Empty if
// that is not enough. With `copies` a 0 in `shape` already means copy.
std::optional<DimList> shape_of_numbers(const std::vector<SymDim>& shape, bool copies,
                                        const SymShape& in) {
  DimList dims;
  bool rest = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t d = shape[i].constant();
    const bool known = shape[i].known();
    if (known && d == 0 && !copies) return {};
    if (!known && static_cast<int>(i) < in.rank() && shape[i] == in[static_cast<int>(i)]) {
      d = 0;
    } else if (!known) {
      d = -1;
    }
    if (d == -1 && std::exchange(rest, true)) return {};
    dims.values[dims.count++] = d;
  }
  // If a size is 0, -1 cannot be inferred from the others.
  for (const SymDim& d : in) {
    if (rest && d.min() <= 0) return {};
  }
  return dims;
}

// Returns whether a size that is 0 in some run can be an empty dimension instead of ONNX's "copy"
// (allowzero). ONNX cannot express that together with a -1, or with a 0 that does copy.
bool takes_zeros(const std::vector<SymDim>& shape) {
  return std::none_of(shape.begin(), shape.end(),
                      [](const SymDim& d) { return d.known() && d.constant() <= 0; });
}

// Expresses a bound of a slice as counted from the end, or as "to the end".
std::optional<int64_t> from_the_end(const SymDim& bound, const SymDim& extent, bool end) {
  if (bound.known()) return bound.constant();
  const SymDim behind = bound - extent;
  if (!behind.known()) return {};
  if (behind.constant() == 0 && end) return INT64_MAX;
  if (behind.constant() < 0) return behind.constant();
  return {};
}

std::vector<SymDim> field_or(const Call& call, const char* name, const DimList& numbers) {
  if (auto at = call.varied.find(name); at != call.varied.end()) return at->second;
  std::vector<SymDim> list;
  for (int64_t v : numbers.span()) list.emplace_back(v);
  return list;
}

struct Bounds {
  SliceAttrs attrs;
  std::vector<SymDim> starts, ends;
  bool numbers = true;  // true if attrs has all of them
};
Bounds bounds_of(const Call& call, const ir::Graph& g) {
  Bounds b{*static_cast<const SliceAttrs*>(call.attrs.get()), {}, {}};
  b.starts = field_or(call, "starts", b.attrs.starts);
  b.ends = field_or(call, "ends", b.attrs.ends);
  const ir::Value& x = g.value(call.inputs[0]);
  for (size_t i = 0; i < b.starts.size(); ++i) {
    int64_t axis =
        b.attrs.axes.empty() ? static_cast<int64_t>(i) : b.attrs.axes[static_cast<int64_t>(i)];
    if (x.ranked && axis < 0) axis += x.shape.rank();
    const bool forward = b.attrs.steps.empty() || b.attrs.steps[static_cast<int64_t>(i)] > 0;
    const SymDim extent = x.ranked ? x.shape[static_cast<int>(axis)] : SymDim();
    const auto start = from_the_end(b.starts[i], extent, false),
               end = from_the_end(b.ends[i], extent, forward);
    b.numbers = b.numbers && x.ranked && start && end;
    if (start) b.attrs.starts.values[i] = *start;
    if (end) b.attrs.ends.values[i] = *end;
  }
  return b;
}

ir::NodeId add_slice(const Call& call, const std::string& name, SizeValues& sizes, ir::Graph& g) {
  const Bounds b = bounds_of(call, g);
  if (b.numbers) return g.add_node(call.op, AnyAttrs::of(b.attrs), {call.inputs[0]}, 1, name);
  auto numbers = [&](const DimList& list) {
    return list.empty() ? ir::kNoValue : g.add_constant(HostTensor::ints(list.span()));
  };
  std::vector<ir::ValueId> in = {call.inputs[0], sizes.list(b.starts), sizes.list(b.ends),
                                 numbers(b.attrs.axes), numbers(b.attrs.steps)};
  return g.add_node(call.op, AnyAttrs::of(SliceAttrs{}), std::move(in), 1, name);
}

// The bounds of a SliceScatter are attributes. If they vary, it becomes a Concat: the part before
// the slice, the source, the part after it.
ir::NodeId add_slice_scatter(const Call& call, const std::string& name, SizeValues& sizes,
                             ir::Graph& g) {
  const Bounds b = bounds_of(call, g);
  if (b.numbers) return g.add_node(call.op, AnyAttrs::of(b.attrs), call.inputs, 1, name);
  if (b.starts.size() != 1 || b.attrs.steps.at_or(0, 1) != 1)
    throw Error("a write to a slice of several dims or in steps");
  if ((b.ends[0] - b.starts[0]).min() < 0)
    throw Error("a write to a slice that is empty at some sizes");
  const ir::ValueId axes = g.add_constant(HostTensor::ints(
      b.attrs.axes.empty() ? Span<const int64_t>(DimList{0}.span()) : b.attrs.axes.span()));
  auto part = [&](const SymDim& from, const SymDim& to) {
    return g.emit(OpId::kSlice, SliceAttrs{},
                  {call.inputs[0], sizes.list({from}), sizes.list({to}), axes});
  };
  const std::vector<ir::ValueId> parts = {part(SymDim(0), b.starts[0]), call.inputs[1],
                                          part(b.ends[0], SymDim(INT64_MAX))};
  return g.add_node(OpId::kConcat, AnyAttrs::of(AxisAttrs{b.attrs.axes.at_or(0, 0)}), parts, 1,
                    name);
}

// -- constants

bool same_element(const HostTensor& a, int64_t i, const HostTensor& b, int64_t k) {
  const size_t size = dtype_size(a.dtype());
  return memcmp(static_cast<const char*>(a.data()) + static_cast<size_t>(i) * size,
                static_cast<const char*>(b.data()) + static_cast<size_t>(k) * size, size) == 0;
}

std::optional<std::vector<SymDim>> shape_in(const Runs& runs, const SizeSolver& solver) {
  std::vector<std::vector<int64_t>> shapes;
  for (const HostTensor* t : runs) shapes.emplace_back(t->shape().begin(), t->shape().end());
  return solve_list(shapes, solver);
}

// Returns the element as an integer, if it is one that float64 and int64 can hold.
std::optional<int64_t> whole_at(const HostTensor& t, int64_t i) {
  double v = 0;
  switch (t.dtype()) {
    case DType::kI64: return t.as<int64_t>()[i];
    case DType::kI32: return t.as<int32_t>()[i];
    case DType::kF32: v = static_cast<double>(t.as<float>()[i]); break;
    case DType::kF64: v = t.as<double>()[i]; break;
    case DType::kF16: v = static_cast<double>(static_cast<float>(t.as<Half>()[i])); break;
    case DType::kBF16: v = static_cast<double>(static_cast<float>(t.as<BFloat16>()[i])); break;
    default: return {};
  }
  if (!(std::fabs(v) < 0x1p53) || v != std::floor(v)) return {};
  return static_cast<int64_t>(v);
}

// One number that fills a shape: full().
ir::ValueId filled(const Runs& runs, const SizeSolver& solver, SizeValues& sizes, ir::Graph& g) {
  const HostTensor* first = nullptr;
  bool one_number = true, whole = true;
  std::vector<int64_t> numbers;  // by run
  for (const HostTensor* t : runs) {
    whole = whole && t->numel() != 0;
    if (t->numel() == 0) continue;
    if (first == nullptr) first = t;
    one_number = one_number && same_element(*first, 0, *t, 0);
    for (int64_t i = 1; i < t->numel(); ++i) {
      if (!same_element(*t, 0, *t, i)) return ir::kNoValue;
    }
    const auto n = whole_at(*t, 0);
    whole = whole && n.has_value();
    numbers.push_back(n.value_or(0));
  }
  const auto shape = shape_in(runs, solver);
  if (first == nullptr || !shape) return ir::kNoValue;
  if (!one_number) {  // filled with a size
    const auto n = whole ? solver.solve(numbers) : std::nullopt;
    if (!n) return ir::kNoValue;
    return g.emit(OpId::kExpand, ShapeAttrs{},
                  {sizes.scalar(*n, first->dtype()), sizes.list(*shape)});
  }
  const ir::ValueId one =
      g.add_constant(HostTensor(first->dtype(), {}, first->data(), dtype_size(first->dtype())));
  return g.emit(OpId::kExpand, ShapeAttrs{}, {one, sizes.list(*shape)});
}

ir::ValueId cast(ir::Graph& g, ir::ValueId v, DType to) {
  if (g.value(v).dtype == to) return v;
  CastAttrs a;
  a.to = static_cast<int64_t>(to);
  return g.emit(OpId::kCast, a, {v});
}

// How many steps reach from `starts` to a size that forward read or computed: arange(a, n, step).
std::optional<SymDim> steps_of(const SizeSolver& solver, const std::vector<int64_t>& starts,
                               const std::vector<int64_t>& counts, int64_t step) {
  const auto begun = [&](int64_t n) { return (std::max<int64_t>(n, 0) + step - 1) / step; };
  if (starts != std::vector<int64_t>(starts.size(), starts[0])) return {};
  for (const auto& [size, values] : solver.sizes()) {
    bool all = counts != std::vector<int64_t>(counts.size(), counts[0]);
    for (size_t r = 0; r < counts.size() && all; ++r)
      all = begun(values[r] - starts[0]) == counts[r];
    if (all) return dim_floor_div(size + SymDim(step - 1 - starts[0]), step);
  }
  return {};
}

// Evenly spaced integers: arange().
ir::ValueId stepped(const Runs& runs, const SizeSolver& solver, SizeValues& sizes, ir::Graph& g) {
  std::vector<int64_t> starts, counts;
  std::optional<int64_t> step;
  for (const HostTensor* t : runs) {
    if (t->shape().rank() != 1 || t->numel() == 0) return ir::kNoValue;
    const auto start = whole_at(*t, 0);
    if (!start) return ir::kNoValue;
    starts.push_back(*start);
    counts.push_back(t->numel());
    for (int64_t i = 1; i < t->numel(); ++i) {
      const auto v = whole_at(*t, i);
      if (!v || (*v - *start) % i != 0) return ir::kNoValue;
      if (step.value_or((*v - *start) / i) != (*v - *start) / i) return ir::kNoValue;
      step = (*v - *start) / i;
    }
  }
  const auto start = solver.solve(starts);
  auto count = step && *step > 1 ? steps_of(solver, starts, counts, *step) : std::nullopt;
  if (!count) count = solver.solve(counts);
  if (!start || !count || !step) return ir::kNoValue;
  const DType i64 = DType::kI64;
  ir::ValueId v = g.emit(OpId::kRange, {sizes.scalar(SymDim(0), i64), sizes.scalar(*count, i64),
                                        sizes.scalar(SymDim(1), i64)});
  if (*step != 1) v = g.emit(OpId::kMul, {v, sizes.scalar(SymDim(*step), i64)});
  if (!start->known() || start->constant() != 0)
    v = g.emit(OpId::kAdd, {v, sizes.scalar(*start, i64)});
  return cast(g, v, runs[0]->dtype());
}

double real_at(const HostTensor& t, int64_t i) {
  return t.dtype() == DType::kF64 ? t.as<double>()[i] : static_cast<double>(t.as<float>()[i]);
}
bool is_real(const HostTensor& t) { return t.dtype() == DType::kF32 || t.dtype() == DType::kF64; }
bool rounds_to(double v, const HostTensor& t, int64_t i) {
  return t.dtype() == DType::kF64 ? v == t.as<double>()[i]
                                  : static_cast<float>(v) == t.as<float>()[i];
}
// Returns the nearest number with `digits` decimal digits.
double decimal(double v, int digits) {
  char text[40];
  (void)snprintf(text, sizeof text, "%.*g", digits, v);
  double near = 0;
  std::from_chars(text, text + strlen(text), near);
  return near;
}
// Returns the shortest decimal number that rounds to the element, probably the one in the source
// code.
double written(const HostTensor& t, int64_t i) {
  const double v = real_at(t, i);
  for (int digits = 1; digits < 17; ++digits) {
    const double d = decimal(v, digits);
    if (rounds_to(d, t, i)) return d;
  }
  return v;
}

// Numbers between two ends, each computed from the nearer one: linspace().
ir::ValueId on_a_line(const Runs& runs, const SizeSolver& solver, SizeValues& sizes, ir::Graph& g) {
  std::vector<int64_t> counts;
  const HostTensor* longest = runs[0];
  for (const HostTensor* t : runs) {
    if (t->shape().rank() != 1 || t->numel() == 0 || !is_real(*t)) return ir::kNoValue;
    counts.push_back(t->numel());
    if (t->numel() > longest->numel()) longest = t;
  }
  const double start = written(*longest, 0), end = written(*longest, longest->numel() - 1);
  for (const HostTensor* t : runs) {
    const auto n = static_cast<double>(t->numel());
    const double step = (end - start) / std::max(n - 1, 1.0);
    for (int64_t i = 0; i < t->numel(); ++i) {
      const auto at = static_cast<double>(i);
      if (!rounds_to(at < n / 2 ? start + step * at : end - step * (n - 1 - at), *t, i))
        return ir::kNoValue;
    }
  }
  const auto count = solver.solve(counts);
  if (!count) return ir::kNoValue;
  const DType f64 = DType::kF64;
  auto number = [&](double v) { return g.add_constant(HostTensor::of<double>({}, {v})); };
  const ir::ValueId n = sizes.scalar(*count, f64);
  const ir::ValueId last = g.emit(OpId::kSub, {n, number(1)});
  const ir::ValueId step =
      g.emit(OpId::kDiv, {number(end - start), g.emit(OpId::kMax, {last, number(1)})});
  const ir::ValueId at = cast(
      g,
      g.emit(OpId::kRange, {sizes.scalar(SymDim(0), DType::kI64), sizes.scalar(*count, DType::kI64),
                            sizes.scalar(SymDim(1), DType::kI64)}),
      f64);
  const ir::ValueId from = g.emit(OpId::kAdd, {number(start), g.emit(OpId::kMul, {step, at})});
  const ir::ValueId behind =
      g.emit(OpId::kSub, {number(end), g.emit(OpId::kMul, {step, g.emit(OpId::kSub, {last, at})})});
  const ir::ValueId first = g.emit(OpId::kLess, {at, g.emit(OpId::kDiv, {n, number(2)})});
  return cast(g, g.emit(OpId::kWhere, {first, from, behind}), runs[0]->dtype());
}

// Ones on the diagonal of a square, zeros elsewhere: eye().
ir::ValueId diagonal(const Runs& runs, const SizeSolver& solver, SizeValues& sizes, ir::Graph& g) {
  std::vector<int64_t> extents;
  for (const HostTensor* t : runs) {
    if (t->shape().rank() != 2 || t->shape()[0] != t->shape()[1]) return ir::kNoValue;
    const int64_t n = t->shape()[0];
    extents.push_back(n);
    for (int64_t i = 0; i < n * n; ++i) {
      if (whole_at(*t, i) != (i % (n + 1) == 0 ? 1 : 0)) return ir::kNoValue;
    }
  }
  const auto n = solver.solve(extents);
  if (!n) return ir::kNoValue;
  const DType i64 = DType::kI64;
  const ir::ValueId at = g.emit(OpId::kRange, {sizes.scalar(SymDim(0), i64), sizes.scalar(*n, i64),
                                               sizes.scalar(SymDim(1), i64)});
  const ir::ValueId down = g.emit(OpId::kUnsqueeze, AxesAttrs{{1}}, {at});
  return cast(g, g.emit(OpId::kEqual, {at, down}), runs[0]->dtype());
}

// A list of a few integers, of the same length in every run.
ir::ValueId numbers(const Runs& runs, const SizeSolver& solver, SizeValues& sizes, ir::Graph& g) {
  constexpr int64_t kFew = 64;
  std::vector<std::vector<int64_t>> lists;
  for (const HostTensor* t : runs) {
    if (!(t->shape() == runs[0]->shape()) || t->numel() > kFew) return ir::kNoValue;
    lists.emplace_back();
    for (int64_t i = 0; i < t->numel(); ++i) {
      const auto v = whole_at(*t, i);
      if (!v) return ir::kNoValue;
      lists.back().push_back(*v);
    }
  }
  const auto list = solve_list(lists, solver);
  if (!list) return ir::kNoValue;
  if (runs[0]->shape().rank() == 0) return sizes.scalar((*list)[0], runs[0]->dtype());
  ir::ValueId v = sizes.list(*list);
  if (runs[0]->shape().rank() != 1) {
    const Shape& s = runs[0]->shape();
    v = g.emit(
        OpId::kReshape,
        ReshapeAttrs{DimList(Span<const int64_t>(s.begin(), static_cast<size_t>(s.rank()))), 1},
        {v});
  }
  return cast(g, v, runs[0]->dtype());
}

// One number that is the root, reciprocal or reciprocal root of a size: computed in double as C++
// computes it, and rounded.
struct Function {
  double (*of)(double);
  std::vector<OpId> ops;
};
const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {[](double v) { return std::sqrt(v); }, {OpId::kSqrt}},
      {[](double v) { return 1.0 / v; }, {OpId::kReciprocal}},
      {[](double v) { return 1.0 / std::sqrt(v); }, {OpId::kSqrt, OpId::kReciprocal}},
  };
  return all;
}
ir::ValueId of_a_number(const Runs& runs, const SizeSolver& solver, SizeValues& sizes,
                        ir::Graph& g) {
  const DType t = runs[0]->dtype();
  for (const HostTensor* run : runs) {
    if (run->numel() != 1 || run->shape().rank() != 0 || (t != DType::kF32 && t != DType::kF64))
      return ir::kNoValue;
  }
  for (const Function& f : functions()) {
    std::vector<int64_t> arguments;
    for (const HostTensor* run : runs) {
      // f is its own inverse up to rounding: find the nearest integer whose f is the element.
      const double v = real_at(*run, 0), guess = f.ops.size() == 2         ? 1.0 / (v * v)
                                                 : f.ops[0] == OpId::kSqrt ? v * v
                                                                           : 1.0 / v;
      if (!(guess > 0.5 && guess < 0x1p40)) break;
      const auto n = static_cast<int64_t>(std::llround(guess));
      const double back = f.of(static_cast<double>(n));
      const bool same =
          t == DType::kF64 ? back == v : static_cast<float>(back) == static_cast<float>(v);
      if (!same) break;
      arguments.push_back(n);
    }
    if (arguments.size() != runs.size()) continue;
    const auto e = solver.solve(arguments);
    if (!e) continue;
    ir::ValueId v = sizes.scalar(*e, DType::kF64);
    for (OpId op : f.ops) v = g.emit(op, {v});
    return cast(g, v, t);
  }
  return ir::kNoValue;
}

// One number that is a size times a decimal number, or one of them divided by the other: t * 0.1.
ir::ValueId of_a_multiple(const Runs& runs, const SizeSolver& solver, SizeValues& sizes,
                          ir::Graph& g) {
  for (const HostTensor* t : runs) {
    if (t->numel() != 1 || t->shape().rank() != 0 || !is_real(*t)) return ir::kNoValue;
  }
  enum class How : uint8_t { kTimes, kBy, kInto };
  auto of = [](How how, double size, double k) {
    return how == How::kTimes ? size * k : how == How::kBy ? size / k : k / size;
  };
  for (const auto& [size, values] : solver.sizes()) {
    const auto n = static_cast<double>(values[0]);
    const double v = real_at(*runs[0], 0);
    if (n == 0 || v == 0 || !std::isfinite(v)) continue;
    for (How how : {How::kTimes, How::kBy, How::kInto}) {
      const double guess = how == How::kTimes ? v / n : how == How::kBy ? n / v : v * n;
      for (int digits = 1; digits <= 17; ++digits) {
        const double k = decimal(guess, digits);
        bool all = k != 0;
        for (size_t r = 0; r < runs.size() && all; ++r)
          all = rounds_to(of(how, static_cast<double>(values[r]), k), *runs[r], 0);
        if (!all) continue;
        const ir::ValueId s = sizes.scalar(size, DType::kF64),
                          by = g.add_constant(HostTensor::of<double>({}, {k}));
        const OpId op = how == How::kTimes ? OpId::kMul : OpId::kDiv;
        return cast(g, how == How::kInto ? g.emit(op, {by, s}) : g.emit(op, {s, by}),
                    runs[0]->dtype());
      }
    }
  }
  return ir::kNoValue;
}

}  // namespace

bool varied_field(const AttrField& field, const std::vector<AnyAttrs>& runs,
                  const SizeSolver& solver, Call* call) {
  const size_t input = input_of(call->op, field.name);
  // Ops that add_call() replaces by another op.
  const bool rewritten =
      call->op == OpId::kSliceScatter || call->op == OpId::kClip || call->op == OpId::kAsStrided;
  if (input == 0 && !rewritten) return false;
  if (input != 0 && call->inputs.size() > input && call->inputs[input] != ir::kNoValue)
    return true;  // the input takes precedence: the attribute is not read
  std::vector<std::vector<int64_t>> lists;
  for (const AnyAttrs& a : runs) {
    if (field.kind != AttrKind::kFloat) {
      lists.push_back(integers_of(field, a));
      continue;
    }
    const double v = attr_float(field, const_cast<void*>(a.get()));
    if (!(std::fabs(v) < 0x1p53) || v != std::floor(v)) return false;
    lists.push_back({static_cast<int64_t>(v)});
  }
  auto list = solve_list(lists, solver);
  if (!list) return false;
  call->varied[field.name] = std::move(*list);
  return true;
}

namespace {

// Bounds of a Clip are attributes: a bound that is a size becomes a Max or a Min.
ir::NodeId add_clip(const Call& call, const std::string& name, SizeValues& sizes, ir::Graph& g) {
  ClipAttrs left = *static_cast<const ClipAttrs*>(call.attrs.get());
  ir::ValueId v = call.inputs[0];
  const DType dtype = g.value(v).dtype;
  ir::NodeId id = 0;
  auto bound = [&](const char* field, OpId op, double* attr, double none) {
    const auto at = call.varied.find(field);
    if (at != call.varied.end()) *attr = none;
    const ir::ValueId by =
        at != call.varied.end() ? sizes.scalar(at->second[0], dtype) : ir::kNoValue;
    if (by == ir::kNoValue) return;
    id = g.add_node(op, AnyAttrs::of(NoAttrs{}), {v, by}, 1, name);
    v = g.node(id).outputs[0];
  };
  const ClipAttrs open;
  if (call.varied.count("min") == 0) {
    left.max = open.max;
    id = g.add_node(OpId::kClip, AnyAttrs::of(left), {v}, 1, name);
    v = g.node(id).outputs[0];
  }
  bound("min", OpId::kMax, &left.min, open.min);
  if (call.varied.count("min") != 0 && call.varied.count("max") == 0) {
    left.min = open.min;
    id = g.add_node(OpId::kClip, AnyAttrs::of(left), {v}, 1, name);
    v = g.node(id).outputs[0];
  }
  bound("max", OpId::kMin, &left.max, open.max);
  return id;
}

// An as_strided view: the flattened elements at offset + sum of index * stride.
ir::NodeId add_strided(const Call& call, const std::string& name, SizeValues& sizes, ir::Graph& g) {
  const auto& a = *static_cast<const StridedAttrs*>(call.attrs.get());
  const std::vector<SymDim> extents = field_or(call, "sizes", a.sizes),
                            strides = field_or(call, "strides", a.strides),
                            offset = field_or(call, "offset", DimList{a.offset});
  ir::ValueId places = sizes.scalar(offset[0], DType::kI64);
  for (size_t i = 0; i < extents.size(); ++i) {
    ir::ValueId at = g.emit(
        OpId::kRange, {sizes.scalar(SymDim(0), DType::kI64), sizes.scalar(extents[i], DType::kI64),
                       sizes.scalar(SymDim(1), DType::kI64)});
    at = g.emit(OpId::kMul, {at, sizes.scalar(strides[i], DType::kI64)});
    DimList behind;
    for (size_t d = i + 1; d < extents.size(); ++d)
      behind.values[behind.count++] = static_cast<int64_t>(d - i);
    if (!behind.empty()) at = g.emit(OpId::kUnsqueeze, AxesAttrs{behind}, {at});
    places = g.emit(OpId::kAdd, {places, at});
  }
  const ir::ValueId flat = g.emit(OpId::kReshape, ReshapeAttrs{{-1}, 0}, {call.inputs[0]});
  return g.add_node(OpId::kGather, AnyAttrs::of(AxisAttrs{0}), {flat, places}, 1, name);
}

}  // namespace

ir::NodeId add_call(const Call& call, int outputs, const std::string& name, SizeValues& sizes,
                    ir::Graph& g) {
  if (call.varied.empty()) return g.add_node(call.op, call.attrs, call.inputs, outputs, name);
  if (call.op == OpId::kSlice) return add_slice(call, name, sizes, g);
  if (call.op == OpId::kSliceScatter) return add_slice_scatter(call, name, sizes, g);
  if (call.op == OpId::kClip) return add_clip(call, name, sizes, g);
  if (call.op == OpId::kAsStrided) return add_strided(call, name, sizes, g);
  AnyAttrs attrs = call.attrs;
  std::vector<ir::ValueId> inputs = call.inputs;
  const bool copies = call.op == OpId::kReshape &&
                      static_cast<const ReshapeAttrs*>(call.attrs.get())->allowzero == 0;
  for (const auto& [field, list] : call.varied) {
    if (call.op == OpId::kReshape && g.value(inputs[0]).ranked) {
      if (auto dims = shape_of_numbers(list, copies, g.value(inputs[0]).shape)) {
        attrs = AnyAttrs::of(ReshapeAttrs{*dims, 0});
        continue;
      }
    }
    const size_t slot = input_of(call.op, field);
    if (inputs.size() <= slot) inputs.resize(slot + 1, ir::kNoValue);
    inputs[slot] = sizes.list(list);
    if (call.op == OpId::kReshape) {
      attrs = AnyAttrs::of(ReshapeAttrs{{}, !copies || takes_zeros(list) ? 1 : 0});
    }
    if (call.op == OpId::kExpand) attrs = AnyAttrs::of(ShapeAttrs{});
  }
  return g.add_node(call.op, attrs, std::move(inputs), outputs, name);
}

ir::ValueId varied_constant(const Runs& runs, const SizeSolver& solver, SizeValues& sizes,
                            ir::Graph& g) {
  for (const HostTensor* t : runs) {
    if (t->dtype() != runs[0]->dtype() || t->shape().rank() != runs[0]->shape().rank())
      return ir::kNoValue;
  }
  for (auto* way : {numbers, of_a_number, of_a_multiple, filled, stepped, on_a_line, diagonal}) {
    const ir::ValueId v = way(runs, solver, sizes, g);
    if (v != ir::kNoValue) return v;
  }
  return ir::kNoValue;
}

}  // namespace wick
