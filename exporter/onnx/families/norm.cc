#include "exporter/onnx/file/about.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/training.h"
#include "exporter/onnx/write/forms.h"
#include "graph/rewrite/substitution.h"

namespace wick::onnx {
namespace {

// momentum a + (1 - momentum) b
ValueId running(ReadCtx& c, ValueId a, ValueId b, double momentum) {
  a = c.emit(OpId::kMul, {a, c.scalar(a, momentum)});
  // ONNX computes the difference in float.
  const double rest = 1.0f - static_cast<float>(momentum);
  return c.emit(OpId::kAdd, {a, c.emit(OpId::kMul, {b, c.scalar(b, rest)})});
}
// Training mode is given by the attribute from opset 14 on (with two outputs more), by the outputs
// asked for from 7 on, and before by is_test. It uses the statistics of x; outputs 1 and 2 are the
// running ones, 3 and 4 (until opset 13) x's own.
void read_batch_norm(ReadCtx& c) {
  ValueId x = c.in(0), scale = c.in(1), bias = c.in(2), mean = c.in(3), var = c.in(4);
  const bool more = c.wants(1) || c.wants(2) || c.wants(3) || c.wants(4);
  const bool switched = TrainingScope::on();  // train() and eval() switch it
  const bool training = switched        ? false
                        : c.opset >= 14 ? c.attr_int("training_mode", 0) != 0
                        : c.opset >= 7  ? more
                                        : c.attr_int("is_test", 0) == 0;
  const double momentum = c.attr_float("momentum", 0.9f);
  BatchNormAttrs a{c.attr_float("epsilon", 1e-5f)};
  // Everything is computed in one dtype: the parameters may be wider than x, and 16-bit statistics
  // would overflow.
  const DType dtype = c.dtype(x), stored = c.dtype(mean);
  DType inner = dtype;
  for (ValueId v : {scale, mean}) {
    if (c.dtype(v) != dtype) inner = DType::kF32;
  }
  if (training && dtype != DType::kF64) inner = DType::kF32;
  if (dtype == DType::kF64) inner = dtype;
  ValueId y = cast(c, x, inner);
  scale = cast(c, scale, inner), bias = cast(c, bias, inner);
  mean = cast(c, mean, inner), var = cast(c, var, inner);
  // Without `spatial` (until opset 8) every element of an image is a channel of its own. A vector
  // is one channel.
  const bool flat = c.opset < 9 && c.attr_int("spatial", 1) == 0;
  const ValueId like = mean;
  if (flat) {
    for (ValueId* v : {&scale, &bias, &mean, &var}) *v = reshape(c, *v, {-1});
    y = c.emit(OpId::kFlatten, AxisAttrs{1}, {y});
  } else if (c.rank(x) == 1) {
    y = reshape(c, y, {-1, 1});
  }
  ValueId own_mean = kNoValue, own_var = kNoValue;
  if (training) {
    std::vector<int64_t> axes = {0};
    for (int i = 2; i < c.rank(y); ++i) axes.push_back(i);
    ValueId wide = reduce(c, OpId::kReduceMean, y, axes, true);
    ValueId d = c.emit(OpId::kSub, {y, wide});
    own_mean = reshape(c, wide, {-1});
    own_var = reduce(c, OpId::kReduceMean, c.emit(OpId::kMul, {d, d}), axes, false);
  }
  y = c.emit(OpId::kBatchNorm, a,
             {y, scale, bias, training ? own_mean : mean, training ? own_var : var});
  if (flat || c.rank(x) == 1) y = reshape_like(c, y, x);
  c.set(0, cast(c, y, dtype));
  if (!training) {
    for (int i = 1; switched && i < 5; ++i) {
      if (c.wants(i)) c.set(i, c.emit(OpId::kIdentity, {c.in(i % 2 == 1 ? 3 : 4)}));
    }
    return;
  }
  auto set = [&](int i, ValueId v) {
    if (c.wants(i)) c.set(i, cast(c, flat ? reshape_like(c, v, like) : v, stored));
  };
  set(1, running(c, mean, own_mean, momentum));
  set(2, running(c, var, own_var, momentum));
  set(3, own_mean);
  set(4, own_var);
}

// Before opset 13 the axes from `axis` on are treated as one: flatten, act on the last axis,
// restore the shape.
template <OpId op>
void read_softmax(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.opset >= 13) return c.set(0, c.emit(op, AxisAttrs{c.attr_int("axis", -1)}, {x}));
  int64_t axis = c.attr_int("axis", 1);
  if (axis == -1 || (c.g.value(x).ranked && axis == c.rank(x) - 1))
    return c.set(0, c.emit(op, AxisAttrs{-1}, {x}));
  ValueId flat = c.emit(OpId::kFlatten, AxisAttrs{axis}, {x});
  ValueId y = c.emit(op, AxisAttrs{-1}, {flat});
  c.set(0, c.emit(OpId::kReshape, ReshapeAttrs{{}, 1},
                  {y, c.emit(OpId::kShape, ShapeOpAttrs{}, {x})}));
}

ReduceAttrs over(const std::vector<int64_t>& axes) {
  ReduceAttrs a;
  a.axes = DimList(Span<const int64_t>(axes));
  return a;
}
std::vector<int64_t> axes_from(ReadCtx& c, ValueId x, int64_t first) {
  int64_t rank = c.rank(x);
  if (first < 0) first += rank;
  if (first < 0 || first > rank) c.fail("axis out of range");
  std::vector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

// Returns the dtype for statistics: wide enough for x, and for what the node asks for.
DType wide(ReadCtx& c, DType x, DType asked) {
  if (!is_float(x)) c.fail(std::string("needs a floating-point tensor, got ") + dtype_name(x));
  for (DType t : {DType::kF64, DType::kF32}) {
    if (x == t || asked == t) return t;
  }
  return asked;
}
DType stash_type(ReadCtx& c) {
  const int64_t t = c.attr_int("stash_type", 1);
  if (t < 1 || t >= kDTypeCount || !is_float(static_cast<DType>(t)))
    c.fail("stash_type " + std::to_string(t) + " is no floating-point type");
  return static_cast<DType>(t);
}

// Fails where a scale or bias would make the result larger than x.
void check_within(ReadCtx& c, ValueId v, ValueId x, const char* what) {
  if (!ranked(c, v) || !ranked(c, x)) return;
  const int more = c.rank(x) - c.rank(v);
  if (more < 0) c.fail(std::string(what) + " has more dims than X, " + shape_text(shape(c, v)));
  for (int i = 0; i < c.rank(v); ++i) {
    if (dim_equal(shape(c, v)[i], SymDim(1)) != Tri::kYes) check_size(c, v, i, x, more + i, what);
  }
}

void read_layer_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0)), stash = stash_type(c);
  ValueId x = cast(c, c.in(0), wide(c, dtype, stash));
  const Standardized n =
      standardize(c, x, axes_from(c, x, c.attr_int("axis", -1)), c.attr_float("epsilon", 1e-5f));
  ValueId y = cast(c, n.normal, dtype);
  check_within(c, c.in(1), x, "Scale");
  if (c.has(2)) check_within(c, c.in(2), x, "B");
  if (!is_filler(c, 1, 1)) y = c.emit(OpId::kMul, {y, c.in(1)});
  if (c.has(2)) y = c.emit(OpId::kAdd, {y, c.in(2)});
  c.set(0, y);
  if (c.wants(1)) c.set(1, cast(c, n.mean, stash));
  if (c.wants(2)) c.set(2, cast(c, c.emit(OpId::kReciprocal, {n.root}), stash));
}
void read_rms_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0)), scaled = c.dtype(c.in(1));
  if (!is_float(scaled)) c.fail("needs a floating-point scale");
  ValueId x = cast(c, c.in(0), wide(c, dtype, stash_type(c)));
  check_within(c, c.in(1), x, "scale");
  ReduceAttrs a = over(axes_from(c, x, c.attr_int("axis", -1)));
  ValueId mean = c.emit(OpId::kReduceMean, a, {c.emit(OpId::kMul, {x, x})});
  ValueId root = c.emit(OpId::kSqrt,
                        {c.emit(OpId::kAdd, {mean, c.scalar(x, c.attr_float("epsilon", 1e-5f))})});
  // It is normalized in x's dtype and scaled in the scale's.
  ValueId y = cast(c, c.emit(OpId::kDiv, {x, root}), dtype);
  y = cast(c, y, scaled);
  c.set(0, is_filler(c, 1, 1) ? y : c.emit(OpId::kMul, {y, c.in(1)}));
}
// Reshapes [C] to [C, 1, 1 ...], which broadcasts against [N, C, spatial...].
ValueId per_channel(ReadCtx& c, ValueId v, int rank) {
  AxesAttrs a;
  for (int i = 1; i < rank - 1; ++i) a.axes.values[a.axes.count++] = i;
  return a.axes.empty() ? v : c.emit(OpId::kUnsqueeze, a, {v});
}
void read_instance_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  ValueId y = standardize(c, x, axes_from(c, x, 2), c.attr_float("epsilon", 1e-5f)).normal;
  auto channels = [&](int i) {
    check_rank(c, c.in(i), 1, i == 1 ? "scale" : "B");
    check_size(c, c.in(i), 0, x, 1, i == 1 ? "scale" : "B");
    return per_channel(c, floats_of(c, c.in(i)), c.rank(x));
  };
  if (!is_filler(c, 1, 1)) y = c.emit(OpId::kMul, {y, channels(1)});
  if (!is_filler(c, 2, 0)) y = c.emit(OpId::kAdd, {y, channels(2)});
  c.set(0, cast(c, y, dtype));
}
void read_mean_variance_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  auto axes = c.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  // Follows ONNX Runtime's first version.
  if (c.opset < 9 && c.attr_int("across_channels", 0) != 0) axes = {0, 1, 2, 3};
  ValueId d = c.emit(OpId::kSub, {x, reduce(c, OpId::kReduceMean, x, axes, true)});
  if (c.opset < 9 && c.attr_int("normalize_variance", 1) == 0) return c.set(0, cast(c, d, dtype));
  ValueId var = reduce(c, OpId::kReduceMean, c.emit(OpId::kMul, {d, d}), axes, true);
  // The epsilon is added to the standard deviation here.
  ValueId deviation = c.emit(OpId::kAdd, {c.emit(OpId::kSqrt, {var}), c.scalar(x, 1e-9)});
  c.set(0, cast(c, c.emit(OpId::kDiv, {d, deviation}), dtype));
}
void read_lp_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  int64_t p = c.attr_int("p", 2);
  ReduceAttrs a = over({c.attr_int("axis", -1)});
  if (p != 1 && p != 2) c.fail("p must be 1 or 2");
  ValueId size =
      p == 1 ? c.emit(OpId::kReduceSum, a, {c.emit(OpId::kAbs, {x})})
             : c.emit(OpId::kSqrt, {c.emit(OpId::kReduceSum, a, {c.emit(OpId::kMul, {x, x})})});
  // 0 / 0 is 0 here
  ValueId zero = c.emit(OpId::kEqual, {size, c.scalar(x, 0)});
  size = c.emit(OpId::kWhere, {zero, c.scalar(x, 1), size});
  c.set(0, cast(c, c.emit(OpId::kDiv, {x, size}), dtype));
}

