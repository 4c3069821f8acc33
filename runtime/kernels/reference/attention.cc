// Linear attention: a state [k, v] per head, which each token first updates and then reads. f16 and
// bf16 are computed in f32, the state included, and rounded when they are stored.
#include <cmath>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/real.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

template <class C>
C state_at(const TensorView& v, int64_t i) {
  switch (v.dtype) {
    case DType::kF64: return static_cast<C>(v.as<double>()[i]);
    case DType::kF16: return static_cast<C>(static_cast<float>(v.as<Half>()[i]));
    case DType::kBF16: return static_cast<C>(static_cast<float>(v.as<BFloat16>()[i]));
    default: return static_cast<C>(v.as<float>()[i]);
  }
}
template <class C>
void set_state(const TensorView& v, int64_t i, C x) {
  switch (v.dtype) {
    case DType::kF64: v.as<double>()[i] = static_cast<double>(x); break;
    case DType::kF16: v.as<Half>()[i] = Half(static_cast<float>(x)); break;
    case DType::kBF16: v.as<BFloat16>()[i] = BFloat16(static_cast<float>(x)); break;
    default: v.as<float>()[i] = static_cast<float>(x);
  }
}

struct Sizes {
  int64_t batch, tokens, q_heads, heads, k, v;
  Sizes(const TensorView& query, const TensorView& state, int64_t q)
      : batch(query.shape[0]),
        tokens(query.shape[1]),
        q_heads(q),
        heads(state.shape[1]),
        k(state.shape[2]),
        v(state.shape[3]) {}
};

// One token's inputs for one head.
template <class T>
struct Step {
  const T *query, *key, *value, *decay, *beta;
  bool decay_each;  // a decay per row of the state instead of one for all
  T* out;
};

// A state may be large: each loop over it polls for a stop row by row.
template <class T, class C>
void take(const Step<T>& s, const Sizes& n, C scale, C* state, C* line, Edition edition,
          Poll& poll) {
  for (int64_t i = 0; s.decay != nullptr && i < n.k && !poll(n.v); ++i) {
    const C keep = exp_of(edition, static_cast<C>(s.decay[s.decay_each ? i : 0]));
    for (int64_t j = 0; j < n.v; ++j) state[i * n.v + j] *= keep;
  }
  const auto read = [&](const T* by) {  // line = sum of the state's rows weighted by `by`
    for (int64_t j = 0; j < n.v; ++j) line[j] = 0;
    for (int64_t i = 0; i < n.k && !poll(n.v); ++i) {
      const C weight = static_cast<C>(by[i]);
      for (int64_t j = 0; j < n.v; ++j) line[j] = std::fma(weight, state[i * n.v + j], line[j]);
    }
  };
  if (s.beta != nullptr) {
    read(s.key);
    const C rate = static_cast<C>(*s.beta);
    for (int64_t j = 0; j < n.v; ++j) line[j] = rate * (static_cast<C>(s.value[j]) - line[j]);
  } else {
    for (int64_t j = 0; j < n.v; ++j) line[j] = static_cast<C>(s.value[j]);
  }
  for (int64_t i = 0; i < n.k && !poll(n.v); ++i) {
    const C weight = static_cast<C>(s.key[i]);
    for (int64_t j = 0; j < n.v; ++j)
      state[i * n.v + j] = std::fma(weight, line[j], state[i * n.v + j]);
  }
  for (int64_t g = 0; g < n.q_heads / n.heads; ++g) {
    read(s.query + g * n.k);
    for (int64_t j = 0; j < n.v; ++j) s.out[g * n.v + j] = static_cast<T>(scale * line[j]);
  }
}

// Scratch: a line [v] per head, then the states, unless the output can hold them.
template <class T>
Status plan_linear(const KernelQuery& q, KernelPlan* p) {
  const TensorView& state = q.out[1];
  const bool inside = state.dtype == dtype_of<Compute<T>>;
  int64_t lines, all;
  if (__builtin_mul_overflow(state.shape[0] * state.shape[1], state.shape[3], &lines) ||
      __builtin_add_overflow(lines, inside ? 0 : state.numel(), &all) ||
      __builtin_mul_overflow(all, static_cast<int64_t>(sizeof(Compute<T>)), &all)) {
    return Status(Code::kOutOfMemory, "the state is too large");
  }
  p->scratch_bytes = byte_count(static_cast<uint64_t>(all));
  return {};
}

template <class T>
Status linear_attention(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  using C = Compute<T>;
  const auto& a = *static_cast<const LinearAttentionAttrs*>(attrs);
  const Sizes n(in[0], out[1], a.q_num_heads);
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  const C scale = a.scale != 0 ? static_cast<C>(a.scale) : C(1) / std::sqrt(static_cast<C>(n.k));
  const bool decay_each = has(4) && in[4].shape[2] == n.heads * n.k;
  const int64_t beta_heads = has(5) ? in[5].shape[2] : 1, size = n.k * n.v;
  const bool inside = out[1].dtype == dtype_of<C>;
  C* lines = static_cast<C*>(ctx.scratch);
  C* states = inside ? static_cast<C*>(out[1].data) : lines + n.batch * n.heads * n.v;
  parallel_items(ctx.pool, n.batch * n.heads, n.tokens * size, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / n.heads, h = item % n.heads, group = n.q_heads / n.heads;
      C* state = states + item * size;
      in_pieces(poll, size, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i)
          state[i] = has(3) ? state_at<C>(in[3], item * size + i) : C(0);
      });
      for (int64_t t = 0; t < n.tokens && !poll(); ++t) {
        const int64_t token = b * n.tokens + t, at = token * n.heads + h;
        Step<T> s = {in[0].as<T>() + (token * n.q_heads + h * group) * n.k,
                     in[1].as<T>() + at * n.k,
                     in[2].as<T>() + at * n.v,
                     nullptr,
                     nullptr,
                     decay_each,
                     out[0].as<T>() + (token * n.q_heads + h * group) * n.v};
        if (has(4)) s.decay = in[4].as<T>() + (decay_each ? at * n.k : at);
        if (has(5)) s.beta = in[5].as<T>() + token * beta_heads + (beta_heads == 1 ? 0 : h);
        take(s, n, scale, state, lines + item * n.v, ctx.edition, poll);
      }
      in_pieces(poll, inside ? 0 : size, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) set_state(out[1], item * size + i, state[i]);
      });
    }
  });
  return {};
}

template <class T>
constexpr KernelRow linear_row(const char* name) {
  return {name, kContiguous, match<T>, plan_linear<T>, nullptr, linear_attention<T>};
}

}  // namespace

WICK_REF_ROWS(LinearAttention, linear_row<float>("linear_attention.f32.ref"),
              linear_row<double>("linear_attention.f64.ref"),
              linear_row<Half>("linear_attention.f16.ref"),
              linear_row<BFloat16>("linear_attention.bf16.ref"));
WICK_NO_CPU_ROWS(LinearAttention);

}  // namespace wick
