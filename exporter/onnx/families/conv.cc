// Conv and pooling: windows over spatial dims.
#include "exporter/onnx/families/conv.h"

#include <algorithm>
#include <cmath>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// Window is the window of a convolution or pool over `spatial` dims; an empty list means 1
// everywhere.
struct Window {
  size_t spatial;
  std::vector<int64_t> kernel, strides, dilations;
  ValueId weight = kNoValue;  // gives the kernel's sizes where they are not known

  int64_t stride(size_t i) const { return strides.empty() ? 1 : strides[i]; }
  int64_t dilation(size_t i) const { return dilations.empty() ? 1 : dilations[i]; }
};
struct ComputedPads {
  ValueId begins = kNoValue, ends = kNoValue;  // of the spatial dims
};

// Returns the pads of auto_pad SAME: as many windows as strides fit into the input; an odd element
// goes to the end (UPPER) or the begin. The graph computes them, from sizes that are known only at
// run time.
ComputedPads same_pads(ReadCtx& c, ValueId x, const Window& w, bool upper) {
  auto op = [&](OpId o, ValueId a, ValueId b) { return c.emit(o, {a, b}); };
  auto list = [&](const std::vector<int64_t>& v) {
    return c.int_constant(v.empty() ? std::vector<int64_t>(w.spatial, 1) : v);
  };
  const ValueId one = int_scalar(c, 1), stride = list(w.strides), in = dims(c, x, 2, INT64_MAX);
  ValueId kernel = w.weight != kNoValue ? dims(c, w.weight, 2, INT64_MAX) : list(w.kernel);
  ValueId reach =
      op(OpId::kAdd, op(OpId::kMul, op(OpId::kSub, kernel, one), list(w.dilations)), one);
  ValueId windows = op(OpId::kDiv, op(OpId::kAdd, in, op(OpId::kSub, stride, one)), stride);
  ValueId span = op(OpId::kAdd, op(OpId::kMul, op(OpId::kSub, windows, one), stride), reach);
  ValueId total = op(OpId::kMax, op(OpId::kSub, span, in), int_scalar(c, 0));
  ValueId less = op(OpId::kDiv, total, int_scalar(c, 2)), more = op(OpId::kSub, total, less);
  return upper ? ComputedPads{less, more} : ComputedPads{more, less};
}

// Computes the same pads when reading; false if the sizes are not known.
bool known_same_pads(ReadCtx& c, ValueId x, const Window& w, bool upper,
                     std::vector<int64_t>* pads) {
  if (w.weight != kNoValue) return false;
  pads->assign(2 * w.spatial, 0);
  for (size_t i = 0; i < w.spatial; ++i) {
    const int64_t stride = w.stride(i), reach = (w.kernel[i] - 1) * w.dilation(i) + 1;
    int64_t total = reach - 1;
    if (stride != 1) {
      const Value& input = c.g.value(x);
      if (stride < 1 || !input.ranked || !input.shape[static_cast<int>(2 + i)].known())
        return false;
      const int64_t in = input.shape[static_cast<int>(2 + i)].constant();
      total = std::max<int64_t>(((in + stride - 1) / stride - 1) * stride + reach - in, 0);
    }
    (*pads)[i] = upper ? total / 2 : total - total / 2;
    (*pads)[i + w.spatial] = total - (*pads)[i];
  }
  return true;
}

// Returns the pads from `pads` or `auto_pad`; they are empty where the graph computes them
// (`computed`).
std::vector<int64_t> window_pads(ReadCtx& c, ValueId x, const Window& w, ComputedPads* computed) {
  const std::string how = c.attr_string("auto_pad", "NOTSET");
  if (how == "NOTSET" || how.empty()) return c.attr_ints("pads");
  if (how == "VALID") return {};
  if (how != "SAME_UPPER" && how != "SAME_LOWER") c.fail("unknown auto_pad '" + how + "'");
  std::vector<int64_t> pads;
  if (known_same_pads(c, x, w, how == "SAME_UPPER", &pads)) return pads;
  *computed = same_pads(c, x, w, how == "SAME_UPPER");
  return {};
}

// Pads x and fills it with a scalar (kNoValue: 0).
ValueId pad_with(ReadCtx& c, ValueId x, const ComputedPads& pads, ValueId fill) {
  const ValueId none = c.int_constant({0, 0});
  return c.emit(OpId::kPad, PadAttrs{},
                {x, concat(c, {none, pads.begins, none, pads.ends}, 0), fill});
}

