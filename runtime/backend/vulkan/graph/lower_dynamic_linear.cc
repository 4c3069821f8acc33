// DynamicLinear: rows of floats are quantized to bytes by their ranges, followed by a product of
// bytes.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/bytes/qlinear.h"

namespace wick::vulkan {
namespace {

constexpr int64_t kTile = 64;      // rows and columns of a tile of dynamic_linear
constexpr int64_t kThinRows = 16;  // up to here reading the weights dominates

}  // namespace

static Status lower_dynamic_linear(const OpCall& call, Lowered& out) {
  const TensorView &x = call.in[0], &w = call.in[1], &scale = call.in[2];
  if (x.dtype != DType::kF32 || w.dtype != DType::kI8)
    return unsupported("no shader for this dtype");
  // If scales are known and bad, the CPU reports them.
  const bool known = scale.data != nullptr;
  if (known && !check_scale(scale, "scale").ok()) return unsupported("a scale that is none");
  const bool bias = has_input(call.in, 3), dot = out.can.integer_dot;
  const int64_t columns = w.shape[0], depth = w.shape[1], rows = call.out[0].numel() / columns;
  constexpr int64_t kThinColumns = WICK_FLAT_SIZE / 32;
  const bool thin = rows <= kThinRows && columns <= kThinColumns * kMaxGroups;
  const int64_t each = thin ? kThinColumns : kTile;
  const int64_t across = (columns + each - 1) / each, down = (rows + kTile - 1) / kTile;
  if (across > kMaxGroups || down > kMaxGroups)
    return unsupported("more tiles than a dispatch has");
  Dispatch d;
  d.shader = thin  ? dot ? ShaderId::k_dynamic_linear_thin_dot : ShaderId::k_dynamic_linear_thin
             : dot ? ShaderId::k_dynamic_linear_dot
                   : ShaderId::k_dynamic_linear;
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = thin ? groups_for(rows, WICK_BLOCK_ROWS) : static_cast<uint32_t>(down);
  add_spec(d, WICK_BYTES_TO_FLOATS);
  add_spec(d, scale.numel() == 1 ? 0 : 1);
  add_spec(d, bias ? 1 : 0);
  add_spec(d, known ? 0 : 1);
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  if (!known) d.fault_push = d.push_words;
  d.fault_text = "a scale is not above 0 and finite";
  add_push(d, uint32_t{0});
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  add_operand(d, bias ? 3 : 0);  // absent: binds another tensor, which is not read
  add_operand(d, 2);
  add_operand(d, known ? out_operand(0) : kFaultOperand);  // must be writable, but is not written
  return out.dispatches.push_back(d);
}

WICK_VULKAN(DynamicLinear, {.lower = lower_dynamic_linear, .types = {is_any}});

}  // namespace wick::vulkan
