// DFT and Det.
#include <cmath>

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {
namespace {

// The sum takes as many steps per number as the transform is long; long ones are left to the CPU,
// which is then faster.
constexpr int64_t kLongest = int64_t{1} << 14, kMostWork = int64_t{1} << 31;

struct Root {
  double cosine, sine;
};
// Returns e^(2 pi i k / n), 0 <= k < n: by symmetry from the first octant.
Root root_of_unity(int64_t k, int64_t n) {
  if (2 * k > n) {
    const Root r = root_of_unity(n - k, n);
    return {r.cosine, -r.sine};
  }
  if (4 * k > n) {
    const Root r = root_of_unity(n - 2 * k, 2 * n);
    return {-r.cosine, r.sine};
  }
  if (8 * k > n) {
    const Root r = root_of_unity(n - 4 * k, 4 * n);
    return {r.sine, r.cosine};
  }
  const double angle = 6.283185307179586 * (static_cast<double>(k) / static_cast<double>(n));
  return {std::cos(angle), std::sin(angle)};
}

// Adds v as the sum of two floats of 12 bits and one of 24.
Status add_parts(double v, Array<uint32_t>& table) {
  const auto whole = static_cast<float>(v);
  const uint32_t high = std::bit_cast<uint32_t>(whole) & 0xfffff000u;
  const float next = whole - std::bit_cast<float>(high);
  const auto low = static_cast<float>(v - static_cast<double>(whole));
  WICK_TRY(table.push_back(high));
  WICK_TRY(table.push_back(std::bit_cast<uint32_t>(next)));
  return table.push_back(std::bit_cast<uint32_t>(low));
}

// Chooses the form like the CPU: non-finite numbers spread differently in each.
uint32_t form_of(int64_t n) {
  constexpr int64_t kSummed = 64;
  if (std::has_single_bit(static_cast<uint64_t>(n))) return WICK_DFT_HALVED;
  return n <= kSummed ? WICK_DFT_SUMMED : WICK_DFT_CONVOLVED;
}

}  // namespace

static Status lower_dft(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const DftAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  const int rank = x.rank();
  const auto& [at, n] = call.args->dft;
  int64_t inner = 1;
  for (int i = at + 1; i < rank - 1; ++i) inner *= x[i];
  const int64_t outputs = call.out[0].numel() / y[rank - 1];
  if (n > kLongest || outputs > kMostWork / n) return unsupported("a long transform");
  for (int64_t k = 0; k < n; ++k) {
    const Root r = root_of_unity(k, n);
    WICK_TRY(add_parts(r.cosine, out.table));
    WICK_TRY(add_parts(r.sine, out.table));
  }
  Dispatch d = flat_dispatch(ShaderId::k_dft_f32, outputs);
  add_spec(d, static_cast<uint32_t>(x[rank - 1]));
  add_spec(d, static_cast<uint32_t>(y[rank - 1]));
  add_spec(d, a.inverse != 0 ? 1 : 0);
  add_spec(d, a.inverse != 0 && a.onesided != 0 ? 1 : 0);
  add_spec(d, form_of(n));
  add_push(d, outputs);
  add_push(d, n);
  add_push(d, x[at]);
  add_push(d, y[at]);
  add_push(d, inner);
  add_operand(d, 0);
  add_operand(d, kTableOperand);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

static Status lower_det(const OpCall& call, Lowered& out) {
  const int64_t size = call.in[0].shape[call.in[0].rank() - 1];
  if (size > WICK_DET_SIZE) return unsupported("a large matrix");
  Dispatch d;
  d.shader = ShaderId::k_det_f32;
  d.groups[0] = groups_for(call.out[0].numel(), 1);
  add_push(d, call.out[0].numel());
  add_push(d, size);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

WICK_VULKAN(DFT, {.lower = lower_dft});
WICK_VULKAN(Det, {.lower = lower_det});

}  // namespace wick::vulkan