void check_ints(ReadCtx& c, const std::vector<int64_t>& v, size_t spatial, const char* name) {
  if (!v.empty() && v.size() != spatial)
    c.fail(std::string(name) + " does not fit the spatial rank");
}

}  // namespace

ConvAttrs conv_attrs(ReadCtx& c, ValueId* x, ValueId w, ValueId fill) {
  // An input of unknown rank has the rank of its weight.
  const bool ranked = c.g.value(*x).ranked;
  const int rank = c.rank(ranked ? *x : w);
  const Value& weight = c.g.value(w);
  if (rank < 3 || rank > 5 || (weight.ranked && weight.shape.rank() != rank))
    c.fail("needs 1 to 3 spatial dims in input and weight");
  Window window{
      static_cast<size_t>(rank - 2), {}, c.attr_ints("strides"), c.attr_ints("dilations")};
  const std::vector<int64_t> declared = c.attr_ints("kernel_shape");
  check_ints(c, declared, window.spatial, "kernel_shape");
  check_ints(c, window.strides, window.spatial, "strides");
  check_ints(c, window.dilations, window.spatial, "dilations");
  window.kernel = declared;
  for (size_t i = 0; i < window.spatial && weight.ranked; ++i) {
    const SymDim& k = weight.shape[static_cast<int>(2 + i)];
    if (!k.known()) {
      if (declared.empty()) window.weight = w;
      break;
    }
    if (declared.empty()) window.kernel.push_back(k.constant());
    if (window.kernel[i] != k.constant()) {
      c.fail("kernel_shape has " + std::to_string(declared[i]) + " where the weight " +
             shape_text(weight.shape) + " has " + k.text());
    }
  }
  if (!weight.ranked && declared.empty()) window.weight = w;
  ConvAttrs a;
  ComputedPads computed;
  c.fill(a.strides, window.strides, "strides");
  c.fill(a.dilations, window.dilations, "dilations");
  c.fill(a.pads, window_pads(c, *x, window, &computed), "pads");
  a.group = c.attr_int("group", 1);
  if (computed.begins == kNoValue) return a;
  if (fill != kNoValue)  // a scalar, which may be given as a vector of one
    fill = c.emit(OpId::kReshape, ReshapeAttrs{}, {fill, c.int_constant({})});
  *x = pad_with(c, *x, computed, fill);
  return a;
}

void set_conv_attrs(NodeProto& n, const ConvAttrs& a) {
  set_list(n, "strides", a.strides);
  set_list(n, "dilations", a.dilations);
  set_list(n, "pads", a.pads);
  if (a.group != 1) set_int(n, "group", a.group);
}