// -- Writing: finds the ops that these readers and the trainer's functions emit.

struct Spelled {
  ValueId x = kNoValue, y = kNoValue;
  int first_axis = 0;  // the axes are all from this one on
  float epsilon = 0;
  bool quotient = true;
  ValueId scale = kNoValue, bias = kNoValue;  // the values multiplied and added
};

// Returns the first axis if the reduction is over all axes from it on and keeps their dims, else 0.
// (No norm is over all axes.)
int axes_of(const Graph& g, const Node& mean) {
  const auto& a = mean.attrs.as<ReduceAttrs>();
  const Value& x = g.value(mean.inputs[0]);
  if (a.keepdims == 0 || (mean.inputs.size() > 1 && mean.inputs[1] != kNoValue) || !x.ranked ||
      a.axes.empty())
    return 0;
  const int rank = x.shape.rank(), first = rank - static_cast<int>(a.axes.count);
  for (int64_t i = 0; i < a.axes.count; ++i) {
    if ((a.axes[i] < 0 ? a.axes[i] + rank : a.axes[i]) != first + i) return 0;
  }
  return first;
}

// Matches sqrt(mean + epsilon) and returns the mean's node.
const Node* rooted_mean(const FormFinder& f, SpelledOp& p, const Node& root, Spelled* s) {
  const Node* sum = p.part(root.inputs[0], OpId::kAdd);
  if (sum == nullptr) return nullptr;
  const Value& epsilon = f.g.value(sum->inputs[1]);
  if (epsilon.origin != ValueOrigin::kConstant || !epsilon.name.empty() ||
      epsilon.dtype != DType::kF32 || epsilon.constant.numel() != 1 || epsilon.shape.rank() != 0)
    return nullptr;
  s->epsilon = epsilon.constant.as<float>()[0];
  return p.part(sum->inputs[0], OpId::kReduceMean);
}

