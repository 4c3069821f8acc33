#include <limits>

#include "runtime/core/int_at.h"
#include "runtime/core/string_ref.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_cost.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_counts.h"

namespace wick {
namespace {

using namespace counts;  // NOLINT: short names for estimates

double per_first(const Shape& s) { return dim(s, 0) == 0 ? 0 : elements(s) / dim(s, 0); }

double bytes_of(const TensorView& v) {
  double n = elements(v.shape) * dtype_bits(v.dtype) / 8;
  if (v.dtype != DType::kString || v.data == nullptr) return n;
  for (int64_t i = 0, count = v.numel(); i < count; ++i)
    n += static_cast<double>(v.as<StringRef>()[i].size);
  return n;
}
double bytes_of(Span<const TensorView> list) {
  double n = 0;
  for (const TensorView& v : list) n += bytes_of(v);
  return n;
}

// Returns whether the op only copies: it then reads no more of its first input than it writes.
bool copies(OpId op) {
  const OpKind kind = kind_of(op);
  return kind == OpKind::kView || kind == OpKind::kMove || kind == OpKind::kShape ||
         kind == OpKind::kGather;
}

// Returns the bytes that an op reads and writes. If it takes a few rows of a large table, only
// those rows count. Strings count in full, because it is unknown which of them are long.
double moved_bytes(OpId op, Span<const TensorView> in, Span<const TensorView> out) {
  const double made = bytes_of(out);
  if (in.empty() || in[0].dtype == DType::kString || !copies(op)) return bytes_of(in) + made;
  return least(bytes_of(in[0]), made) + bytes_of({in.data() + 1, in.size() - 1}) + made;
}

// Each output of a pooling op reads its window, clipped to the input's size.
double pool_work(const PoolAttrs& a, const Shape& x, const Shape& y) {
  double n = elements(y);
  for (int64_t i = 0; i < a.kernel_shape.count; ++i)
    n *= least(static_cast<double>(a.kernel_shape[i]), dim(x, 2 + static_cast<int>(i)));
  return n;
}

// Each output reads some neighbours along each axis that may change.
double resize_work(const ResizeAttrs& a, Span<const TensorView> in, const Shape& y) {
  const Shape& x = in[0].shape;
  double n = elements(y);
  if (a.mode == static_cast<int64_t>(ResizeMode::kNearest)) return n;
  const bool scaled = in.size() > 2 && in[2].present();
  const double reach = a.mode == static_cast<int64_t>(ResizeMode::kLinear) ? 1 : 2;
  for (int d = 0; d < x.rank(); ++d) {
    if (!scaled && x[d] == y[d]) continue;
    const double shrink = a.antialias == 0 ? 1 : most(1, dim(x, d) / most(dim(y, d) - 0.5, 0.5));
    n *= 2 * std::ceil(reach * shrink) + (a.antialias == 0 ? 0 : 2);
  }
  return n;
}

// Counts the samples of a bin: the given number, or one derived from the region's size, where
// samples outside the image cost nothing.
double roi_align_work(const RoiAlignAttrs& a, const Shape& x, const Shape& y) {
  const double ratio = static_cast<double>(a.sampling_ratio);
  const double by_size = least(dim(x, 2) + 2, 1 << 14) * least(dim(x, 3) + 2, 1 << 14);
  return 4 * elements(y) * most(1, ratio > 0 ? ratio * ratio : 4 * by_size);
}

// The boxes of a class are sorted, and each is compared with those selected before.
double nms_work(Span<const TensorView> in) {
  const Shape& scores = in[1].shape;
  const double n = dim(scores, 2);
  double taken = n;
  if (in.size() > 2 && in[2].present() && in[2].dtype == DType::kI64 && in[2].data != nullptr &&
      in[2].numel() == 1)
    taken = least(n, most(0, static_cast<double>(int_at(in[2], 0))));
  return dim(scores, 0) * dim(scores, 1) * n * (log2_of(n) + 8 * taken);
}

// Each length of n-grams, at each skip distance, looks up every window.
double tf_idf_work(const TfIdfAttrs& a, Span<const TensorView> in) {
  const Shape& x = in[0].shape;
  const double tokens = dim(x, -1);
  const double lengths = least(elements(in[2].shape), static_cast<double>(a.max_gram_length));
  const double steps = least(static_cast<double>(a.max_skip_count) + 1, tokens);
  return elements(x) * steps * lengths * lengths * log2_of(elements(in[1].shape));
}

// A row may pass every node in every tree: a file's trees can be chains, and share them.
double trees_work(Span<const TensorView> in) {
  return in.size() < 4 ? 0 : dim(in[0].shape, 0) * elements(in[3].shape) * dim(in[1].shape, 0);
}

// Returns a dim of x, read through a permutation and counted from the last.
double seen_dim(const Shape& x, const DimList& perm, int from_last) {
  const int i = x.rank() - from_last;
  if (perm.empty() || i < 0 || i >= perm.count) return dim(x, i < 0 ? x.rank() : i);
  return dim(x, static_cast<int>(perm[i]));
}

// Returns the number of scores: one for each query and each key, after the permutations. Each costs
// a product of a query and a key and multiplies a value.
double scores_of(const FusedAttentionAttrs& a, const Shape& q, const Shape& v) {
  double scores = seen_dim(v, a.v_perm, 2);
  for (int i = 2; i <= q.rank(); ++i) scores *= seen_dim(q, a.q_perm, i);
  return scores;
}
double attention_macs(const FusedAttentionAttrs& a, const Shape& q, const Shape& v) {
  return scores_of(a, q, v) * (seen_dim(q, a.q_perm, 1) + seen_dim(v, a.v_perm, 1));
}

// Returns the work beyond a few steps per byte that is not counted as multiply-adds.
double beyond(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out) {
  const Shape &x = in[0].shape, &y = out[0].shape;
  if (op == OpId::kMaxPoolIndices)
    return pool_work(static_cast<const MaxPoolIndicesAttrs*>(attrs)->pool, x, y);
  if (op == OpId::kLpPool) return 8 * pool_work(static_cast<const LpPoolAttrs*>(attrs)->pool, x, y);
  if (kind_of(op) == OpKind::kPool || op == OpId::kQLinearAveragePool)
    return pool_work(*static_cast<const PoolAttrs*>(attrs), x, y);
  if (op == OpId::kRoiAlign) return roi_align_work(*static_cast<const RoiAlignAttrs*>(attrs), x, y);
  if (op == OpId::kMaxRoiPool) return elements(y) * dim(x, 2) * dim(x, 3);
  if (op == OpId::kNonMaxSuppression) return nms_work(in);
  if (op == OpId::kResize) return resize_work(*static_cast<const ResizeAttrs*>(attrs), in, y);
  if (op == OpId::kGridSample) return 64 * elements(y);
  if (op == OpId::kConvTranspose)  // searches the taps of each output
    return elements(y) * (dim(in[1].shape, 2) + dim(in[1].shape, 3) + dim(in[1].shape, 4));
  if (op == OpId::kCol2Im) return elements(x) + elements(y) * dim(x, 1) / most(1, dim(y, 1));
  if (op == OpId::kDeformConv) return 8 * elements(y) * per_first(in[1].shape);
  if (op == OpId::kDet) return elements(x) * dim(x, -1);
  if (op == OpId::kDFT) return elements(y) * (64 + 16 * log2_of(elements(y)));
  if (op == OpId::kTopK || op == OpId::kUnique) return elements(x) * log2_of(elements(x));
  if (op == OpId::kTreeEnsemble) return trees_work(in);
  if (op == OpId::kLookUp && in.size() > 1) return elements(x) * log2_of(elements(in[1].shape));
  if (op == OpId::kTfIdfVectorizer) return tf_idf_work(*static_cast<const TfIdfAttrs*>(attrs), in);
  if (op == OpId::kRegexFullMatch)  // a pattern of a few bytes may take long to compile
    return std::numeric_limits<double>::infinity();
  if (op == OpId::kFusedElementwise)
    return elements(y) * static_cast<double>(static_cast<const ChainAttrs*>(attrs)->steps.count);
  if (op == OpId::kFusedAttention && in.size() > 2) {  // the steps and a softmax for each score
    const auto& a = *static_cast<const FusedAttentionAttrs*>(attrs);
    return scores_of(a, x, in[2].shape) * (8 + static_cast<double>(a.steps.count));
  }
  if (op ==
      OpId::kLinearAttention)  // a decay and a product with the key go through the state as well
    return out.size() < 2 ? 0 : 2 * dim(x, 1) * elements(out[1].shape);
  return 0;
}

}  // namespace

double op_macs(OpId op, const void* attrs, Span<const Shape> in, Span<const Shape> out) {
  if (in.size() < 2 || out.empty()) return 0;
  size_t weight = 1;
  switch (kind_of(op)) {
    case OpKind::kProduct:
    case OpKind::kByteProduct: return elements(out[0]) * dim(in[0], -1);
    case OpKind::kByteConv:
    case OpKind::kWindow:  // DeformConv
    case OpKind::kConv:
      while (weight < in.size() && input_role(op, weight) != 'w') ++weight;
      if (weight >= in.size()) return 0;
      // weight[C, O/group, kernel...]: each input uses all but C
      if (op == OpId::kConvTranspose) return elements(in[0]) * per_first(in[1]);
      return elements(out[0]) * per_first(in[weight]);  // [O, C/group, kernel...]: all but O
    case OpKind::kConvGrad:
      // grad_output, weight; or x, grad_output -> the weight's gradient
      return input_role(op, 1) == 'w' ? elements(in[0]) * per_first(in[1])
                                      : elements(in[1]) * per_first(out[0]);
    case OpKind::kRecurrent:  // x[length, batch, in]; all of W and R per step and row
      if (in.size() < 3 || in[0].rank() != 3) return 0;
      return dim(in[0], 0) * dim(in[0], 1) * (elements(in[1]) + elements(in[2]));
    default: break;
  }
  if (op == OpId::kFusedAttention && in.size() > 2) {
    return attention_macs(
        attrs != nullptr ? *static_cast<const FusedAttentionAttrs*>(attrs) : FusedAttentionAttrs(),
        in[0], in[2]);
  }
  if (op == OpId::kLinearAttention && out.size() > 1) {
    // each step adds to state[B, heads, k, v] once, and every query head reads it
    const double heads = dim(out[1], 1) * dim(out[1], 2);
    const double readers = heads == 0 ? 1 : most(1, dim(in[0], 2) / heads);
    return (1 + readers) * dim(in[0], 1) * elements(out[1]);
  }
  return 0;
}

double op_work(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out) {
  if (out.empty()) return 0;
  const double work = moved_bytes(op, in, out);
  if (in.empty() || is_custom(op)) return work;
  Shape ins[8], outs[2];  // no product has more
  size_t n = 0, m = 0;
  for (; n < in.size() && n < 8; ++n) ins[n] = in[n].shape;
  for (; m < out.size() && m < 2; ++m) outs[m] = out[m].shape;
  return work + op_macs(op, attrs, {ins, n}, {outs, m}) + beyond(op, attrs, in, out);
}

}  // namespace wick
