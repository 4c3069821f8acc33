#include "runtime/ops/op_table.h"
#include "runtime/ops/rules/table-inl.h"

namespace wick {
namespace {

constexpr bool every(OpId) { return true; }

constexpr bool ids_ascend() {
  for (size_t i = 1; i < ops_def::kCount; ++i) {
    if (ops_def::kIds[i - 1] >= ops_def::kIds[i]) return false;
  }
  return true;
}
static_assert(ids_ascend(), "ops.def: ids must ascend and be unique");

constexpr bool attrs_fit() {
  for (const OpInfo& op : op_tables::Parts<every>::kInfos) {
    if (op.attrs->size > kMaxAttrBytes) return false;
  }
  return true;
}
static_assert(attrs_fit(), "raise kMaxAttrBytes");

}  // namespace

constinit const OpTable kAllOps = op_tables::table_of<every>(rules::kTable<int64_t>);

}  // namespace wick