// Matches (x - mean) / root, or the product with the root's reciprocal.
bool standardized(const FormFinder& f, SpelledOp& p, NodeId id, Spelled* s) {
  const Node& last = f.g.node(id);
  s->y = last.outputs[0];
  s->quotient = last.op == OpId::kDiv;
  const Node* root = nullptr;
  if (s->quotient) {
    root = p.part(last.inputs[1], OpId::kSqrt);
  } else if (const Node* inverse = p.part(last.inputs[1], OpId::kReciprocal)) {
    root = p.part(inverse->inputs[0], OpId::kSqrt);
  }
  if (root == nullptr || f.g.value(s->y).dtype != DType::kF32) return false;
  const Node* difference = p.part(last.inputs[0], OpId::kSub, 3);
  const Node* variance = difference == nullptr ? nullptr : rooted_mean(f, p, *root, s);
  const Node* square = variance == nullptr ? nullptr : p.part(variance->inputs[0], OpId::kMul);
  if (square == nullptr || square->inputs[0] != last.inputs[0] ||
      square->inputs[1] != last.inputs[0])
    return false;
  const Node* mean = p.part(difference->inputs[1], OpId::kReduceMean);
  if (mean == nullptr || mean->inputs[0] != difference->inputs[0]) return false;
  s->x = mean->inputs[0];
  s->first_axis = axes_of(f.g, *mean);
  return s->first_axis > 0 && axes_of(f.g, *variance) == s->first_axis;
}

