// Checks whether the sums of an integer op stay within int32. An op whose sums may not stays float.
#include <cstdlib>

#include "graph/passes/byte_sums.h"
#include "graph/passes/qdq.h"

namespace wick::ir {
namespace {

int32_t zero_at(const HostTensor& zero, int64_t i) {
  return byte_value(zero, zero.numel() == 1 ? 0 : i);
}
ByteReach reach_of(const ByteType& t) { return ir::reach_of(t.dtype, t.z); }

}  // namespace

// Checks that output `i`, whose sum with its bias is at most `most`, fits.
bool Lowering::sum_fits(int64_t most, int64_t i) {
  if (most <= kMostSum) return true;
  why_ = "32 bits may not hold its sums (channel " + std::to_string(i) + ": up to " +
         std::to_string(most) + ")";
  return false;
}

bool Lowering::sums_fit(const ByteType& x, const ByteWeight& w, ValueId bias) {
  const HostTensor &bytes = g_.value(w.q).constant, &zero = g_.value(w.zero).constant;
  const int64_t n = bytes.shape()[0], each = n == 0 ? 0 : bytes.numel() / n;
  const auto of_bias = [&](int64_t i) {
    return bias == kNoValue ? 0 : std::abs(int64_t{g_.value(bias).constant.as<int32_t>()[i]});
  };
  const int64_t any = each * 255 * reach_of(x).most();  // whatever the weights are
  for (int64_t i = 0; i < n; ++i) {
    if (any + of_bias(i) <= kMostSum) continue;
    WeightSums sums;
    for (int64_t k = i * each; k < (i + 1) * each; ++k)
      sums.add(byte_value(bytes, k) - zero_at(zero, i));
    if (!sum_fits(largest_sum(sums, reach_of(x)) + of_bias(i), i)) return false;
  }
  return true;
}

// Checks a [.., m, k] times b [.., k, n], where b is constant or of type `b_type`. A length that
// the graph does not know passes.
bool Lowering::product_fits(const Bytes& a, const ByteWeight& b, const ByteType* b_type) {
  if (b_type != nullptr && !g_.is_constant(b.q)) {
    const Value &left = g_.value(a.q), &right = g_.value(b.q);
    int64_t k = 0;
    if (left.ranked && left.shape.rank() > 0 && left.shape[left.shape.rank() - 1].known())
      k = left.shape[left.shape.rank() - 1].constant();
    if (right.ranked && right.shape.rank() > 1 && right.shape[right.shape.rank() - 2].known())
      k = right.shape[right.shape.rank() - 2].constant();
    return sum_fits(k * reach_of(a.type).most() * reach_of(*b_type).most(), 0);
  }
  const HostTensor &bytes = g_.value(b.q).constant, &zero = g_.value(b.zero).constant;
  const int rank = bytes.shape().rank();
  const int64_t k = rank < 2 ? bytes.numel() : bytes.shape()[rank - 2],
                n = rank < 2 ? 1 : bytes.shape()[rank - 1];
  for (int64_t from = 0; from < bytes.numel(); from += k * n) {
    std::vector<WeightSums> columns(static_cast<size_t>(n));
    for (int64_t i = 0; i < k * n; ++i)
      columns[static_cast<size_t>(i % n)].add(byte_value(bytes, from + i) - zero_at(zero, i % n));
    for (int64_t i = 0; i < n; ++i) {
      if (!sum_fits(largest_sum(columns[static_cast<size_t>(i)], reach_of(a.type)), i))
        return false;
    }
  }
  return true;
}

// Checks the sum of `count` bytes.
bool Lowering::mean_fits(const ByteType& x, int64_t count) {
  if (count <= kMostSum / std::max<int64_t>(1, reach_of(x).most())) return true;
  why_ = "32 bits may not hold the sum of " + std::to_string(count) + " bytes";
  return false;
}

}  // namespace wick::ir
