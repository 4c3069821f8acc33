#include <algorithm>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/forms.h"
#include "runtime/core/half.h"

namespace wick::onnx {
namespace {

// Reads an integer list from the attribute (older opsets) or from input i.
template <class List>
ValueId list_or_input(ReadCtx& c, int i, const char* attr, List& list) {
  if (c.has(i)) return c.in(i);
  c.fill(list, c.attr_ints(attr), attr);
  return kNoValue;
}

void read_reshape(ReadCtx& c) {
  ReshapeAttrs a;
  a.allowzero = c.attr_int("allowzero", 0);
  ValueId shape = list_or_input(c, 1, "shape", a.shape);
  c.set(0, c.emit(OpId::kReshape, a, {c.in(0), shape}));
}
void read_flatten(ReadCtx& c) {
  c.set(0, c.emit(OpId::kFlatten, AxisAttrs{c.attr_int("axis", 1)}, {c.in(0)}));
}
template <OpId op>
void read_squeeze(ReadCtx& c) {
  AxesAttrs a;
  ValueId axes = list_or_input(c, 1, "axes", a.axes);
  c.set(0, c.emit(op, a, {c.in(0), axes}));
}
void read_transpose(ReadCtx& c) {
  TransposeAttrs a;
  c.fill(a.perm, c.attr_ints("perm"), "perm");
  c.set(0, c.emit(OpId::kTranspose, a, {c.in(0)}));
}
void read_expand(ReadCtx& c) {
  ShapeAttrs a;
  ValueId shape = list_or_input(c, 1, "shape", a.shape);
  c.set(0, c.emit(OpId::kExpand, a, {c.in(0), shape}));
}
void read_concat(ReadCtx& c) {
  c.set(0, c.emit(OpId::kConcat, AxisAttrs{c.attr_int("axis", 1)}, c.all_inputs()));
}
void read_split(ReadCtx& c) {
  SplitAttrs a;
  a.axis = c.attr_int("axis", 0);
  ValueId x = c.in(0), sizes = kNoValue;
  if (int64_t parts = c.attr_int("num_outputs", c.outputs()); parts != c.outputs())
    c.fail("num_outputs is " + std::to_string(parts) + ", it names " + std::to_string(c.outputs()) +
           " outputs");
  if (c.has(1) && !is_int(c.dtype(c.in(1)))) {  // opset 1: of x's dtype
    sizes = cast(c, c.in(1), DType::kI64);
    if (auto known = c.known(sizes)) {
      c.fill(a.sizes, int_values(*known), "split");
      sizes = kNoValue;
    }
  } else {
    sizes = list_or_input(c, 1, "split", a.sizes);
  }
  c.emit_all(OpId::kSplit, a, {x, sizes}, c.outputs());
}
void read_slice(ReadCtx& c) {
  SliceAttrs a;
  std::vector<ValueId> in = {c.in(0)};
  in.push_back(list_or_input(c, 1, "starts", a.starts));
  in.push_back(list_or_input(c, 2, "ends", a.ends));
  in.push_back(list_or_input(c, 3, "axes", a.axes));
  in.push_back(list_or_input(c, 4, "steps", a.steps));
  c.set(0, c.emit(OpId::kSlice, a, in));
}
void read_pad(ReadCtx& c) {
  PadAttrs a;
  std::string mode = c.attr_string("mode", "constant");
  static const std::map<std::string, PadMode> kModes = {{"constant", PadMode::kConstant},
                                                        {"reflect", PadMode::kReflect},
                                                        {"edge", PadMode::kEdge},
                                                        {"wrap", PadMode::kWrap}};
  auto found = kModes.find(mode);
  if (found == kModes.end()) c.fail("unknown mode '" + mode + "'");
  a.mode = static_cast<int64_t>(found->second);
  a.value = c.attr_float("value", 0);
  const char* name = c.opset < 2 ? "paddings" : "pads";
  ValueId pads = list_or_input(c, 1, name, a.pads), value = c.optional(2);
  ValueId axes = list_or_input(c, 3, "axes", a.axes);
  c.set(0, c.emit(OpId::kPad, a, {c.in(0), pads, value, axes}));
}
void read_shape(ReadCtx& c) {
  ShapeOpAttrs a{c.attr_int("start", 0), c.attr_int("end", INT64_MAX)};
  c.set(0, c.emit(OpId::kShape, a, {c.in(0)}));
}
void read_size(ReadCtx& c) {
  ReduceAttrs a;
  a.keepdims = 0;
  c.set(0, c.emit(OpId::kReduceProd, a, {c.emit(OpId::kShape, ShapeOpAttrs{}, {c.in(0)})}));
}
template <OpId op>
void read_gather(ReadCtx& c) {
  c.set(0, c.emit(op, AxisAttrs{c.attr_int("axis", 0)}, {c.in(0), c.in(1)}));
}
void read_scatter(ReadCtx& c) {
  static const std::map<std::string, int64_t> kHow = {
      {"none", 0}, {"add", 1}, {"mul", 2}, {"max", 3}, {"min", 4}};
  auto found = kHow.find(c.attr_string("reduction", "none"));
  if (found == kHow.end()) c.fail("unknown reduction");
  ScatterAttrs a{c.attr_int("axis", 0), found->second};
  c.set(0, c.emit(OpId::kScatterElements, a, {c.in(0), c.in(1), c.in(2)}));
}

void read_constant(ReadCtx& c) {
  auto floats = [&](const auto& values, Shape shape) {
    return HostTensor::of(shape, std::vector<float>(values.begin(), values.end()));
  };
  HostTensor t;
  std::string given;
  for (const auto& a : c.node.attribute()) {
    if (a.name().starts_with("__")) continue;
    if (!given.empty()) c.fail("has '" + given + "' and '" + a.name() + "', one is its value");
    given = a.name();
    if (a.name() == "value") t = c.attr_tensor("value");
    if (a.name() == "value_int") t = HostTensor::of<int64_t>({}, {c.attr_int(a.name(), 0)});
    if (a.name() == "value_ints") t = HostTensor::ints(c.attr_ints("value_ints"));
    if (a.name() == "value_float")
      t = HostTensor::of<float>({}, {static_cast<float>(c.attr_float(a.name(), 0))});
    if (a.name() == "sparse_value")
      t = decode(a.sparse_tensor(), c.scope.model.folder, &c.scope.model.ledger);
    if (a.name() == "value_floats") t = floats(a.floats(), Shape{a.floats_size()});
    if (a.name() == "value_string") t = HostTensor::strings(Shape{}, {c.attr_string(a.name(), "")});
    if (a.name() == "value_strings")
      t = HostTensor::strings(Shape{a.strings_size()}, c.attr_strings(a.name()));
  }
  if (given.empty()) c.fail("has no value");
  c.set(0, c.g.add_constant(t));  // the file has its bytes
}
void read_constant_of_shape(ReadCtx& c) {  // expands the value to the shape
  HostTensor value = c.attr_tensor("value");
  if (!value.present()) value = HostTensor::of<float>({}, {0.0f});
  if (value.numel() != 1) c.fail("value must have one element");
  ValueId one = c.constant(value.reshaped(Shape{}));
  c.set(0, c.emit(OpId::kExpand, ShapeAttrs{}, {one, c.in(0)}));
}

// Sizes computes x's size along each of four dims, multiplied or divided by a number, as [1]
// tensors; known sizes stay numbers.
struct Sizes {
  ReadCtx& c;
  ValueId x, all = kNoValue;
  std::vector<ValueId> parts = {};
  std::vector<int64_t> known = {};  // -1: not known
  void number(int64_t v) { parts.push_back(kNoValue), known.push_back(v); }
  void dim(int i, int64_t times = 1, int64_t by = 1) {
    const SymDim d = c.g.value(x).shape[i];
    if (d.known() && d.constant() % by != 0)
      c.fail("dim " + std::to_string(i) + " of its input is no multiple of the block");
    if (d.known() && d.constant() > INT64_MAX / times) c.fail("the result is too large");
    if (d.known()) return number(d.constant() * times / by);
    if (all == kNoValue) all = c.emit(OpId::kShape, ShapeOpAttrs{}, {x});
    ValueId v = c.emit(OpId::kSlice, SliceAttrs{{i}, {i + 1}, {0}, {}}, {all});
    if (times != 1) v = c.emit(OpId::kMul, {v, c.int_constant({times})});
    if (by != 1) v = c.emit(OpId::kDiv, {v, c.int_constant({by})});
    parts.push_back(v), known.push_back(-1);
  }
  ValueId reshaped(ValueId v) {
    ReshapeAttrs a;
    a.allowzero = 1;
    std::vector<ValueId> in = {v};
    if (all == kNoValue) {
      c.fill(a.shape, known, "shape");
    } else {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] == kNoValue) parts[i] = c.int_constant({known[i]});
      }
      in.push_back(c.emit(OpId::kConcat, AxisAttrs{0}, parts));
    }
    return c.emit(OpId::kReshape, a, in);
  }
};