// Matches x / sqrt(mean of squares + epsilon).
bool root_mean_square(const FormFinder& f, SpelledOp& p, NodeId id, Spelled* s) {
  const Node& last = f.g.node(id);
  s->x = last.inputs[0], s->y = last.outputs[0];
  if (f.g.value(s->y).dtype != DType::kF32) return false;
  const Node* root = p.part(last.inputs[1], OpId::kSqrt);
  const Node* mean = root == nullptr ? nullptr : rooted_mean(f, p, *root, s);
  const Node* square = mean == nullptr ? nullptr : p.part(mean->inputs[0], OpId::kMul);
  if (square == nullptr || square->inputs[0] != s->x || square->inputs[1] != s->x) return false;
  s->first_axis = axes_of(f.g, *mean);
  return s->first_axis > 0;
}

// Adds a following `y * scale + bias` to the match, each part if it is there and `fits`.
template <class Fits>
void take_affine(SpelledOp* p, Spelled* s, bool with_bias, const Fits& fits) {
  for (const OpId op : {OpId::kMul, OpId::kAdd}) {
    if (op == OpId::kAdd && !with_bias) return;
    SpelledOp more = *p;
    const Node* n = more.reader(s->y, op);
    if (n == nullptr) continue;
    ValueId by = n->inputs[1];
    if (by == s->y || !fits(&more, &by)) continue;
    (op == OpId::kMul ? s->scale : s->bias) = by;
    s->y = n->outputs[0];
    *p = more;
  }
}

