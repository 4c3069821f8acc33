// Builds Attention as the formula that its function body states: scaled scores, a soft cap, an
// additive bias, softmax, and the values weighted by it.
#include <cmath>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/read/subgraph.h"

namespace wick::onnx {
namespace {

// Reshapes [B, S, heads * n] to [B, heads, S, n].
ValueId split_heads(ReadCtx& c, ValueId x, int64_t heads) {
  if (heads < 1) c.fail("3-D inputs need q_num_heads and kv_num_heads, both positive");
  const SymDim& packed = shape(c, x)[2];
  if (packed.known() && packed.constant() % heads != 0) {
    c.fail("the last dimension of " + shape_text(shape(c, x)) + " does not divide by " +
           std::to_string(heads) + " heads");
  }
  ValueId count = c.int_constant({heads});
  ValueId size = c.emit(OpId::kDiv, {dim(c, x, 2), count});
  return transpose(c, reshape_to(c, x, concat(c, {dims(c, x, 0, 2), count, size}, 0)),
                   {0, 2, 1, 3});
}

ValueId merge_heads(ReadCtx& c, ValueId x) {
  ValueId y = transpose(c, x, {0, 2, 1, 3});
  ValueId size = c.emit(OpId::kMul, {dim(c, y, 2), dim(c, y, 3)});
  return reshape_to(c, y, concat(c, {dims(c, y, 0, 2), size}, 0));
}

// Groups handles query heads that share a key head: the queries of a group are stacked along the
// sequence axis as more queries of that head, so that no key is copied.
struct Groups {
  ValueId q, k;
  bool shared = false;

  Groups(ReadCtx& c, ValueId query, ValueId key) : q(query), k(key) {
    const SymDim heads = shape(c, q)[1], kv_heads = shape(c, k)[1];
    if (dim_equal(heads, kv_heads) == Tri::kYes) return;
    if (heads.known() && kv_heads.known() &&
        (kv_heads.constant() < 1 || heads.constant() % kv_heads.constant() != 0)) {
      c.fail(heads.text() + " query heads cannot share " + kv_heads.text() +
             " key heads: they must be a multiple");
    }
    shared = true;
  }
  // Multiplies left [B, heads, S, n] by right [B, kv_heads, n, m].
  ValueId times(ReadCtx& c, ValueId left, ValueId right) const {
    if (!shared) return c.emit(OpId::kMatMul, {left, right});
    ValueId rows = c.emit(OpId::kMul, {dim(c, q, 1), dim(c, q, 2)});
    rows = c.emit(OpId::kDiv, {rows, dim(c, k, 1)});
    ValueId stacked =
        reshape_to(c, left, concat(c, {dim(c, q, 0), dim(c, k, 1), rows, dim(c, left, 3)}, 0));
    ValueId y = c.emit(OpId::kMatMul, {stacked, right});
    return reshape_to(c, y, concat(c, {dims(c, q, 0, 3), dim(c, right, 3)}, 0));
  }
};

// Bias builds the bias that is added to the scores; kNoValue for none. A position that must not be
// attended to has -inf.
class Bias {
 public:
  Bias(ReadCtx& c, ValueId q, ValueId k, ValueId past)
      : c_(c), q_(q), total_(dim(c, k, 2)), length_(shape(c, k)[2]) {
    if (past != kNoValue) offset_ = dim(c, past, 2);
  }

  ValueId build() {
    ValueId valid = c_.optional(6);
    if (valid != kNoValue) {
      if (c_.rank(valid) != 1) c_.fail("nonpad_kv_seqlen must have rank 1");
      valid = unsqueeze(c_, valid, {1, 2, 3});
      if (offset_ == kNoValue) offset_ = c_.emit(OpId::kSub, {valid, dim(c_, q_, 2)});
    }
    if (c_.has(3)) mask(c_.in(3));
    window();
    if (valid != kNoValue) allow(OpId::kLess, keys(), valid);
    if (allowed_ == kNoValue) return bias_;
    ValueId none = c_.scalar(q_, -INFINITY);
    return c_.emit(OpId::kWhere, {allowed_, bias_ == kNoValue ? c_.scalar(q_, 0) : bias_, none});
  }

 private:
  ValueId keys() {
    if (keys_ == kNoValue) keys_ = arange(c_, total_);
    return keys_;
  }
  void allow(ValueId yes) {
    allowed_ = allowed_ == kNoValue ? yes : c_.emit(OpId::kAnd, {allowed_, yes});
  }
  void allow(OpId op, ValueId a, ValueId b) { allow(c_.emit(op, {a, b})); }

