#include "runtime/backend/vulkan/graph/lower.h"

#include <algorithm>

#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/ops/products.h"

namespace wick::vulkan {
namespace {

// A call without results belongs to the device if the same call with some elements would: not every
// dtype of an op has a shader.
Status ask_as_if_full(const VulkanRow& row, const OpCall& call, Lowered& out) {
  constexpr size_t kMost = 8;
  TensorView views[2 * kMost];
  if (call.in.size() > kMost || call.out.size() > kMost) return unsupported("empty outputs");
  auto full = [](TensorView v) {
    for (int i = 0; i < v.rank(); ++i) v.shape[i] = v.shape[i] == 0 ? 1 : v.shape[i];
    return v;
  };
  // Inputs that are read here (such as an empty list of axes) keep their extent, as elements cannot
  // be made up.
  for (size_t i = 0; i < call.in.size(); ++i)
    views[i] = reads_input(call.op, i) ? full(call.in[i]) : call.in[i];
  for (size_t i = 0; i < call.out.size(); ++i) views[kMost + i] = full(call.out[i]);
  OpCall asked = call;
  asked.in = {views, call.in.size()};
  asked.out = {views + kMost, call.out.size()};
  const Status s = row.lower(asked, out);
  out.alias = false;
  out.dispatches.clear();
  out.table.clear();
  return s;
}

}  // namespace

Capabilities capabilities_of(const DeviceInfo& device) {
  Capabilities can;
  can.f16_storage = device.f16_storage;
  can.f16_ieee = device.f16_ieee;
  can.bindings = std::min(device.limits.maxPerStageDescriptorStorageBuffers, kMaxBindings);
  can.integer_dot = device.integer_dot;
  can.matrix_units = device.matrix_units;
  can.subgroup = device.subgroup_arithmetic ? device.subgroup_size : 0;
  return can;
}

static Result<uint32_t> activation_function(int64_t activation) {
  switch (static_cast<Activation>(activation)) {
    case Activation::kNone:
    case Activation::kRelu: return uint32_t{WICK_FN_RELU};
    case Activation::kClip: return uint32_t{WICK_FN_CLIP};
    case Activation::kLeakyRelu: return uint32_t{WICK_FN_LEAKY_RELU};
    case Activation::kSigmoid: return uint32_t{WICK_FN_SIGMOID};
    case Activation::kTanh: return uint32_t{WICK_FN_TANH};
    case Activation::kSilu: return uint32_t{WICK_FN_SILU};
    case Activation::kHardSwish: return uint32_t{WICK_FN_HARD_SWISH};
    case Activation::kGeluTanh: return uint32_t{WICK_FN_GELU_TANH};
    case Activation::kGeluErf: return uint32_t{WICK_FN_GELU_ERF};
    case Activation::kHardSigmoid: return uint32_t{WICK_FN_HARD_SIGMOID};
    case Activation::kTimesSigmoid: return uint32_t{WICK_FN_TIMES_SIGMOID};
    case Activation::kTimesHardSigmoid: return uint32_t{WICK_FN_TIMES_HARD_SIGMOID};
  }
  return unsupported("no shader for this activation");
}

Result<Ending> ending_of(const EpilogueAttrs& epilogue) {
  Ending ending;
  WICK_ASSIGN(ending.function, activation_function(epilogue.activation));
  ending.alpha = static_cast<float>(epilogue.alpha);
  ending.beta = static_cast<float>(epilogue.beta);
  if (ending.function == WICK_FN_RELU)
    ending.alpha = epilogue.activation == static_cast<int64_t>(Activation::kNone) ? 1.0f : 0.0f;
  return ending;
}

bool reads_input(OpId op, size_t input) {
  const VulkanRow& row = vulkan_row(op);
  if (row.lower == nullptr || input == 0) return true;
  const char role = input_role(op, input);
  return role != 'a' && role != 'n' && (input >= 32 || (row.host_inputs >> input & 1) == 0);
}

bool is_copied(OpId op) { return (vulkan_row(op).flags & kCopies) != 0; }

Status resolve(OpCall& call, ShapeArgs& args) {
  if (call.args != nullptr || !has_shape_args(call.op)) return {};
  call.args = &args;
  const Status s = resolve_shape_args(call.op, call.attrs, call.in, &args);
  return s.code() == Code::kNeedsValue ? unsupported("numbers that only a run knows") : s;
}

Status lower(const OpCall& asked, Lowered& out) {
  const VulkanRow& row = vulkan_row(asked.op);
  if (row.lower == nullptr) return unsupported("no shader for this op");
  if (products_of(asked.op, asked.attrs) == Products::kBf16)
    return unsupported("products of bf16, whose order the CPU has");
  const auto has = [&](RowFlags flag) { return (row.flags & flag) != 0; };
  ShapeArgs args;
  OpCall call = asked;
  WICK_TRY(resolve(call, args));
  out.alias = false;
  out.dispatches.clear();
  out.table.clear();
  const bool half = call.out[0].dtype == DType::kF16 && has(kStoresHalves) && out.can.f16_storage;
  bool empty = true;
  for (const TensorView& view : call.out) empty = empty && view.numel() == 0;
  auto check = [&](const TensorView& view, bool (*takes)(DType)) -> Status {
    if (!has(kCopies) && !empty) {
      if (view.numel() > kMaxElements) return unsupported("a tensor too large for 32-bit indices");
      if (view.nbytes() > out.range) return unsupported("a tensor larger than a shader sees");
    }
    if (half && view.dtype == DType::kF16) return {};
    return takes(view.dtype) && !half ? Status() : unsupported("no shader for this dtype");
  };
  const RowTypes& types = row.types;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const TensorView& view = call.in[i];
    if (!view.present() || !reads_input(call.op, i)) continue;
    WICK_TRY(check(view, input_role(call.op, i) == 'i' ? types.indices : types.all));
    if (view.numel() == 0 && !empty && !has(kEmptyInputs)) return unsupported("an empty input");
  }
  for (size_t i = 0; i < call.out.size(); ++i) {
    const bool later = i > 0 && types.later_outputs != nullptr;
    WICK_TRY(check(call.out[i], later ? types.later_outputs : types.all));
    if (call.out[i].numel() == 0 && !empty && !has(kSomeEmptyOutputs))
      return unsupported("an empty output");
  }
  if (empty && !has(kEmptyOutputs)) return unsupported("empty outputs");
  if (empty) return has(kMoves) ? Status() : ask_as_if_full(row, call, out);
  WICK_TRY(row.lower(call, out));
  const bool fits = out.table.size() * sizeof(uint32_t) <= out.range;
  return fits ? Status() : unsupported("a table larger than a shader sees");
}

}  // namespace wick::vulkan
