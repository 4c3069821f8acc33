// Ops that go along one axis in order: ArgMax, ArgMin, TopK, CumSum, CumProd; and Trilu.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/backend/vulkan/graph/whole_element.h"

namespace wick::vulkan {
namespace {

// See lower_scatter.cc.
constexpr int64_t kMostSteps = int64_t{1} << 22, kMostWork = int64_t{1} << 34;
constexpr int64_t kShortLine = 64;  // that one lane scans

// x as lines along an axis: neighbours have a stride of `inner` elements.
struct Lines {
  int64_t lines = 1, count = 1, inner = 1;
};
Status lines_of(const Shape& x, int64_t axis, Lines& l) {
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return unsupported("an axis out of range");
  const int at = static_cast<int>(axis);
  l.count = x[at];
  for (int i = at + 1; i < x.rank(); ++i) l.inner *= x[i];
  l.lines = numel(x) / l.count;
  return {};
}

struct Selection {
  int64_t axis = 0, k = 1;
  bool smallest = false, nan_first = true, last = false, values = false;
};
Status add_selection(const OpCall& call, const Selection& s, Lowered& out) {
  if (!has_arithmetic(call.in[0].dtype)) return unsupported("no order of this dtype");
  Lines l;
  WICK_TRY(lines_of(call.in[0].shape, s.axis, l));
  const int64_t lanes = l.count <= kShortLine ? 1 : WICK_FLAT_SIZE;
  if (s.k < 1 || s.k > l.count) return unsupported("k is larger than the axis");
  const int64_t steps = s.k * (l.count / lanes + 1);
  if (steps > kMostSteps || steps * lanes > kMostWork / l.lines)
    return unsupported("a long way through the axis");
  Dispatch d;
  d.shader = ShaderId::k_select;
  d.groups[0] = groups_for(l.lines, WICK_FLAT_SIZE / lanes);
  add_element(d, call.in[0].dtype);
  add_spec(d, static_cast<uint32_t>(lanes));
  add_spec(d, s.smallest ? 1 : 0);
  add_spec(d, s.nan_first ? 1 : 0);
  add_spec(d, s.last ? 1 : 0);
  add_spec(d, s.values ? 1 : 0);
  add_push(d, l.lines);
  add_push(d, l.count);
  add_push(d, l.inner);
  add_push(d, s.k);
  add_operand(d, 0);
  // Without values, input 0 is bound in their place and not written.
  add_operand(d, s.values ? out_operand(0) : 0);
  add_operand(d, out_operand(s.values ? 1 : 0));
  return out.dispatches.push_back(d);
}

Status lower_arg(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ArgAttrs*>(call.attrs);
  Selection s;
  s.axis = a.axis;
  s.smallest = call.op == OpId::kArgMin;
  s.last = a.select_last_index != 0;
  return add_selection(call, s, out);
}

Status lower_topk(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const TopKAttrs*>(call.attrs);
  Selection s;
  s.axis = a.axis;
  s.k = call.out[0].shape[static_cast<int>(a.axis < 0 ? a.axis + call.out[0].rank() : a.axis)];
  s.smallest = a.largest == 0;
  s.nan_first = !s.smallest;  // NaN is greater than all
  s.values = true;
  return add_selection(call, s, out);
}

Status lower_cumulate(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const CumulateAttrs*>(call.attrs);
  if (!has_arithmetic(call.in[0].dtype)) return unsupported("no shader for this dtype");
  Lines l;
  WICK_TRY(lines_of(call.in[0].shape, call.args->number.value, l));
  if (l.count > kMostSteps) return unsupported("a long way through the axis");
  Dispatch d = flat_dispatch(ShaderId::k_scan, l.lines);
  add_element(d, call.in[0].dtype);
  add_spec(d, call.op == OpId::kCumProd ? 1 : 0);
  add_spec(d, a.exclusive != 0 ? 1 : 0);
  add_spec(d, a.reverse != 0 ? 1 : 0);
  add_push(d, l.lines);
  add_push(d, l.count);
  add_push(d, l.inner);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_trilu(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const TriluAttrs*>(call.attrs);
  const Shape& x = call.in[0].shape;
  int64_t k = call.args->number.value;
  const int64_t rows = x[x.rank() - 2], columns = x[x.rank() - 1];
  k = k > columns ? columns : k < -rows ? -rows : k;  // larger ones change nothing
  Dispatch d = flat_dispatch(ShaderId::k_trilu, numel(x));
  add_element(d, call.in[0].dtype);
  add_spec(d, a.upper != 0 ? 1 : 0);
  add_push(d, numel(x));
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, k);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(ArgMax, {.lower = lower_arg, .types = {is_element}});
WICK_VULKAN(ArgMin, {.lower = lower_arg, .types = {is_element}});
WICK_VULKAN(TopK, {.lower = lower_topk, .types = {is_element}});
WICK_VULKAN(CumSum, {.lower = lower_cumulate, .types = {is_element}});
WICK_VULKAN(CumProd, {.lower = lower_cumulate, .types = {is_element}});
WICK_VULKAN(Trilu, {.lower = lower_trilu, .types = {is_element}});

}  // namespace wick::vulkan