  // Pads a short mask with -inf (false for bool). Before opset 24 a mask of length 1 is broadcast
  // instead.
  void mask(ValueId m) {
    if (c_.rank(m) == 0) {
      m = unsqueeze(c_, m, {0});
    } else {
      int last = c_.rank(m) - 1;
      const SymDim have = shape(c_, m)[last];
      bool longer = have.known() && length_.known() && have.constant() < length_.constant();
      bool is_bool = c_.dtype(m) == DType::kBool;
      if (!is_bool) m = cast(c_, m, c_.dtype(q_));
      if (c_.opset >= 24 ? dim_equal(have, length_) != Tri::kYes : longer && have.constant() != 1) {
        ValueId missing = c_.emit(OpId::kSub, {total_, dim(c_, m, last)});
        if (!longer) missing = c_.emit(OpId::kMax, {missing, c_.int_constant({0})});
        m = pad_axis(c_, m, last, PadSide::kAfter, missing, is_bool ? 0 : -INFINITY);
      }
    }
    if (c_.dtype(m) == DType::kBool) return allow(m);
    bias_ = cast(c_, m, c_.dtype(q_));
  }

  // Query i is at position offset + i among the keys.
  void window() {
    const bool causal = c_.attr_int("is_causal", 0) != 0;
    const int64_t left = c_.attr_int("left_window_size", -1),
                  right = c_.attr_int("right_window_size", -1);
    if (left < -1 || right < -1) c_.fail("a window's size must be -1 or more");
    if (!causal && left < 0 && right < 0) return;
    ValueId place = unsqueeze(c_, arange(c_, dim(c_, q_, 2)), {1});
    if (offset_ != kNoValue) place = c_.emit(OpId::kAdd, {place, offset_});
    if (causal) allow(OpId::kLessOrEqual, keys(), place);
    if (left >= 0)
      allow(OpId::kGreaterOrEqual, keys(), c_.emit(OpId::kSub, {place, int_scalar(c_, left)}));
    if (right >= 0)
      allow(OpId::kLessOrEqual, keys(), c_.emit(OpId::kAdd, {place, int_scalar(c_, right)}));
  }

  ReadCtx& c_;
  ValueId q_, total_;
  SymDim length_;
  ValueId offset_ = kNoValue, keys_ = kNoValue, bias_ = kNoValue, allowed_ = kNoValue;
};

// Returns sqrt(scale), by which queries and keys are each multiplied.
ValueId root_of_scale(ReadCtx& c, ValueId q) {
  if (c.attr("scale") != nullptr)
    return c.scalar(q, std::sqrt(std::fabs(c.attr_float("scale", 1))));
  const SymDim& size = shape(c, q)[3];
  const DType wide = c.dtype(q) == DType::kF64 ? DType::kF64 : DType::kF32;
  if (size.known()) {  // computes what the ops below would give
    const auto n = static_cast<double>(size.constant());
    if (wide == DType::kF64) return c.scalar(q, std::sqrt(1 / std::sqrt(n)));
    return c.scalar(q, std::sqrt(1 / std::sqrt(static_cast<float>(n))));
  }
  ValueId root = c.emit(OpId::kSqrt, {cast(c, dim(c, q, 3), wide)});
  return cast(c, c.emit(OpId::kSqrt, {c.emit(OpId::kReciprocal, {root})}), c.dtype(q));
}

DType wider(DType a, DType b) {
  if (a == b) return a;
  return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32;
}

DType softmax_dtype(ReadCtx& c, DType of_queries) {
  int64_t to = c.attr_int("softmax_precision", static_cast<int64_t>(of_queries));
  for (DType t : {DType::kF32, DType::kF16, DType::kF64, DType::kBF16}) {
    if (static_cast<int64_t>(t) == to) return t;
  }
  c.fail("softmax_precision " + std::to_string(to) + " is no floating-point type");
}

// Returns the cached keys or values followed by the new ones.
ValueId present(ReadCtx& c, int past, ValueId now) {
  return c.has(past) ? concat(c, {c.in(past), now}, 2) : now;
}
void set_present(ReadCtx& c, int i, ValueId v) {
  if (!c.wants(i)) return;
  bool own = c.g.value(v).origin == ValueOrigin::kNode && c.g.value(v).name.empty();
  c.set(i, own ? v : c.emit(OpId::kIdentity, {v}));
}

// [batch, heads, length, size]: products would broadcast a batch of 1, and one key for all values.
void check_batch(ReadCtx& c, ValueId q, ValueId k, ValueId v) {
  check_size(c, k, 0, q, 0, "K");
  check_size(c, v, 0, q, 0, "V");
  check_size(c, v, 1, k, 1, "V");
  check_size(c, v, 2, k, 2, "V");
}

void attention(ReadCtx& c) {
  ValueId q = c.in(0), k = c.in(1), v = c.in(2);
  const int rank = c.rank(q);
  if ((rank != 3 && rank != 4) || c.rank(k) != rank || c.rank(v) != rank)
    c.fail("Q, K and V must all have rank 3 or all rank 4");
  const DType dtype = c.dtype(q);
  if (!is_float(dtype) || c.dtype(k) != dtype || !is_float(c.dtype(v)))
    c.fail("Q, K and V must be floating-point, Q and K of one dtype");
  if (c.has(4) != c.has(5)) c.fail("past_key and past_value go together");
  const int64_t mode = c.attr_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) c.fail("qk_matmul_output_mode must be 0 to 3");
  if (rank == 3) {
    const int64_t heads = c.attr_int("q_num_heads", 0), kv_heads = c.attr_int("kv_num_heads", 0);
    q = split_heads(c, q, heads);
    k = split_heads(c, k, kv_heads);
    v = split_heads(c, v, kv_heads);
  }
  k = present(c, 4, k);
  v = present(c, 5, v);
  check_batch(c, q, k, v);
  set_present(c, 1, k);
  set_present(c, 2, v);

