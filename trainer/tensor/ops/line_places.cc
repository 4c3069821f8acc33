#include "trainer/tensor/ops/line_places.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick::detail {
namespace {

// The dims around a line: element i of line (o, c) is x[(o * n + i) * inner + c].
struct Around {
  int64_t outer = 1, n, inner = 1;
  explicit Around(const Line& line) : n(line.size()) {
    const Shape& s = line.x.raw_shape();
    for (int d = 0; d < line.dim; ++d) outer *= s[d];
    for (int d = line.dim + 1; d < s.rank(); ++d) inner *= s[d];
  }
};

// Calls f(T()) for the dtypes in which elements are compared.
template <class F>
void by_type(DType t, F&& f) {
  switch (t) {
    case DType::kF64: return f(double());
    case DType::kI64: return f(int64_t());
    default: return f(float());
  }
}
// Returns the elements in such a dtype, which holds each of them.
Tensor comparable(const Tensor& x) {
  const DType t = x.dtype();
  if (t == DType::kF32 || t == DType::kF64 || t == DType::kI64) return x.detach().contiguous();
  return x.detach().to(is_float(t) ? DType::kF32 : DType::kI64).contiguous();
}

template <class T>
bool stays(T here, T before, bool largest) {
  return here != here || (largest ? here >= before : here <= before);
}

// The places, and where `values` is not null the elements there.
template <class T>
void running_line(const T* x, int64_t n, bool largest, int64_t* at, T* values) {
  T best = x[0];
  for (int64_t i = 0, place = 0; i < n; ++i) {
    if (stays(x[i], best, largest)) best = x[i], place = i;
    at[i] = place;
    if (values != nullptr) values[i] = best;
  }
}

// Columns of lines that lie beside one another; `best` is for one row of them.
template <class T>
void running_columns(const T* x, int64_t n, int64_t inner, bool largest, T* best, int64_t* at,
                     T* values) {
  std::copy(x, x + inner, best);
  std::fill(at, at + inner, 0);
  if (values != nullptr) std::copy(best, best + inner, values);
  for (int64_t i = 1; i < n; ++i) {
    x += inner, at += inner;
    for (int64_t c = 0; c < inner; ++c) {
      const bool stay = stays(x[c], best[c], largest);
      best[c] = stay ? x[c] : best[c];
      at[c] = stay ? i : at[c - inner];
    }
    if (values != nullptr) std::copy(best, best + inner, values += inner);
  }
}

// An unsigned number whose order is that of the elements, every NaN the same.
uint64_t order_of(double v) {
  if (v != v) return UINT64_MAX;
  const auto bits = std::bit_cast<uint64_t>(v);
  return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
}
uint64_t order_of(int64_t v) { return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63); }
uint32_t order_of(float v) {
  if (v != v) return UINT32_MAX;
  const auto bits = std::bit_cast<uint32_t>(v);
  return bits >> 31 != 0 ? ~bits : bits | uint32_t{1} << 31;
}
template <class T>
using Order = decltype(order_of(T()));

// Returns the place of an element of a line; `orders` is for n of them.
template <class T>
int64_t ranked_place(const T* x, int64_t step, int64_t n, Rank which, int64_t rank,
                     Order<T>* orders) {
  if (which != Rank::kGiven) {
    int64_t numbers = 0, nan = -1;
    for (int64_t i = 0; i < n; ++i) {
      const bool number = x[i * step] == x[i * step];
      numbers += number ? 1 : 0;
      if (!number && nan < 0) nan = i;
    }
    if (numbers == 0 || (which == Rank::kMedian && nan >= 0)) return nan;
    rank = (numbers - 1) / 2;
  }
  for (int64_t i = 0; i < n; ++i) orders[i] = order_of(x[i * step]);
  std::nth_element(orders, orders + rank, orders + n);
  // Of equals, which one it is follows from how many are smaller.
  const Order<T> order = orders[rank];
  int64_t smaller = 0;
  for (int64_t i = 0; i < rank; ++i) smaller += orders[i] < order ? 1 : 0;
  int64_t at = 0;
  for (int64_t left = rank - smaller;; ++at) {
    if (order_of(x[at * step]) == order && left-- == 0) return at;
  }
}

}  // namespace

bool walks(const Line& line) {
  const Modes& m = modes();
  const DType t = line.x.dtype();
  const bool known = t == DType::kF32 || t == DType::kF64 || t == DType::kF16 ||
                     t == DType::kBF16 || t == DType::kBool || (is_int(t) && t != DType::kU64);
  return known && m.recorder == nullptr && m.watcher == nullptr && active_tracer() == nullptr &&
         !line.x.is_vulkan() && line.x.layout().numel() != 0;
}

ValuesIndices running_extremes(const Line& line, bool largest) {
  const Tensor x = comparable(line.x);
  const Around a(line);
  Tensor at = new_tensor(line.x.raw_shape(), DType::kI64, line.where), values;
  const bool copies = x.dtype() == line.x.dtype() && !pointwise::differentiated(line.x);
  if (copies) values = new_tensor(line.x.raw_shape(), x.dtype(), line.where);
  auto* places = at.layout().as<int64_t>();
  by_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* from = x.layout().as<T>();
    T* to = copies ? values.layout().as<T>() : nullptr;
    const int64_t size = a.n * a.inner;
    std::vector<T> best(static_cast<size_t>(a.inner * num_threads()));
    each_line(a.outer, size, [&](int64_t o, int worker) {
      const int64_t first = o * size;
      T* out = copies ? to + first : nullptr;
      if (a.inner == 1) return running_line(from + first, a.n, largest, places + first, out);
      running_columns(from + first, a.n, a.inner, largest, best.data() + worker * a.inner,
                      places + first, out);
    });
  });
  if (!copies) values = gather({line.x, line.where}, line.dim, at);
  return {values, at};
}

Tensor ranked_places(const Line& line, Rank which, int64_t rank) {
  const Tensor x = comparable(line.x);
  const Around a(line);
  Shape shape = line.x.raw_shape();
  shape[line.dim] = 1;
  Tensor at = new_tensor(shape, DType::kI64, line.where);
  auto* to = at.layout().as<int64_t>();
  by_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* from = x.layout().as<T>();
    std::vector<Order<T>> orders(static_cast<size_t>(a.n * num_threads()));
    each_line(a.outer * a.inner, 8 * a.n, [&](int64_t i, int worker) {
      const T* first = from + i / a.inner * a.n * a.inner + i % a.inner;
      to[i] = ranked_place(first, a.inner, a.n, which, rank, orders.data() + worker * a.n);
    });
  });
  return at;
}

}  // namespace wick::detail
