#include "runtime/backend/vulkan/graph/rows.h"

#include "runtime/ops/op_facts.h"

namespace wick::vulkan {
namespace {

constinit const VulkanRow kOfTraining = {.why_none = "it is of training and in no program"};
constinit const VulkanRow kOfUsers = {.why_none =
                                          "a user's own op has the kernels that came with it"};

struct Table {
  const VulkanRow* rows[ops_def::kSpan] = {};
};
constexpr Table make_table() {
  Table t;
  for (const VulkanRow*& row : t.rows) row = &kOfTraining;
#define WICK_VULKAN_ROW_kInfer(Name) t.rows[static_cast<size_t>(OpId::k##Name)] = &kVulkan_##Name;
#define WICK_VULKAN_ROW_kControl(Name) WICK_VULKAN_ROW_kInfer(Name)
#define WICK_VULKAN_ROW_kTrain(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_VULKAN_ROW_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_VULKAN_ROW_kInfer
#undef WICK_VULKAN_ROW_kControl
#undef WICK_VULKAN_ROW_kTrain
  return t;
}
constinit const Table kTable = make_table();

}  // namespace

const VulkanRow& vulkan_row(OpId op) {
  const auto at = static_cast<size_t>(op);
  return at < ops_def::kSpan ? *kTable.rows[at] : kOfUsers;
}

}  // namespace wick::vulkan