namespace {

// Reads a Conv over more dims than the kernels have. For each kernel position in the leading dims a
// slice of x is convolved over the last three, with the positions of the leading dims joined to the
// batch; the results are added up.
void read_conv_of_many_dims(ReadCtx& c) {
  constexpr int kOwn = 3;           // spatial dims of a Conv
  constexpr int64_t kSlices = 256;  // one node each
  ValueId x = c.in(0), w = c.in(1);
  const SymShape& weight = shape(c, w);
  const int rank = c.rank(x), lead = rank - 2 - kOwn;
  if (weight.rank() != rank) c.fail("input and weight must have the same rank");
  Window window{
      static_cast<size_t>(rank - 2), {}, c.attr_ints("strides"), c.attr_ints("dilations")};
  check_ints(c, window.strides, window.spatial, "strides");
  check_ints(c, window.dilations, window.spatial, "dilations");
  window.kernel = c.attr_ints("kernel_shape");
  check_ints(c, window.kernel, window.spatial, "kernel_shape");
  const bool declared = !window.kernel.empty();
  int64_t slices = 1;
  for (int i = 0; i < rank - 2; ++i) {
    const SymDim& size = weight[2 + i];
    if (!declared) window.kernel.push_back(size.known() ? size.constant() : 0);
    const int64_t k = window.kernel[static_cast<size_t>(i)];
    if (size.known() && size.constant() != k)
      c.fail("kernel_shape differs from the weight " + shape_text(weight));
    auto fits = [](int64_t v) { return v >= 1 && v <= INT32_MAX; };
    if (!fits(k) || !fits(window.stride(i)) || !fits(window.dilation(i)))
      c.fail(
          "more than 3 spatial dims need a kernel of known size, and strides and dilations >= 1");
    if (i < lead && slices <= kSlices) slices *= k;
  }
  if (slices > kSlices) c.fail("the kernel has too many positions in front of its last 3 dims");
  ComputedPads computed;
  std::vector<int64_t> pads = window_pads(c, x, window, &computed);
  check_ints(c, pads, 2 * window.spatial, "pads");
  if (computed.begins != kNoValue) x = pad_with(c, x, computed, kNoValue);
  if (!pads.empty()) {
    const auto half = pads.begin() + rank - 2;
    const std::vector<int64_t> begins(pads.begin(), half), ends(half, pads.end());
    x = pad_with(c, x, {c.int_constant(begins), c.int_constant(ends)}, kNoValue);
  }
  ConvAttrs a;
  a.group = c.attr_int("group", 1);
  std::vector<int64_t> in_front = {0}, back = {0, lead + 1}, ones, strides, dilations;
  for (int i = 0; i < lead; ++i) in_front.push_back(2 + i), back.push_back(1 + i);
  in_front.push_back(1);
  for (int i = lead; i < rank - 2; ++i) {
    strides.push_back(window.stride(i)), dilations.push_back(window.dilation(i));
    in_front.push_back(2 + i), back.push_back(2 + i);
  }
  c.fill(a.strides, strides, "strides");
  c.fill(a.dilations, dilations, "dilations");
  ValueId sum = kNoValue, places = kNoValue;
  for (int64_t s = 0; s < slices; ++s) {
    std::vector<int64_t> axes, at, one_behind, starts, ends, steps, once;
    int64_t left = s;
    for (int i = lead - 1; i >= 0; --i) {
      const int64_t k = left % window.kernel[i], behind = window.kernel[i] - 1 - k;
      left /= window.kernel[i];
      axes.push_back(2 + i), at.push_back(k), one_behind.push_back(k + 1), once.push_back(1);
      starts.push_back(k * window.dilation(i)), steps.push_back(window.stride(i));
      ends.push_back(behind == 0 ? INT64_MAX : -behind * window.dilation(i));
    }
    SliceAttrs of_x, of_w;
    of_x.axes = of_w.axes = to_list<kMaxRank>(c, axes);
    of_x.starts = to_list<kMaxRank>(c, starts), of_w.starts = to_list<kMaxRank>(c, at);
    of_x.ends = to_list<kMaxRank>(c, ends), of_w.ends = to_list<kMaxRank>(c, one_behind);
    of_x.steps = to_list<kMaxRank>(c, steps), of_w.steps = to_list<kMaxRank>(c, once);
    ValueId part = transpose(c, c.emit(OpId::kSlice, of_x, {x}), in_front);
    places = dims(c, part, 0, lead + 1);
    ValueId batch = reduce(c, OpId::kReduceProd, places, {0}, true);
    part = reshape_to(c, part, concat(c, {batch, dims(c, part, lead + 1, rank)}, 0));
    ValueId y = c.emit(OpId::kConv, a, {part, squeeze(c, c.emit(OpId::kSlice, of_w, {w}), axes)});
    sum = sum == kNoValue ? y : c.emit(OpId::kAdd, {sum, y});
  }
  sum = reshape_to(c, sum, concat(c, {places, dims(c, sum, 1, 2 + kOwn)}, 0));
  sum = transpose(c, sum, back);
  if (!c.has(2)) return c.set(0, sum);
  for (int i = 1; i < rank - 1; ++i) ones.push_back(i);
  c.set(0, c.emit(OpId::kAdd, {sum, unsqueeze(c, c.in(2), ones)}));
}

void read_conv(ReadCtx& c) {
  ValueId x = c.in(0), w = c.in(1);
  if (c.g.value(x).ranked && c.rank(x) > 5) return read_conv_of_many_dims(c);
  const ConvAttrs a = conv_attrs(c, &x, w);
  c.set(0, c.emit(OpId::kConv, a, {x, w, c.optional(2)}));
}

PoolAttrs pool_attrs(ReadCtx& c, ValueId x, ComputedPads* computed) {
  const std::vector<int64_t> kernel = c.attr_ints("kernel_shape");
  const size_t n = kernel.size();
  if (n < 1 || n > 3 || (c.g.value(x).ranked && n + 2 != static_cast<size_t>(c.rank(x))))
    c.fail("needs 1 to 3 spatial dims and a kernel_shape of as many");
  const Window window{n, kernel, c.attr_ints("strides"), c.attr_ints("dilations")};
  check_ints(c, window.strides, n, "strides");
  check_ints(c, window.dilations, n, "dilations");
  PoolAttrs a;
  c.fill(a.kernel_shape, kernel, "kernel_shape");
  c.fill(a.strides, window.strides, "strides");
  c.fill(a.dilations, window.dilations, "dilations");
  c.fill(a.pads, window_pads(c, x, window, computed), "pads");
  a.ceil_mode = c.attr_int("ceil_mode", 0);
  return a;
}

PoolAttrs average_attrs(ReadCtx& c, ValueId x, ComputedPads* pads) {
  PoolAttrs a = pool_attrs(c, x, pads);
  a.count_include_pad = c.attr_int("count_include_pad", 0);
  const auto steps = a.dilations.span();
  if (std::all_of(steps.begin(), steps.end(), [](int64_t d) { return d == 1; }))
    a.dilations = {};  // opsets below 19 cannot write dilations
  return a;
}

void read_average_pool(ReadCtx& c) {
  ValueId x = c.in(0);
  ComputedPads pads;
  const PoolAttrs a = average_attrs(c, x, &pads);
  if (pads.begins == kNoValue) return c.set(0, c.emit(OpId::kAveragePool, a, {x}));
  ValueId mean = c.emit(OpId::kAveragePool, a, {pad_with(c, x, pads, kNoValue)});
  if (a.count_include_pad != 0) return c.set(0, mean);
  // Divides by the share of each window that is not padding.
  ValueId size = concat(c, {c.int_constant({1, 1}), dims(c, x, 2, INT64_MAX)}, 0);
  ValueId inside = pad_with(c, expand_to(c, c.scalar(x, 1), size), pads, kNoValue);
  c.set(0, c.emit(OpId::kDiv, {mean, c.emit(OpId::kAveragePool, a, {inside})}));
}

// Returns the lowest value of x's dtype, which never wins a maximum.
ValueId lowest(ReadCtx& c, ValueId x) {
  switch (c.dtype(x)) {
    case DType::kI8: return c.scalar(x, INT8_MIN);
    case DType::kU8: return c.scalar(x, 0);
    default: return c.scalar(x, -INFINITY);
  }
}

// Returns the flat index of each element of x: row-major, or with the spatial dims in reverse
// order.
ValueId places(ReadCtx& c, ValueId x, size_t spatial, bool reversed) {
  std::vector<int64_t> perm = {0, 1};
  std::vector<ValueId> sizes = {dims(c, x, 0, 2)};
  for (size_t i = spatial; i-- > 0;) {
    const auto d = static_cast<int64_t>(reversed ? i : spatial - 1 - i) + 2;
    perm.push_back(d), sizes.push_back(dim(c, x, d));
  }
  ValueId count = reduce(c, OpId::kReduceProd, shape_of(c, x), {0}, true);
  return transpose(c, reshape_to(c, arange(c, count), concat(c, sizes, 0)), perm);
}

void read_max_pool(ReadCtx& c) {
  ValueId x = c.in(0), source = x;
  ComputedPads pads;
  const PoolAttrs a = pool_attrs(c, x, &pads);
  const bool computed = pads.begins != kNoValue;
  if (computed) x = pad_with(c, x, pads, lowest(c, x));
  if (!c.wants(1)) return c.set(0, c.emit(OpId::kMaxPool, a, {x}));
  const int64_t order = c.attr_int("storage_order", 0);
  const MaxPoolIndicesAttrs with{a, computed ? 0 : order};
  NodeId id = c.g.add_node(OpId::kMaxPoolIndices, AnyAttrs::of(with), {x}, 2, c.node.name());
  const std::vector<ValueId> made = c.g.node(id).outputs;
  c.set(0, made[0]);
  if (!computed) return c.set(1, made[1]);
  ValueId map = places(c, source, static_cast<size_t>(a.kernel_shape.count), order != 0);
  map = reshape(c, pad_with(c, map, pads, kNoValue), {-1});
  c.set(1, c.emit(OpId::kGather, AxisAttrs{0}, {map, made[1]}));
}

// p was a float before opset 2.
int64_t norm_power(ReadCtx& c) {
  const AttributeProto* p = c.attr("p");
  if (p == nullptr || p->type() != AttributeProto::FLOAT) return c.attr_int("p", 2);
  const double power = c.attr_float("p", 2);
  if (!(power >= 1 && power <= INT32_MAX) ||
      power != static_cast<double>(static_cast<int64_t>(power)))
    c.fail("p must be a whole number");
  return static_cast<int64_t>(power);
}

void read_lp_pool(ReadCtx& c) {
  ValueId x = c.in(0);
  ComputedPads pads;
  const LpPoolAttrs a{pool_attrs(c, x, &pads), norm_power(c)};
  if (pads.begins != kNoValue) x = pad_with(c, x, pads, kNoValue);
  c.set(0, c.emit(OpId::kLpPool, a, {x}));
}

template <OpId op>
void read_global_pool(ReadCtx& c) {
  ValueId x = c.in(0);
  ReduceAttrs a;
  for (int i = 2; i < c.rank(x); ++i) a.axes.values[a.axes.count++] = i;
  if (a.axes.empty()) return c.set(0, c.emit(OpId::kIdentity, {x}));
  c.set(0, c.emit(op, a, {x}));
}

}  // namespace

