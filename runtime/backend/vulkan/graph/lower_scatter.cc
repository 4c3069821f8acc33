// Ops with index tensors: ScatterElements, ScatterND, GatherND.
#include "runtime/backend/vulkan/graph/whole_element.h"

namespace wick::vulkan {
namespace {

// Calls with more consecutive steps in an invocation, or in all of them, are left to the CPU: work
// of several seconds may be taken for a hang.
constexpr int64_t kMostSteps = int64_t{1} << 22, kMostWork = int64_t{1} << 31;
constexpr int64_t kFewUpdates = 64, kManyLines = 64;  // where each way begins to pay

bool is_wide_index(const TensorView& indices) { return indices.dtype == DType::kI64; }

Status check_reduction(int64_t reduction, DType dtype) {
  if (reduction == WICK_SCATTER_NONE) return {};
  if (has_arithmetic(dtype)) return {};
  return unsupported("no shader for this reduction of this dtype");
}

void add_fault(Dispatch& d) {
  d.fault_push = d.push_words;
  add_push(d, uint32_t{0});
}

Status lower_scatter_elements(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ScatterAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &indices = call.in[1].shape;
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  if (axis < 0 || axis >= x.rank()) return unsupported("an axis out of range");
  WICK_TRY(check_reduction(a.reduction, call.in[0].dtype));
  const int at = static_cast<int>(axis);
  const int64_t n = numel(x), count = indices[at], lines = n / x[at];
  const bool by_lines = count > kFewUpdates && lines >= kManyLines &&
                        dtype_size(call.in[0].dtype) >= 4 && count + x[at] <= kMostSteps;
  if (!by_lines && (count > kMostSteps || n > kMostWork / count))
    return unsupported("more updates than an element can look through");
  const int64_t items = by_lines ? lines : n;
  Dispatch d = flat_dispatch(ShaderId::k_scatter, items);
  add_element(d, call.in[0].dtype);
  add_spec(d, is_wide_index(call.in[1]) ? 1 : 0);
  add_spec(d, static_cast<uint32_t>(a.reduction));
  add_spec(d, static_cast<uint32_t>(x.rank()));
  add_spec(d, static_cast<uint32_t>(at));
  add_spec(d, by_lines ? 1 : 0);
  add_push(d, items);
  add_fault(d);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? x[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? indices[i] : int64_t{1});
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

// Tuples of `columns` indices, which address lines after `batch` leading dims.
struct Tuples {
  int64_t count = 1, columns = 0, line = 1, batches = 1;
  int64_t dims[kMaxRank] = {};
  Tuples(const Shape& x, const Shape& indices, int64_t batch) {
    columns = indices[indices.rank() - 1];
    for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices[i];
    const int first = static_cast<int>(batch), end = first + static_cast<int>(columns);
    for (int i = 0; i < first; ++i) batches *= x[i];
    for (int i = first; i < end; ++i) dims[i - first] = x[i];
    for (int i = end; i < x.rank(); ++i) line *= x[i];
  }
};

Status lower_scatter_nd(const OpCall& call, Lowered& out) {
  const int64_t reduction = static_cast<const ScatterNDAttrs*>(call.attrs)->reduction;
  const TensorView& x = call.in[0];
  const Tuples t(x.shape, call.in[1].shape, 0);
  WICK_TRY(check_reduction(reduction, x.dtype));
  const int64_t n = x.numel(), each = t.count * t.columns;
  const bool by_places = t.count > kFewUpdates && t.line >= kManyLines && dtype_size(x.dtype) >= 4;
  if (each > kMostSteps || (!by_places && n > kMostWork / each))
    return unsupported("more updates than an element can look through");
  auto add = [&](uint32_t phase, int64_t items) {
    Dispatch d = flat_dispatch(ShaderId::k_scatter_nd, items);
    add_element(d, x.dtype);
    add_spec(d, is_wide_index(call.in[1]) ? 1 : 0);
    add_spec(d, static_cast<uint32_t>(reduction));
    add_spec(d, phase);
    add_push(d, items);
    add_fault(d);
    add_push(d, t.count);
    add_push(d, t.columns);
    add_push(d, t.line);
    for (int64_t v : t.dims) add_push(d, v);
    for (int i = 0; i < 3; ++i) add_operand(d, i);
    add_operand(d, out_operand(0));
    add_operand(d, kFaultOperand);
    return out.dispatches.push_back(d);
  };
  if (!by_places) return add(WICK_SCATTER_LOOK, n);
  WICK_TRY(add(WICK_SCATTER_COPY, n));
  return add(WICK_SCATTER_APPLY, t.line);
}

Status lower_gather_nd(const OpCall& call, Lowered& out) {
  const TensorView& x = call.in[0];
  const Tuples t(x.shape, call.in[1].shape,
                 static_cast<const GatherNDAttrs*>(call.attrs)->batch_dims);
  Dispatch d = flat_dispatch(ShaderId::k_gather_nd, call.out[0].numel());
  add_element(d, x.dtype);
  add_spec(d, is_wide_index(call.in[1]) ? 1 : 0);
  add_push(d, call.out[0].numel());
  add_fault(d);
  add_push(d, t.count / t.batches);
  add_push(d, t.columns);
  add_push(d, t.line);
  for (int64_t v : t.dims) add_push(d, v);
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(ScatterElements, {.lower = lower_scatter_elements, .types = {is_element}});
WICK_VULKAN(ScatterND, {.lower = lower_scatter_nd, .types = {is_element}});
WICK_VULKAN(GatherND, {.lower = lower_gather_nd, .types = {is_element}});

}  // namespace wick::vulkan