int64_t block_of(ReadCtx& c, ValueId x) {
  const int64_t b = c.attr_int("blocksize", 0);
  if (rank_or(c, x, 4) != 4 || b < 1 || b > 1 << 15) c.fail("needs [N, C, H, W] and a blocksize");
  return b;
}
// Returns whether the columns and rows of a block are inside the depth (CRD), rather than around
// it.
bool is_crd(ReadCtx& c) {
  const std::string mode = c.attr_string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") c.fail("unknown mode '" + mode + "'");
  return mode == "CRD";
}
void read_depth_to_space(ReadCtx& c) {
  ValueId x = c.in(0);
  const int64_t b = block_of(c, x);
  const bool crd = is_crd(c);
  Sizes apart{c, x}, together{c, x};
  apart.dim(0);
  if (crd) apart.dim(1, 1, b * b);
  apart.number(b), apart.number(b);
  if (!crd) apart.dim(1, 1, b * b);
  apart.dim(2), apart.dim(3);
  together.dim(0), together.dim(1, 1, b * b), together.dim(2, b), together.dim(3, b);
  TransposeAttrs t = crd ? TransposeAttrs{{0, 1, 4, 2, 5, 3}} : TransposeAttrs{{0, 3, 4, 1, 5, 2}};
  c.set(0, together.reshaped(c.emit(OpId::kTranspose, t, {apart.reshaped(x)})));
}
void read_space_to_depth(ReadCtx& c) {
  ValueId x = c.in(0);
  const int64_t b = block_of(c, x);
  const bool crd = is_crd(c);
  Sizes apart{c, x}, together{c, x};
  apart.dim(0), apart.dim(1), apart.dim(2, 1, b), apart.number(b), apart.dim(3, 1, b);
  apart.number(b);
  together.dim(0), together.dim(1, b * b), together.dim(2, 1, b), together.dim(3, 1, b);
  TransposeAttrs t = crd ? TransposeAttrs{{0, 1, 3, 5, 2, 4}} : TransposeAttrs{{0, 3, 5, 1, 2, 4}};
  c.set(0, together.reshaped(c.emit(OpId::kTranspose, t, {apart.reshaped(x)})));
}

}  // namespace