std::optional<PoolAttrs> known_average_attrs(ReadCtx& c, ValueId x) {
  const std::string pad = c.attr_string("auto_pad", "NOTSET");
  if (pad != "NOTSET" && pad != "VALID") {  // the pads depend on sizes that must be known
    if (!c.g.value(x).ranked) return std::nullopt;
    const SymShape& s = c.g.value(x).shape;
    for (int i = 2; i < s.rank(); ++i) {
      if (!s[i].known()) return std::nullopt;
    }
  }
  ComputedPads pads;
  const PoolAttrs a = average_attrs(c, x, &pads);
  if (pads.begins != kNoValue) return std::nullopt;
  return a;
}

namespace {

NodeProto& write_pool(WriteCtx& c, const char* op, const PoolAttrs& a) {
  NodeProto& n = c.same(op);
  set_list(n, "kernel_shape", a.kernel_shape);
  set_list(n, "strides", a.strides);
  set_list(n, "pads", a.pads);
  if (a.ceil_mode != 0) set_int(n, "ceil_mode", 1);
  return n;
}

}  // namespace

WICK_READ(Conv, read_conv);
WICK_READ(MaxPool, read_max_pool);
WICK_READ(AveragePool, read_average_pool);
WICK_READ(LpPool, read_lp_pool);
WICK_READ(GlobalAveragePool, read_global_pool<OpId::kReduceMean>);
WICK_READ(GlobalMaxPool, read_global_pool<OpId::kReduceMax>);

