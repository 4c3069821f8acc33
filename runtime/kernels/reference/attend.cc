// Computes fused attention like the nodes that it replaces: products with k ascending, the steps,
// softmax in the contract's order, and the weighted values. Each result is rounded as those nodes
// would store it.
#include <limits>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/kernels/sequence/attention.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// Returns element (head, row, col) of batch item b.
struct Place {
  int64_t b, head, row, col;
};

template <class T>
T step_of(const AttentionCallStep& s, const AttentionShape& n, const Place& p, Edition edition,
          T v) {
  const auto at = [&](const AttentionStrides& x) {
    return n.batch_offset(x, p.b) + p.head * x.head + p.row * x.row + p.col * x.col;
  };
  const auto x = [&] { return s.x->as<T>()[at(s.x_at)]; };
  const auto y = [&] { return s.y->as<T>()[at(s.y_at)]; };
  const auto yes = [&] { return read(s.x->as<bool>() + at(s.x_at)); };
  switch (s.step) {
    case AttentionStep::kMulQuery:
    case AttentionStep::kMulKey:
    case AttentionStep::kMul: return v * x();
    case AttentionStep::kDivQuery:
    case AttentionStep::kDivKey:
    case AttentionStep::kDiv: return v / x();
    case AttentionStep::kAdd: return v + x();
    case AttentionStep::kSub: return v - x();
    case AttentionStep::kTanh: return tanh_of(edition, v);
    case AttentionStep::kKeep:
    case AttentionStep::kKeepWeight: return yes() ? v : y();
    case AttentionStep::kReplace:
    case AttentionStep::kReplaceWeight: return yes() ? y() : v;
  }
  return v;
}

template <class T>
T steps_of(const AttentionCallSteps& steps, const AttentionShape& n, const Place& p,
           Edition edition, T v) {
  for (int i = 0; i < steps.count; ++i) v = step_of(steps.list[i], n, p, edition, v);
  return v;
}

template <class T>
void softmax(T* x, int64_t n, Edition edition) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n && largest == largest; ++i) {
    if (x[i] > largest || x[i] != x[i]) largest = x[i];
  }
  LaneSum<T> sum;
  for (int64_t i = 0; i < n; ++i) sum.add(x[i] = exp_of(edition, x[i] - largest));
  const T total = sum.finish();
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] / total;
}

// Scratch holds a query and its scores.
template <class T>
Status plan_attention(const KernelQuery& q, KernelPlan* p) {
  const AttentionShape n(q.as<FusedAttentionAttrs>(), q.in, q.out[0]);
  int64_t bytes = 0;
  if (__builtin_add_overflow(n.size, n.keys, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(sizeof(T)), &bytes)) {
    return Status(Code::kOutOfMemory, "a row of scores is too large");
  }
  p->scratch_bytes = byte_count(static_cast<uint64_t>(bytes));
  return {};
}

template <class T>
Status attention(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& a = *static_cast<const FusedAttentionAttrs*>(attrs);
  const AttentionShape n(a, in, out[0]);
  const AttentionCallSteps on_query(a, n, in, 0), on_key(a, n, in, 1), on_score(a, n, in, 2),
      on_weight(a, n, in, 3);
  T* query = static_cast<T*>(ctx.scratch);
  T* row = query + n.size;
  Poll poll;
  for (int64_t b = 0; b < n.batches; ++b) {
    const T* q = in[0].as<T>() + n.batch_offset(n.q, b);
    for (int64_t h = 0; h < n.heads; ++h) {
      const T* k = in[1].as<T>() + n.batch_offset(n.k, b) + h / (n.heads / n.key_heads) * n.k.head;
      const T* v =
          in[2].as<T>() + n.batch_offset(n.v, b) + h / (n.heads / n.value_heads) * n.v.head;
      for (int64_t r = 0; r < n.rows; ++r) {
        for (int64_t d = 0; d < n.size; ++d)
          query[d] = steps_of(on_query, n, {b, h, r, d}, ctx.edition,
                              q[h * n.q.head + r * n.q.row + d * n.q.col]);
        for (int64_t t = 0; t < n.keys; ++t) {
          if (poll(n.size)) return {};
          T sum = 0;
          for (int64_t d = 0; d < n.size; ++d) {
            const T key =
                steps_of(on_key, n, {b, h, t, d}, ctx.edition, k[t * n.k.row + d * n.k.col]);
            sum = std::fma(query[d], key, sum);
          }
          row[t] = steps_of(on_score, n, {b, h, r, t}, ctx.edition, sum);
        }
        softmax(row, n.keys, ctx.edition);
        for (int64_t t = 0; t < n.keys; ++t)
          row[t] = steps_of(on_weight, n, {b, h, r, t}, ctx.edition, row[t]);
        T* y = out[0].as<T>() + n.batch_offset(n.out, b) + h * n.out.head + r * n.out.row;
        for (int64_t e = 0; e < n.values; ++e) {
          if (poll(n.keys)) return {};
          T sum = 0;
          for (int64_t t = 0; t < n.keys; ++t)
            sum = std::fma(row[t], v[t * n.v.row + e * n.v.col], sum);
          y[e * n.out.col] = sum;
        }
      }
    }
  }
  return {};
}

template <class T>
constexpr KernelRow attention_row(const char* name) {
  return {name, kContiguous, match<T>, plan_attention<T>, nullptr, attention<T>};
}

}  // namespace

WICK_REF_ROWS(FusedAttention, attention_row<float>("fused_attention.f32.ref"),
              attention_row<double>("fused_attention.f64.ref"));

}  // namespace wick
