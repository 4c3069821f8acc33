// Conv and pooling: windows over spatial dims.
#include <algorithm>

#include "exporter/onnx/conv.h"

#include "exporter/onnx/read.h"
#include "exporter/onnx/write.h"

namespace wick::onnx {
namespace {

// Pads from `pads` or `auto_pad`. SAME needs the spatial sizes known; the odd one goes to the end
// (UPPER) or the begin.
std::vector<int64_t> window_pads(ReadCtx& c, ValueId x, const std::vector<int64_t>& kernel,
                                 const std::vector<int64_t>& strides,
                                 const std::vector<int64_t>& dilations) {
  std::string how = c.attr_string("auto_pad", "NOTSET");
  if (how == "NOTSET" || how.empty()) return c.attr_ints("pads");
  if (how == "VALID") return {};
  if (how != "SAME_UPPER" && how != "SAME_LOWER") c.fail("unknown auto_pad '" + how + "'");
  size_t spatial = kernel.size();
  std::vector<int64_t> pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const SymDim& extent = c.g.value(x).shape[static_cast<int>(2 + i)];
    int64_t stride = strides.empty() ? 1 : strides[i],
            reach = (kernel[i] - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
    if (!extent.known() && stride != 1)
      c.fail("auto_pad " + how + " with a stride needs a known size");
    int64_t in = extent.known() ? extent.constant() : 0;
    int64_t total =
        stride == 1 ? reach - 1
                    : std::max<int64_t>(((in + stride - 1) / stride - 1) * stride + reach - in, 0);
    pads[i] = how == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + spatial] = total - pads[i];
  }
  return pads;
}

void check_ints(ReadCtx& c, const std::vector<int64_t>& v, size_t spatial, const char* name) {
  if (!v.empty() && v.size() != spatial)
    c.fail(std::string(name) + " does not fit the spatial rank");
}

template <class List>
void set_list(NodeProto& n, const char* name, const List& list) {
  if (!list.empty()) set_ints(n, name, list.span());
}

}  // namespace

ConvAttrs conv_attrs(ReadCtx& c, ValueId x, ValueId w) {
  int rank = c.rank(x);
  if (rank < 3 || rank > 5 || c.rank(w) != rank)
    c.fail("needs 1 to 3 spatial dims in input and weight");
  auto spatial = static_cast<size_t>(rank - 2);
  std::vector<int64_t> strides = c.attr_ints("strides"), dilations = c.attr_ints("dilations"),
                       declared = c.attr_ints("kernel_shape"), kernel;
  check_ints(c, declared, spatial, "kernel_shape");
  check_ints(c, strides, spatial, "strides");
  check_ints(c, dilations, spatial, "dilations");
  for (size_t i = 0; i < spatial; ++i) {
    const SymDim& k = c.g.value(w).shape[static_cast<int>(2 + i)];
    kernel.push_back(k.known() ? k.constant() : 1);
    if (!declared.empty() && k.known() && declared[i] != k.constant()) {
      c.fail("kernel_shape has " + std::to_string(declared[i]) + " where the weight " +
             shape_text(c.g.value(w).shape) + " has " + k.text());
    }
  }
  ConvAttrs a;
  c.fill(a.strides, strides, "strides");
  c.fill(a.dilations, dilations, "dilations");
  c.fill(a.pads, window_pads(c, x, kernel, strides, dilations), "pads");
  a.group = c.attr_int("group", 1);
  return a;
}

void set_conv_attrs(NodeProto& n, const ConvAttrs& a) {
  set_list(n, "strides", a.strides);
  set_list(n, "dilations", a.dilations);
  set_list(n, "pads", a.pads);
  if (a.group != 1) set_int(n, "group", a.group);
}

namespace {

void read_conv(ReadCtx& c) {
  ValueId x = c.in(0), w = c.in(1);
  c.set(0, c.emit(OpId::kConv, conv_attrs(c, x, w), {x, w, c.optional(2)}));
}

PoolAttrs pool_attrs(ReadCtx& c, ValueId x) {
  std::vector<int64_t> kernel = c.attr_ints("kernel_shape"), strides = c.attr_ints("strides"),
                       dilations = c.attr_ints("dilations");
  if (c.rank(x) < 3 || c.rank(x) > 5 || kernel.size() + 2 != static_cast<size_t>(c.rank(x))) {
    c.fail("needs 1 to 3 spatial dims and a kernel_shape of as many");
  }
  check_ints(c, strides, kernel.size(), "strides");
  check_ints(c, dilations, kernel.size(), "dilations");
  PoolAttrs a;
  c.fill(a.kernel_shape, kernel, "kernel_shape");
  c.fill(a.strides, strides, "strides");
  c.fill(a.dilations, dilations, "dilations");
  c.fill(a.pads, window_pads(c, x, kernel, strides, dilations), "pads");
  a.ceil_mode = c.attr_int("ceil_mode", 0);
  return a;
}

void read_average_pool(ReadCtx& c) {
  PoolAttrs a = pool_attrs(c, c.in(0));
  a.count_include_pad = c.attr_int("count_include_pad", 0);
  c.set(0, c.emit(OpId::kAveragePool, a, {c.in(0)}));
}

void read_max_pool(ReadCtx& c) {
  const PoolAttrs a = pool_attrs(c, c.in(0));
  if (!c.wants(1)) return c.set(0, c.emit(OpId::kMaxPool, a, {c.in(0)}));
  const MaxPoolIndicesAttrs with{a, c.attr_int("storage_order", 0)};
  NodeId id = c.g.add_node(OpId::kMaxPoolIndices, AnyAttrs::of(with), {c.in(0)}, 2, c.node.name());
  c.set(0, c.g.node(id).outputs[0]);
  c.set(1, c.g.node(id).outputs[1]);
}

// p was a float before opset 2
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
  const LpPoolAttrs a{pool_attrs(c, c.in(0)), norm_power(c)};
  c.set(0, c.emit(OpId::kLpPool, a, {c.in(0)}));
}

template <OpId op>
void read_global_pool(ReadCtx& c) {
  ValueId x = c.in(0);
  ReduceAttrs a;
  for (int i = 2; i < c.rank(x); ++i) a.axes.values[a.axes.count++] = i;
  if (a.axes.empty()) return c.set(0, c.emit(OpId::kIdentity, {x}));
  c.set(0, c.emit(op, a, {x}));
}

constexpr ReadRow kRows[] = {
    {"Conv", read_conv},
    {"MaxPool", read_max_pool},
    {"AveragePool", read_average_pool},
    {"LpPool", read_lp_pool},
    {"GlobalAveragePool", read_global_pool<OpId::kReduceMean>},
    {"GlobalMaxPool", read_global_pool<OpId::kReduceMax>},
};

NodeProto& write_pool(WriteCtx& c, const char* op, const PoolAttrs& a) {
  NodeProto& n = c.same(op);
  set_list(n, "kernel_shape", a.kernel_shape);
  set_list(n, "strides", a.strides);
  set_list(n, "pads", a.pads);
  if (a.ceil_mode != 0) set_int(n, "ceil_mode", 1);
  return n;
}

}  // namespace

Span<const ReadRow> conv_rows() { return kRows; }

WICK_ONNX_ROW(Conv, [](WriteCtx& c) { set_conv_attrs(c.same("Conv"), c.as<ConvAttrs>()); });
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
  if (dilated || c.opset() >= 19) set_list(n, "dilations", a.dilations);
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