WICK_READ(Reshape, read_reshape);
WICK_READ(Flatten, read_flatten);
WICK_READ(Squeeze, read_squeeze<OpId::kSqueeze>);
WICK_READ(Unsqueeze, read_squeeze<OpId::kUnsqueeze>);
WICK_READ(Transpose, read_transpose);
WICK_READ(Expand, read_expand);
WICK_READ(Concat, read_concat);
WICK_READ(Split, read_split);
WICK_READ(Slice, read_slice);
WICK_READ(Pad, read_pad);
WICK_READ(Shape, read_shape);
WICK_READ(Size, read_size);
WICK_READ(Gather, read_gather<OpId::kGather>);
WICK_READ(GatherElements, read_gather<OpId::kGatherElements>);
WICK_READ(ScatterElements, read_scatter);
WICK_READ(Scatter, read_scatter);
WICK_READ(Constant, read_constant);
WICK_READ(ConstantOfShape, read_constant_of_shape);
namespace {

// Finds what read_depth_to_space() and the trainer's pixel_shuffle() make.
void find_shuffle(FormFinder& f, NodeId id) {
  SpelledOp op(f, id);
  const Node& turned = f.g.node(id);
  const Node* split = op.part(turned.inputs[0], OpId::kReshape);
  const Node* join = split == nullptr ? nullptr : op.reader(turned.outputs[0], OpId::kReshape);
  if (join == nullptr) return;
  const ValueId x = split->inputs[0], y = join->outputs[0];
  const Value &from = f.g.value(x), &apart = f.g.value(turned.inputs[0]), &to = f.g.value(y);
  if (from.dtype != DType::kF32 || !from.ranked || !apart.ranked || !to.ranked ||
      from.shape.rank() != 4 || apart.shape.rank() != 6 || to.shape.rank() != 4)
    return;
  const DimList& perm = turned.attrs.as<TransposeAttrs>().perm;
  const auto is = [&](const DimList& other) {
    return std::ranges::equal(perm.span(), other.span());
  };
  const bool crd = is({0, 1, 4, 2, 5, 3});
  if (!crd && !is({0, 3, 4, 1, 5, 2})) return;
  const SymDim &high = apart.shape[crd ? 2 : 1], &wide = apart.shape[crd ? 3 : 2];
  const SymDim& channels = apart.shape[crd ? 1 : 3];
  if (!high.known() || high.constant() < 1 || dim_equal(high, wide) != Tri::kYes) return;
  const auto same = [](const SymDim& a, const SymDim& b) { return dim_equal(a, b) == Tri::kYes; };
  if (!same(apart.shape[0], from.shape[0]) || !same(apart.shape[4], from.shape[2]) ||
      !same(apart.shape[5], from.shape[3]) || !same(to.shape[0], from.shape[0]) ||
      !same(to.shape[1], channels) || !same(to.shape[2], from.shape[2] * high) ||
      !same(to.shape[3], from.shape[3] * high))
    return;
  Form form = op.form();
  form.inputs = {x};
  form.write = [x, block = high.constant(), crd](WriteCtx& c) {
    NodeProto& n = c.add("DepthToSpace", {c.name(x)}, {c.out(0)});
    set_int(n, "blocksize", block);
    set_string(n, "mode", crd ? "CRD" : "DCR");
  };
  f.add(std::move(form));
}

}  // namespace