// Returns whether `by` is a [C] vector reshaped to axis 1 of a tensor of that rank, and sets it to
// the vector.
bool is_channels(const FormFinder& f, SpelledOp* p, ValueId* by, int rank, const SymDim& channels) {
  const Value& v = f.g.value(*by);
  if (!v.ranked || !channels.known()) return false;
  for (int i = 0; i < v.shape.rank(); ++i) {
    const bool own = i == v.shape.rank() - rank + 1;
    if (!v.shape[i].known() || v.shape[i].constant() != (own ? channels.constant() : 1))
      return false;
  }
  const Node* view = p->part(*by, OpId::kReshape);
  if (view == nullptr) view = p->part(*by, OpId::kUnsqueeze);
  if (view == nullptr) return false;
  *by = view->inputs[0];
  const Value& list = f.g.value(*by);
  return list.ranked && list.shape.rank() == 1 && list.shape[0].known() &&
         list.shape[0].constant() == channels.constant();
}

// Returns the constant that ONNX requires where there is no scale (1) or no bias (0).
std::string filler(WriteCtx& c, const Shape& shape, float value) {
  return c.tensor(
      HostTensor::of(shape, std::vector<float>(static_cast<size_t>(numel(shape)), value)));
}

void add_form(FormFinder& f, const SpelledOp& p, const Spelled& s, const char* op, Shape fill,
              bool bias, std::function<void(NodeProto&)> attributes) {
  Form form = p.form();
  form.inputs = {s.x};
  for (ValueId v : {s.scale, s.bias}) {
    if (v != kNoValue) form.inputs.push_back(v);
  }
  form.write = [=](WriteCtx& c) {
    const std::string scale = s.scale == kNoValue ? filler(c, fill, 1) : c.name(s.scale);
    const std::string shift = s.bias != kNoValue ? c.name(s.bias) : bias ? filler(c, fill, 0) : "";
    NodeProto& n = c.add(op, {c.name(s.x), scale, shift}, {c.out(0)});
    attributes(n);
    set_float(n, "epsilon", s.epsilon);
    if (s.quotient) write_form(kQuotient, n);
  };
  f.add(std::move(form));
}

// Gets the dims from the first axis on; false if one of them is not known.
bool row_of(const FormFinder& f, const Spelled& s, Shape* row) {
  const SymShape& shape = f.g.value(s.x).shape;
  for (int i = s.first_axis; i < shape.rank(); ++i) {
    if (!shape[i].known()) return false;
    row->push_back(shape[i].constant());
  }
  return true;
}

void find_row_norm(FormFinder& f, SpelledOp p, Spelled s, const char* op, bool bias) {
  Shape row;
  if (!row_of(f, s, &row)) return;
  take_affine(&p, &s, bias, [&](SpelledOp*, ValueId* by) {
    const Value& v = f.g.value(*by);
    return v.ranked && is_static(v.shape) && to_static(v.shape) == row;
  });
  if (s.scale == kNoValue && !s.quotient) return;
  const int64_t axis = s.first_axis - f.g.value(s.x).shape.rank();
  add_form(f, p, s, op, row, false, [axis](NodeProto& n) { set_int(n, "axis", axis); });
}

// Matches a norm over groups: x reshaped to [N, groups, rest], and back.
bool find_group_norm(FormFinder& f, SpelledOp p, Spelled s) {
  const Node* split = p.part(s.x, OpId::kReshape, 2);
  const Node* back = split == nullptr ? nullptr : p.reader(s.y, OpId::kReshape);
  if (back == nullptr) return false;
  const SymShape& grouped = f.g.value(s.x).shape;
  const ValueId x = split->inputs[0];
  s.y = back->outputs[0];
  if (!ir::same_shape(f.g, x, s.y)) return false;
  const SymShape& shape = f.g.value(x).shape;
  if (grouped.rank() != 3 || shape.rank() < 3 || !grouped[1].known() || !shape[1].known() ||
      dim_equal(grouped[0], shape[0]) != Tri::kYes || grouped[1].constant() < 1 ||
      shape[1].constant() % grouped[1].constant() != 0)
    return false;
  take_affine(&p, &s, true, [&](SpelledOp* more, ValueId* by) {
    return is_channels(f, more, by, shape.rank(), shape[1]);
  });
  if (!s.quotient && (s.scale == kNoValue || s.bias == kNoValue)) return false;
  s.x = x;
  const int64_t groups = grouped[1].constant();
  add_form(f, p, s, "GroupNormalization", Shape{shape[1].constant()}, true,
           [groups](NodeProto& n) { set_int(n, "num_groups", groups); });
  return true;
}

