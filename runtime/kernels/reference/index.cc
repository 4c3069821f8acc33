// GatherND, ScatterND, NonZero, Trilu.
#include "runtime/kernels/copy.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/tuples.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

Status run_gather_nd(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  Tuples tuples(in[0], in[1], static_cast<const GatherNDAttrs*>(attrs)->batch_dims);
  WICK_TRY(tuples.check());
  size_t size = dtype_size(in[0].dtype), bytes = static_cast<size_t>(tuples.line) * size;
  const char* from = in[0].as<char>();
  char* to = out[0].as<char>();
  if (bytes == 0 || stopped()) return {};
  Poll poll;
  for (int64_t t = 0; t < tuples.count && !poll(16 + tuples.line); ++t, to += bytes) {
    if (!copy_bytes(to, from + static_cast<size_t>(tuples.offset(t)) * size, bytes)) return {};
  }
  return {};
}

// Updates are applied in the order of the tuples (the contract's "input order").
template <class T, class Op>
void combine_lines(const Tuples& tuples, const T* update, T* to, Op op) {
  Poll poll;
  for (int64_t t = 0; t < tuples.count && !poll(16); ++t, update += tuples.line) {
    T* y = to + tuples.offset(t);
    in_pieces(poll, tuples.line, [y, update, op](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = op(read(y + i), read(update + i));
    });
  }
}

Status run_scatter_nd_move(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                           const void*) {
  Tuples tuples(out[0], in[1], 0);
  WICK_TRY(tuples.check());
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  const size_t size = dtype_size(in[0].dtype), bytes = static_cast<size_t>(tuples.line) * size;
  const char* update = in[2].as<char>();
  char* to = out[0].as<char>();
  if (bytes == 0 || stopped()) return {};
  Poll poll;
  for (int64_t t = 0; t < tuples.count && !poll(16 + tuples.line); ++t, update += bytes) {
    if (!copy_bytes(to + static_cast<size_t>(tuples.offset(t)) * size, update, bytes)) return {};
  }
  return {};
}

template <class T>
Status run_scatter_nd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  auto how = static_cast<ScatterReduction>(static_cast<const ScatterNDAttrs*>(attrs)->reduction);
  // A bool is read, since any byte but 0 is true.
  if (how == ScatterReduction::kNone && !std::is_same_v<T, bool>)
    return run_scatter_nd_move(ctx, in, out, attrs);
  Tuples tuples(out[0], in[1], 0);
  WICK_TRY(tuples.check());
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  if (stopped() || tuples.line == 0) return {};
  const T* update = in[2].as<T>();
  T* y = out[0].as<T>();
  if (how == ScatterReduction::kAdd) {
    combine_lines(tuples, update, y, [](T a, T b) { return wrapping_add(a, b); });
  } else {
    combine_lines(tuples, update, y, [how](T a, T b) { return combine(a, b, how); });
  }
  return {};
}

// Finds x's non-zero elements of type Bits; `magnitude` masks off a float's sign, so that -0 is
// zero.
template <class Bits>
int64_t find_nonzero(const TensorView& x, Bits magnitude, int64_t* to, int64_t count) {
  int64_t found = 0, at[kMaxRank] = {};
  const Bits* p = x.as<Bits>();
  const int64_t words = x.dtype == DType::kC128 ? 2 : 1;
  Poll poll;
  for (int64_t i = 0, n = x.numel(); i < n && !poll(4); ++i) {
    if ((p[words * i] & magnitude) != 0 || (p[words * i + words - 1] & magnitude) != 0) {
      if (to != nullptr) {
        for (int d = 0; d < x.rank(); ++d) to[d * count + found] = at[d];
      }
      ++found;
    }
    for (int d = x.rank() - 1; d >= 0 && ++at[d] == x.shape[d]; --d) at[d] = 0;
  }
  return found;
}

int64_t find_nonzero(const TensorView& x, int64_t* to, int64_t count) {
  if (x.dtype == DType::kC64) return find_nonzero<uint64_t>(x, 0x7FFFFFFF7FFFFFFF, to, count);
  bool sign = is_float(x.dtype) || x.dtype == DType::kC128;
  switch (dtype_size(x.dtype)) {
    case 1: return find_nonzero<uint8_t>(x, 0xFF, to, count);
    case 2: return find_nonzero<uint16_t>(x, sign ? 0x7FFF : 0xFFFF, to, count);
    case 4: return find_nonzero<uint32_t>(x, sign ? 0x7FFFFFFF : 0xFFFFFFFF, to, count);
    default: return find_nonzero<uint64_t>(x, sign ? INT64_MAX : UINT64_MAX, to, count);
  }
}

bool match_number(const KernelQuery& q) { return match_move(q) && q.in[0].dtype != DType::kString; }

Status run_nonzero(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  int64_t count = find_nonzero(in[0], nullptr, 0);
  if (stopped()) return {};  // the count is incomplete
  find_nonzero(in[0], out[0].as<int64_t>(), count);
  out[0].shape[1] = count;
  return {};
}

template <class T>
void keep_triangle(const TensorView& x, TensorView& y, bool upper, int64_t k) {
  int64_t rows = x.shape[x.rank() - 2], columns = x.shape[x.rank() - 1];
  int64_t count = rows * columns == 0 ? 0 : x.numel() / columns;
  k = k > columns ? columns : k < -rows ? -rows : k;  // larger ones change nothing
  Poll poll;
  for (int64_t r = 0; r < count; ++r) {
    if (poll(columns)) return;
    int64_t diagonal = r % rows + k;
    for (int64_t c = 0; c < columns; ++c) {
      int64_t at = r * columns + c;
      bool kept = upper ? c >= diagonal : c <= diagonal;
      y.as<T>()[at] = kept ? x.as<T>()[at] : T{};
    }
  }
}

Status plan_trilu(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->number);
  return {};
}

Status run_trilu(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& a = *static_cast<const TriluAttrs*>(attrs);
  const int64_t k = ctx.plan->kept<OneNumber>().value;
  switch (dtype_size(in[0].dtype)) {
    case 1: keep_triangle<uint8_t>(in[0], out[0], a.upper != 0, k); break;
    case 2: keep_triangle<uint16_t>(in[0], out[0], a.upper != 0, k); break;
    case 4: keep_triangle<uint32_t>(in[0], out[0], a.upper != 0, k); break;
    case 8: keep_triangle<uint64_t>(in[0], out[0], a.upper != 0, k); break;
    default: keep_triangle<Wide128>(in[0], out[0], a.upper != 0, k); break;
  }
  return {};
}

}  // namespace

WICK_REF_ROWS(GatherND,
              {"gather_nd.any", kContiguous, match_move, nullptr, nullptr, run_gather_nd});
WICK_REF_ROWS(ScatterND, WICK_NUMBER_ROWS("scatter_nd", kInPlace, match<T>, run_scatter_nd<T>),
              WICK_BOOL_ROW("scatter_nd", kInPlace, match<T>, run_scatter_nd<T>),
              {"scatter_nd.any", kInPlace, match_scatter_move<ScatterNDAttrs>, nullptr, nullptr,
               run_scatter_nd_move});
WICK_REF_ROWS(NonZero, {"nonzero.any", kContiguous, match_number, nullptr, nullptr, run_nonzero});
WICK_REF_ROWS(Trilu, {"trilu.any", kInPlace, match_move, plan_trilu, nullptr, run_trilu});
WICK_NO_CPU_ROWS(GatherND);
WICK_NO_CPU_ROWS(ScatterND);
WICK_NO_CPU_ROWS(NonZero);
WICK_NO_CPU_ROWS(Trilu);

}  // namespace wick