void find_shuffles(FormFinder& f) {
  for (size_t i = 0; i < f.g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (f.g.node(id).op == OpId::kTranspose && !f.taken(id)) find_shuffle(f, id);
  }
}

// Returns whether some size within its bounds makes a 0 in the shape: if none does, "allowzero",
// which opset 14 introduced, makes no difference.
static bool may_hold_zero(const WriteCtx& c, const ReshapeAttrs& a) {
  const auto is_zero = [](const SymDim& d) { return d.min() <= 0 && d.max() >= 0; };
  if (!c.has(1)) return std::any_of(a.shape.span().begin(), a.shape.span().end(), is_zero);
  const Value& shape = c.g.value(c.node.inputs[1]);
  return !shape.has_elements || std::any_of(shape.elements.begin(), shape.elements.end(), is_zero);
}

WICK_READ(DepthToSpace, read_depth_to_space);
WICK_READ(SpaceToDepth, read_space_to_depth);

WICK_ONNX_ROW(Reshape, [](WriteCtx& c) {
  const auto& a = c.as<ReshapeAttrs>();
  NodeProto& n =
      c.add("Reshape", {c.in(0), c.has(1) ? c.in(1) : c.ints(a.shape.span())}, {c.out(0)});
  if (a.allowzero == 0 || (c.opset() < 14 && !may_hold_zero(c, a))) return;
  c.need(14);
  set_int(n, "allowzero", 1);
});
WICK_ONNX_ROW(Flatten,
              [](WriteCtx& c) { set_int(c.same("Flatten"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(Squeeze, [](WriteCtx& c) {
  c.add("Squeeze", {c.in(0), c.ints_input(1, c.as<AxesAttrs>().axes.span())}, {c.out(0)});
});
WICK_ONNX_ROW(Unsqueeze, [](WriteCtx& c) {
  c.add("Unsqueeze", {c.in(0), c.has(1) ? c.in(1) : c.ints(c.as<AxesAttrs>().axes.span())},
        {c.out(0)});
});
WICK_ONNX_ROW(Transpose, [](WriteCtx& c) {
  NodeProto& n = c.same("Transpose");
  if (!c.as<TransposeAttrs>().perm.empty()) set_ints(n, "perm", c.as<TransposeAttrs>().perm.span());
});
WICK_ONNX_ROW(Expand, [](WriteCtx& c) {
  const Value& x = c.g.value(c.node.inputs[0]);
  if (is_small(x.dtype)) {  // ONNX fills with these dtypes but does not expand them
    if (x.origin != ValueOrigin::kConstant || x.constant.numel() != 1)
      c.fail(std::string("ONNX has no Expand of ") + dtype_name(x.dtype));
    AttributeProto& a =
        *c.add("ConstantOfShape", {c.has(1) ? c.in(1) : c.ints(c.as<ShapeAttrs>().shape.span())},
               {c.out(0)})
             .add_attribute();
    a.set_name("value");
    a.set_type(AttributeProto::TENSOR);
    *a.mutable_t() = encode(x.constant.reshaped(Shape{1}), "");
    return;
  }
  c.add("Expand", {c.in(0), c.has(1) ? c.in(1) : c.ints(c.as<ShapeAttrs>().shape.span())},
        {c.out(0)});
});
WICK_ONNX_ROW(Concat,
              [](WriteCtx& c) { set_int(c.same("Concat"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(Split, [](WriteCtx& c) {
  const auto& a = c.as<SplitAttrs>();
  std::vector<std::string> outs;
  for (size_t i = 0; i < c.node.outputs.size(); ++i) outs.push_back(c.out(i));
  std::string sizes = c.ints_input(1, a.sizes.span());
  if (sizes.empty()) {  // opset 17 splits evenly only when the axis divides
    const Value& x = c.g.value(c.node.inputs[0]);
    const int64_t axis = a.axis < 0 ? a.axis + c.rank(0) : a.axis;
    const SymDim& extent = x.shape[static_cast<int>(axis)];
    if (extent.known() && extent.constant() % static_cast<int64_t>(outs.size()) != 0) c.need(18);
  }
  NodeProto& n = c.add("Split", {c.in(0), sizes}, outs);
  set_int(n, "axis", a.axis);
  if (sizes.empty() && has_attribute(c.form("Split"), "num_outputs"))
    set_int(n, "num_outputs", static_cast<int64_t>(outs.size()));
});
WICK_ONNX_ROW(Slice, [](WriteCtx& c) {
  const auto& a = c.as<SliceAttrs>();
  std::string starts = c.has(1) ? c.in(1) : c.ints(a.starts.span()),
              ends = c.has(2) ? c.in(2) : c.ints(a.ends.span());
  c.add("Slice",
        {c.in(0), starts, ends, c.ints_input(3, a.axes.span()), c.ints_input(4, a.steps.span())},
        {c.out(0)});
});
WICK_ONNX_ROW(Pad, [](WriteCtx& c) {
  const auto& a = c.as<PadAttrs>();
  if (a.mode == static_cast<int64_t>(PadMode::kWrap)) c.need(19);
  if (c.has(3) || (!a.axes.empty() && (c.has(1) || !c.g.value(c.node.inputs[0]).ranked)))
    c.need(18);
  IntList<16> pads = a.pads;
  const bool takes_axes = c.form("Pad").inputs.count() > 3;
  if (!a.axes.empty() && !c.has(1) && !takes_axes) {  // spelled out over all axes
    const int64_t rank = c.rank(0), n = a.axes.count;
    pads = {};
    pads.count = 2 * rank;
    for (int64_t i = 0; i < 2 * n; ++i) {
      const int64_t axis = a.axes[i % n] < 0 ? a.axes[i % n] + rank : a.axes[i % n];
      pads.values[i < n ? axis : axis + rank] = a.pads[i];
    }
  }
  const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
  std::string value = c.has(2)       ? c.in(2)
                      : a.value != 0 ? c.scalar(c.g.value(c.node.inputs[0]).dtype, a.value)
                                     : "";
  std::string axes = takes_axes ? c.ints_input(3, a.axes.span()) : "";
  NodeProto& n =
      c.add("Pad", {c.in(0), c.has(1) ? c.in(1) : c.ints(pads.span()), value, axes}, {c.out(0)});
  set_string(n, "mode", kModes[a.mode]);
});
WICK_ONNX_ROW(Shape, [](WriteCtx& c) {
  const auto& a = c.as<ShapeOpAttrs>();
  if (c.opset() < 15 && (a.start != 0 || a.end != INT64_MAX)) {
    const std::string all = c.fresh();
    c.add("Shape", {c.in(0)}, {all});
    c.add("Slice", {all, c.ints({&a.start, 1}), c.ints({&a.end, 1})}, {c.out(0)});
    return;
  }
  NodeProto& n = c.same("Shape");
  if (a.start != 0) set_int(n, "start", a.start);
  if (a.end != INT64_MAX) set_int(n, "end", a.end);
});
WICK_ONNX_ROW(Gather,
              [](WriteCtx& c) { set_int(c.same("Gather"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(GatherElements, [](WriteCtx& c) {
  set_int(c.same("GatherElements"), "axis", c.as<AxisAttrs>().axis);
});
WICK_ONNX_ROW(ScatterElements, [](WriteCtx& c) {
  const auto& a = c.as<ScatterAttrs>();
  const char* kHow[] = {"none", "add", "mul", "max", "min"};
  if (a.reduction > 2) c.need(18);
  NodeProto& n = c.same("ScatterElements");
  set_int(n, "axis", a.axis);
  set_string(n, "reduction", kHow[a.reduction]);
});

}  // namespace wick::onnx
