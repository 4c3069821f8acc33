// TfIdfVectorizer: counts how often each n-gram of a pool occurs, with up to max_skip_count tokens
// skipped between its parts. The pool is sorted once per run; a window of tokens is looked up in
// log(pool) steps.
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/merge_sort.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// The n-grams of one length: `size` tokens each, starting at pool[begin]; `first` is the number of
// n-grams of smaller lengths.
template <class P>
struct Grams {
  const P* pool;
  int64_t size, count, begin, first;

  const P* tokens(int64_t i) const { return pool + begin + i * size; }
};
// The element type of the pool: numeric tokens are int64 there.
template <class T>
using Token = std::conditional_t<std::is_same_v<T, StringRef>, StringRef, int64_t>;

Status check(Span<const TensorView> in, const TfIdfAttrs& a) {
  const int64_t pool = in[1].numel(), lengths = in[2].numel(), grams = in[3].numel();
  const auto *starts = in[2].as<int64_t>(), *places = in[3].as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < lengths; ++i) {
    if (starts[i] < 0 || starts[i] > pool ||
        (i + 1 < lengths && starts[i] > starts[i + 1] && starts[i + 1] >= 0)) {
      return error(Code::kInvalidArgument,
                   "ngram_counts[%lld] is %lld: they must ascend, up to the pool's %lld tokens",
                   static_cast<long long>(i), static_cast<long long>(starts[i]),
                   static_cast<long long>(pool));
    }
  }
  for (int64_t i = 0; i < lengths; ++i) {
    const int64_t begin = starts[i], end = i + 1 < lengths ? starts[i + 1] : pool;
    if ((end - begin) % (i + 1) != 0) {
      return error(Code::kInvalidArgument, "%lld tokens are no whole number of %lld-grams",
                   static_cast<long long>(end - begin), static_cast<long long>(i + 1));
    }
    total += (end - begin) / (i + 1);
  }
  if (total > grams) {
    return error(Code::kInvalidArgument, "the pool has %lld n-grams, ngram_indexes %lld",
                 static_cast<long long>(total), static_cast<long long>(grams));
  }
  Poll poll;
  for (int64_t i = 0; i < grams && !poll(); ++i) {
    if (places[i] < 0 || places[i] >= a.output_size) {
      return error(Code::kInvalidArgument, "ngram_indexes[%lld] is %lld, there are %lld outputs",
                   static_cast<long long>(i), static_cast<long long>(places[i]),
                   static_cast<long long>(a.output_size));
    }
  }
  return {};
}

Status plan_tf_idf(const KernelQuery& q, KernelPlan* plan) {
  // The sorted order, and as much for sorting: an int64 per n-gram.
  plan->scratch_bytes = byte_count(uint64_t{2} * q.in[3].nbytes());
  return {};
}

template <class P>
Grams<P> grams_of(Span<const TensorView> in, int64_t size, int64_t first) {
  const auto* starts = in[2].as<int64_t>();
  const int64_t end = size < in[2].numel() ? starts[size] : in[1].numel();
  return {in[1].as<P>(), size, (end - starts[size - 1]) / size, starts[size - 1], first};
}

// Returns -1, 0 or 1: compares the n-gram with the tokens at `x`, which have stride `step`.
template <class P, class T>
int compare(const P* gram, const T* x, int64_t size, int64_t step) {
  for (int64_t k = 0; k < size; ++k) {
    const auto token = static_cast<P>(x[k * step]);
    if (gram[k] == token) continue;
    return gram[k] < token ? -1 : 1;
  }
  return 0;
}