// Matches a norm over all dims but the first two, with a known number of channels.
bool find_instance_norm(FormFinder& f, SpelledOp p, Spelled s) {
  const SymShape& shape = f.g.value(s.x).shape;
  if (s.first_axis != 2 || !shape[1].known()) return false;
  take_affine(&p, &s, true, [&](SpelledOp* more, ValueId* by) {
    return is_channels(f, more, by, shape.rank(), shape[1]);
  });
  const bool plain = s.scale == kNoValue && s.bias == kNoValue;
  if (!s.quotient && (s.scale == kNoValue || s.bias == kNoValue)) return false;
  // Without scale and bias the last of three dims may just as well be a row.
  const bool grouped = f.g.value(s.x).origin == ValueOrigin::kNode &&
                       f.g.node(f.g.value(s.x).producer).op == OpId::kReshape;
  if (plain && shape.rank() == 3 && shape[2].known() && f.opset >= 17 && !grouped) return false;
  for (const OpId op : {OpId::kMul, OpId::kAdd}) {  // the row has its own scale or bias
    Shape row;
    SpelledOp other = p;
    const Node* n = plain && row_of(f, s, &row) ? other.reader(s.y, op) : nullptr;
    const Value* by = n == nullptr ? nullptr : &f.g.value(n->inputs[1]);
    if (by != nullptr && by->ranked && is_static(by->shape) && to_static(by->shape) == row)
      return false;
  }
  add_form(f, p, s, "InstanceNormalization", Shape{shape[1].constant()}, true, [](NodeProto&) {});
  return true;
}

}  // namespace

void find_norms(FormFinder& f) {
  for (size_t i = 0; i < f.g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const OpId op = f.g.node(id).op;
    if (f.taken(id) || (op != OpId::kDiv && op != OpId::kMul)) continue;
    SpelledOp p(f, id), other(f, id);
    Spelled s, t;
    if (standardized(f, p, id, &s)) {
      if (f.opset >= 21 && find_group_norm(f, p, s)) continue;
      if (find_instance_norm(f, p, s)) continue;
      if (f.opset >= 17) find_row_norm(f, p, s, "LayerNormalization", true);
    } else if (f.opset >= 23 && op == OpId::kDiv && root_mean_square(f, other, id, &t)) {
      find_row_norm(f, other, t, "RMSNormalization", false);
    }
  }
}

WICK_READ(BatchNormalization, read_batch_norm);
WICK_READ(Softmax, read_softmax<OpId::kSoftmax>);
WICK_READ(LogSoftmax, read_softmax<OpId::kLogSoftmax>);
WICK_READ(LayerNormalization, read_layer_norm);
WICK_READ(RMSNormalization, read_rms_norm);
WICK_READ(InstanceNormalization, read_instance_norm);
WICK_READ(MeanVarianceNormalization, read_mean_variance_norm);
WICK_READ(LpNormalization, read_lp_norm);

WICK_ONNX_ROW(BatchNorm, [](WriteCtx& c) {
  set_float(c.same("BatchNormalization"), "epsilon", c.as<BatchNormAttrs>().epsilon);
});
WICK_ONNX_ROW(Softmax,
              [](WriteCtx& c) { set_int(c.same("Softmax"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(LogSoftmax,
              [](WriteCtx& c) { set_int(c.same("LogSoftmax"), "axis", c.as<AxisAttrs>().axis); });

}  // namespace wick::onnx