WICK_ONNX_ROW(Conv, [](WriteCtx& c) {
  if (c.as<ConvAttrs>().products != 0)
    c.fail(
        "ONNX cannot say in which order products are added: write .wick, or the graph as it was "
        "before --numerics");
  set_conv_attrs(c.same("Conv"), c.as<ConvAttrs>());
});
WICK_ONNX_ROW(MaxPool, [](WriteCtx& c) {
  const auto& a = c.as<PoolAttrs>();
  set_list(write_pool(c, "MaxPool", a), "dilations", a.dilations);
});
WICK_ONNX_ROW(MaxPoolIndices, [](WriteCtx& c) {
  const auto& a = c.as<MaxPoolIndicesAttrs>();
  NodeProto& n = write_pool(c, "MaxPool", a.pool);
  set_list(n, "dilations", a.pool.dilations);
  if (a.storage_order != 0) set_int(n, "storage_order", 1);
});
WICK_ONNX_ROW(AveragePool, [](WriteCtx& c) {
  const auto& a = c.as<PoolAttrs>();
  const bool dilated = std::any_of(a.dilations.span().begin(), a.dilations.span().end(),
                                   [](int64_t d) { return d != 1; });
  if (dilated) c.need(19);
  NodeProto& n = write_pool(c, "AveragePool", a);
  if (dilated || has_attribute(c.form("AveragePool"), "dilations"))
    set_list(n, "dilations", a.dilations);
  if (a.count_include_pad != 0) set_int(n, "count_include_pad", 1);
});
WICK_ONNX_ROW(LpPool, [](WriteCtx& c) {
  const auto& a = c.as<LpPoolAttrs>();
  if (!a.pool.dilations.empty() || a.pool.ceil_mode != 0) c.need(18);
  NodeProto& n = write_pool(c, "LpPool", a.pool);
  set_list(n, "dilations", a.pool.dilations);
  set_int(n, "p", a.p);
});

}  // namespace wick::onnx
