// Lets values stand within one another, where a step would only put tensors one after the other
// in memory (Concat) or take such a tensor apart (Split): the step then copies nothing.
#include <algorithm>

#include "runtime/core/int_math.h"
#include "runtime/exec/homes.h"

namespace wick {
namespace {

// The tensors of such a step. `whole` is kNoIndex for any other.
struct Joint {
  uint32_t whole = kNoIndex;
  Span<const uint32_t> parts;
};

// Returns whether the parts lie one after the other in the whole: nothing but 1 stands before the
// axis, and no part but the last ends within a block of channels.
bool in_sequence(const SessionValues& values, const Joint& joint, int axis) {
  const PlanValue& whole = values[joint.whole];
  if (whole.block != 0 && axis != 1) return false;
  for (int i = 0; i < axis; ++i) {
    if (whole.shape[i] != 1) return false;
  }
  for (size_t i = 0; i < joint.parts.size(); ++i) {
    const PlanValue& part = values[joint.parts[i]];
    if (part.block != whole.block) return false;
    const bool last = i + 1 == joint.parts.size();
    if (part.block != 0 && !last && part.shape[1] % part.block != 0) return false;
  }
  return true;
}

Joint joint_of(const SessionValues& values, const PlanStep& step) {
  if (step.row == nullptr || (step.row->flags & kPartsInPlace) == 0) return {};
  const bool splits = step.node->op == OpId::kSplit;
  Joint joint;
  joint.whole = splits ? step.in[0] : step.out[0];
  joint.parts = splits ? step.out : step.in;
  const int64_t axis = splits ? static_cast<const SplitAttrs*>(step.node->attrs)->axis
                              : static_cast<const AxisAttrs*>(step.node->attrs)->axis;
  const int at = axis_of(axis, values[joint.whole].shape.rank());
  return in_sequence(values, joint, at) ? joint : Joint();
}

}  // namespace

// A part moves into the whole's buffer if no step after this one writes over what is still read
// under the other name. Returns whether one did.
bool Binder::join_parts(const StagePlan& plan, Homes& homes) const {
  using Home = Homes::Home;
  bool any = false;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const Joint joint = joint_of(values_, plan.steps[s]);
    if (joint.whole == kNoIndex || values_[joint.whole].data != nullptr) continue;
    const uint32_t whole = homes.root(joint.whole);
    if (homes.home[whole] != Home::kBuffer) continue;
    const auto now = static_cast<int32_t>(s);
    const int32_t read = homes.ranges[whole].last, written = homes.written[whole];
    size_t at = homes.place(joint.whole);
    for (const uint32_t v : joint.parts) {
      const size_t bytes = values_[v].view(nullptr).nbytes(), begin = at;
      at += bytes;
      if (bytes == 0 || values_[v].data != nullptr || begin % kAlignment != 0) continue;
      const uint32_t part = homes.root(v);
      if (part == whole || homes.home[part] != Home::kBuffer || homes.ranges[part].bytes != bytes)
        continue;
      const bool part_changes = homes.written[part] > now, whole_changes = written > now;
      const bool part_read = homes.ranges[part].last > now, whole_read = read > now;
      if ((part_changes && whole_read) || (whole_changes && part_read)) continue;
      homes.put(part, whole, begin);
      any = true;
    }
  }
  return any;
}

// Values that are live for longer may take more memory together than their copies: then they stay
// apart.
Status Binder::join(StagePlan& plan, Homes& homes, Span<size_t> offsets) {
  const size_t n = values_.size();
  WICK_ASSIGN(auto parent, memory_.temp.array<uint32_t>(n));
  WICK_ASSIGN(auto ranges, memory_.temp.array<BufferRequest>(n));
  WICK_ASSIGN(auto joined, memory_.temp.array<size_t>(n));
  std::copy(homes.parent.begin(), homes.parent.end(), parent.begin());
  std::copy(homes.ranges.begin(), homes.ranges.end(), ranges.begin());
  if (!join_parts(plan, homes)) return {};
  size_t bytes = 0;
  WICK_TRY(plan_memory(homes.ranges, joined, &bytes, memory_.temp_allocator));
  if (bytes <= plan.planned_bytes) {
    plan.planned_bytes = bytes;
    std::copy(joined.begin(), joined.end(), offsets.begin());
  } else {
    homes.parent = parent, homes.ranges = ranges;
    std::fill(homes.within.begin(), homes.within.end(), size_t{0});
  }
  return {};
}

}  // namespace wick