  const Groups groups(c, q, k);
  ValueId root = root_of_scale(c, q);
  ValueId queries = c.emit(OpId::kMul, {q, root});
  if (c.attr_float("scale", 1) < 0) queries = c.emit(OpId::kNeg, {queries});
  ValueId keys = c.emit(OpId::kMul, {transpose(c, k, {0, 1, 3, 2}), root});
  ValueId scores = groups.times(c, queries, keys), shown = scores;
  if (double cap = c.attr_float("softcap", 0); cap != 0) {
    ValueId limit = c.scalar(q, cap);
    scores =
        c.emit(OpId::kMul, {c.emit(OpId::kTanh, {c.emit(OpId::kDiv, {scores, limit})}), limit});
  }
  if (mode == 1) shown = scores;
  ValueId bias = Bias(c, q, k, c.optional(4)).build();
  if (bias != kNoValue) scores = c.emit(OpId::kAdd, {scores, bias});
  if (mode == 2) shown = scores;
  ValueId weights =
      c.emit(OpId::kSoftmax, AxisAttrs{-1}, {cast(c, scores, softmax_dtype(c, dtype))});
  weights = cast(c, weights, dtype);
  if (bias != kNoValue) {  // a query that may attend to nothing gets zeros
    ReduceAttrs row;
    row.axes = {-1};
    ValueId nothing =
        c.emit(OpId::kEqual, {c.emit(OpId::kReduceMax, row, {bias}), c.scalar(q, -INFINITY)});
    weights = c.emit(OpId::kWhere, {nothing, c.scalar(q, 0), weights});
  }
  if (mode == 3) shown = weights;
  const DType sum = wider(dtype, c.dtype(v));
  ValueId y = cast(c, groups.times(c, cast(c, weights, sum), cast(c, v, sum)), dtype);
  c.set(0, rank == 3 ? merge_heads(c, y) : y);
  if (c.wants(3)) c.set(3, shown);
}

// Applies the model's own change to the scores or weights: a subgraph of one tensor, which may read
// the graph around it.
ValueId modified(ReadCtx& c, const char* attribute, ValueId v) {
  if (c.attr(attribute) == nullptr) return v;
  const GraphProto& graph = c.attr_graph(attribute);
  if (graph.input_size() != 1 || graph.output_size() != 1)
    c.fail(std::string(attribute) + " must take one tensor and give one");
  Scope inner(c.g, c.scope, c.node, attribute);
  inner.values[graph.input(0).name()] = v;
  const ValueId y = read_subgraph(inner, graph, c.opset)[0];
  if (c.dtype(y) != c.dtype(v))
    c.fail(std::string(attribute) + " takes " + dtype_name(c.dtype(v)) + " and gives " +
           dtype_name(c.dtype(y)));
  return y;
}

// Builds attention whose scores and weights the model changes as it likes: masks, biases and caps
// are in its subgraphs.
void flex_attention(ReadCtx& c) {
  const ValueId q = c.in(0), k = c.in(1), v = c.in(2);
  for (ValueId in : {q, k, v}) {
    if (rank_or(c, in, 4) != 4) c.fail("Q, K and V must have rank 4");
  }
  const DType dtype = c.dtype(q);
  if (c.dtype(k) != dtype || c.dtype(v) != dtype) c.fail("Q, K and V must be of one dtype");
  check_batch(c, q, k, v);
  const DType inner = softmax_dtype(c, dtype == DType::kF64 ? dtype : DType::kF32);
  const Groups groups(c, q, k);
  const ValueId root = root_of_scale(c, q);
  ValueId queries = c.emit(OpId::kMul, {q, root});
  if (c.attr_float("scale", 1) < 0) queries = c.emit(OpId::kNeg, {queries});
  const ValueId keys = transpose(c, c.emit(OpId::kMul, {k, root}), {0, 1, 3, 2});
  ValueId scores = modified(c, "score_mod", cast(c, groups.times(c, queries, keys), inner));
  ValueId weights = c.emit(OpId::kSoftmax, AxisAttrs{-1}, {scores});
  weights = modified(c, "prob_mod", weights);
  c.set(0, cast(c, groups.times(c, weights, cast(c, v, inner)), dtype));
}

}  // namespace

WICK_READ(Attention, attention);
WICK_READ_PREVIEW(FlexAttention, flex_attention);

}  // namespace wick::onnx