// Counts the n-grams of one length in one row of tokens.
template <class P, class T>
void count_row(const Grams<P>& grams, const int64_t* order, const int64_t* places, const T* x,
               int64_t tokens, int64_t skips, float* y, Poll& poll) {
  // Single tokens have no gaps, so they are counted once.
  for (int64_t step = 1; step <= (grams.size == 1 ? 1 : skips + 1); ++step) {
    // the last start whose window ends within the row; nothing overflows: size > 1, step <= tokens
    if (grams.size > 1 && step > (tokens - 1) / (grams.size - 1)) break;
    const int64_t starts = tokens - step * (grams.size - 1);
    for (int64_t i = 0; i < starts; ++i) {
      if (poll(16 * grams.size)) return;
      // of equal n-grams only the last one is counted
      int64_t lo = 0, hi = grams.count;
      while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (compare(grams.tokens(order[mid]), x + i, grams.size, step) <= 0)
          lo = mid + 1;
        else
          hi = mid;
      }
      if (lo == 0) continue;
      const int64_t found = order[lo - 1];
      if (compare(grams.tokens(found), x + i, grams.size, step) == 0)
        y[places[grams.first + found]] += 1;
    }
  }
}

template <class W>
void weigh(float* y, int64_t n, const W* weights, TfIdfMode mode) {
  for (int64_t i = 0; i < n; ++i) {
    if (mode == TfIdfMode::kIdf && y[i] > 1) y[i] = 1;
    if (mode != TfIdfMode::kTf && weights != nullptr) y[i] = static_cast<float>(y[i] * weights[i]);
  }
}

template <class T>
Status run_tf_idf(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& a = *static_cast<const TfIdfAttrs*>(attrs);
  WICK_TRY(check(in, a));
  const int rank = in[0].rank();
  const int64_t rows = rank == 2 ? in[0].shape[0] : 1;
  const int64_t tokens = rank == 0 ? 1 : in[0].shape[rank - 1];
  auto* y = out[0].as<float>();
  Poll poll;
  for (int64_t i = 0; i < rows * a.output_size && !poll(); ++i) y[i] = 0;
  if (tokens == 0 || rows == 0 || a.output_size == 0) return {};
  auto* order = static_cast<int64_t*>(ctx.scratch);
  int64_t* room = order + in[3].numel();
  int64_t first = 0;
  for (int64_t size = 1; size <= in[2].numel() && size <= a.max_gram_length; ++size) {
    const auto grams = grams_of<Token<T>>(in, size, first);
    first += grams.count;
    if (size < a.min_gram_length || size > tokens || grams.count == 0) continue;
    for (int64_t i = 0; i < grams.count && !poll(); ++i) order[i] = i;
    merge_sort(order, room, grams.count, poll, [&](int64_t i, int64_t j) {
      const int c = compare(grams.tokens(i), grams.tokens(j), size, 1);
      return c != 0 ? c < 0 : i < j;
    });
    if (stopped()) return {};
    parallel_items(ctx.pool, rows, tokens, [&](int64_t begin, int64_t end) {
      Poll mine;
      for (int64_t row = begin; row < end; ++row) {
        count_row(grams, order, in[3].as<int64_t>(), in[0].as<T>() + row * tokens, tokens,
                  a.max_skip_count, y + row * a.output_size, mine);
      }
    });
  }
  const bool weighted = in.size() > 4 && in[4].present();
  const auto mode = static_cast<TfIdfMode>(a.mode);
  for (int64_t row = 0; row < rows && !poll(a.output_size); ++row, y += a.output_size) {
    if (weighted && in[4].dtype == DType::kF64)
      weigh(y, a.output_size, in[4].as<double>(), mode);
    else
      weigh(y, a.output_size, weighted ? in[4].as<float>() : nullptr, mode);
  }
  return {};
}

}  // namespace

#define TF_IDF_ROW(T, dtype) \
  {"tf_idf." dtype ".ref", kContiguous, match<T>, plan_tf_idf, nullptr, run_tf_idf<T>},
WICK_REF_ROWS(TfIdfVectorizer, TF_IDF_ROW(int32_t, "i32") TF_IDF_ROW(int64_t, "i64")
                                   TF_IDF_ROW(StringRef, "string"));
WICK_NO_CPU_ROWS(TfIdfVectorizer);

}  // namespace wick
