#include "runtime/ops/op_info.h"

#include <cstring>

namespace wick {
namespace {

constexpr OpInfo kOps[] = {
#define WICK_OP(Name, id, Attrs, min_in, max_in, outs, rule, Role) \
  {OpId::k##Name, #Name, &AttrFields<Attrs>::kType, min_in, max_in, outs, OpRole::Role},
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr bool ids_ascend() {
  for (size_t i = 1; i < std::size(kOps); ++i) {
    if (kOps[i - 1].id >= kOps[i].id) return false;
  }
  return true;
}
static_assert(ids_ascend(), "ops.def: ids must ascend and be unique");

constexpr bool attrs_fit() {
  for (const OpInfo& op : kOps) {
    if (op.attrs->size > kMaxAttrBytes) return false;
  }
  return true;
}
static_assert(attrs_fit(), "raise kMaxAttrBytes");

}  // namespace

Span<const OpInfo> all_ops() { return kOps; }

const OpInfo* find_op(OpId id) {
  size_t lo = 0, hi = std::size(kOps);
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (kOps[mid].id < id) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo < std::size(kOps) && kOps[lo].id == id ? &kOps[lo] : nullptr;
}

int region_count(OpId op) { return op == OpId::kIf ? 2 : op == OpId::kLoop ? 1 : 0; }

bool is_data_dependent(OpId op) {
  return op == OpId::kNonZero || op == OpId::kUnique || op == OpId::kNonMaxSuppression;
}

int data_dependent_axis(OpId op, const void* attrs, size_t output, int rank) {
  if (op == OpId::kNonZero) return 1;
  if (op == OpId::kNonMaxSuppression) return 0;
  if (op != OpId::kUnique || output == 2) return -1;
  const auto& axis = static_cast<const UniqueAttrs*>(attrs)->axis;
  if (output != 0 || axis.empty()) return 0;
  return static_cast<int>(axis[0] < 0 ? axis[0] + rank : axis[0]);
}

bool takes_containers(OpId op) {
  return (op >= OpId::kSequenceConstruct && op <= OpId::kOptionalGetElement) ||
         op == OpId::kIdentity;
}

bool reads_reals(OpId op, size_t input) { return op == OpId::kResize && input == 2; }

const OpInfo* find_op(const char* name) {
  for (const OpInfo& op : kOps) {
    if (strcmp(op.name, name) == 0) return &op;
  }
  return nullptr;
}

}  // namespace wick
