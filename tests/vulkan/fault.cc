#include "tests/vulkan/fault.h"

#include <cstring>

namespace wick::test {
namespace {

vulkan::Api real;  // the original functions
FaultPlan plan;
int64_t calls = 0, failures = 0;

bool fails(const char* name) {
  if (plan.only != nullptr && std::strcmp(plan.only, name) != 0) return false;
  ++calls;
  if (plan.every == 0 || calls % plan.every != 0) return false;
  ++failures;
  return true;
}

// A function of the signature of the one it stands for. Only those that return VkResult can fail.
template <class Function, Function vulkan::Api::*kMember, const char* const* kName>
struct Failing;
template <class... Args, VkResult (*vulkan::Api::*kMember)(Args...), const char* const* kName>
struct Failing<VkResult (*)(Args...), kMember, kName> {
  static VkResult call(Args... args) {
    return fails(*kName) ? plan.error : (real.*kMember)(args...);
  }
  static void put(vulkan::Api& api) {
    if (api.*kMember == nullptr || api.*kMember == call) return;
    real.*kMember = api.*kMember;
    api.*kMember = call;
  }
};
template <class... Args, void (*vulkan::Api::*kMember)(Args...), const char* const* kName>
struct Failing<void (*)(Args...), kMember, kName> {
  static void put(vulkan::Api&) {}
};
template <class... Args, PFN_vkVoidFunction (*vulkan::Api::*kMember)(Args...),
          const char* const* kName>
struct Failing<PFN_vkVoidFunction (*)(Args...), kMember, kName> {
  static void put(vulkan::Api&) {}
};

#define X(name) constexpr const char* k##name = #name;
WICK_VK_GLOBAL_FUNCTIONS(X)
WICK_VK_INSTANCE_FUNCTIONS(X)
WICK_VK_DEVICE_FUNCTIONS(X)
WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X

}  // namespace

void inject_faults(vulkan::Api& api) {
#define X(name) Failing<PFN_vk##name, &vulkan::Api::name, &k##name>::put(api);
  WICK_VK_GLOBAL_FUNCTIONS(X)
  WICK_VK_INSTANCE_FUNCTIONS(X)
  WICK_VK_DEVICE_FUNCTIONS(X)
  WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
}

void set_faults(const FaultPlan& p) {
  plan = p;
  calls = failures = 0;
}
int64_t fallible_calls() { return calls; }
int64_t failed_calls() { return failures; }

}  // namespace wick::test
