// VulkanBackend::self_test: checks the calls of selftest_cases.cc like trust checks a model's.
#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/shaders/module_info.h"
#include "runtime/backend/vulkan/trust/selftest_cases.h"
#include "runtime/backend/vulkan/trust/trust.h"

namespace wick {

// Checks the calls that have shaders, and records which ones they use.
class VulkanBackend::Examiner final : public vulkan::SelfTestCalls {
 public:
  Examiner(VulkanBackend& backend, vulkan::Trust& trust, VulkanSelfTest& report)
      : backend_(backend), trust_(trust), report_(report) {}

  Status call(const KernelQuery& query) override {
    vulkan::Fingerprint fingerprint;
    const vulkan::Context& context = *backend_.context_;
    Form form = Form::kCall;
    if (!shaders_of(query, backend_.allocator_, vulkan::capabilities_of(context.device().info()),
                    {context.max_range(), context.max_allocation()}, &fingerprint, &form)
             .ok()) {
      return {};
    }
    if (fingerprint.dispatches() == 0) return {};
    const char* names[vulkan::kShaderCount];
    size_t count = 0;
    for (size_t i = 0; i < vulkan::kShaderCount; ++i) {
      if (!fingerprint.uses(static_cast<vulkan::ShaderId>(i))) continue;
      used_[i] = true;
      names[count++] = vulkan::shaders()[i].name;
    }
    const Status s = trust_.examine(query, fingerprint.value());
    if (s.code() == Code::kDevice || s.code() == Code::kOutOfMemory) return s;
    report_.on_call({find_op(query.op)->name, query.out[0], {names, count}, s.message()});
    return {};
  }

  void tell_unused() const {
    for (size_t i = 0; i < vulkan::kShaderCount; ++i) {
      if (!used_[i]) report_.on_unused(vulkan::shaders()[i].name);
    }
  }

 private:
  VulkanBackend& backend_;
  vulkan::Trust& trust_;
  VulkanSelfTest& report_;
  bool used_[vulkan::kShaderCount] = {};
};

Status VulkanBackend::self_test(VulkanSelfTest& report) {
  vulkan::Trust own(*context_, allocator_);
  Examiner examiner(*this, trust_ != nullptr ? *trust_ : own, report);
  WICK_TRY(vulkan::self_test_cases(examiner, allocator_));
  examiner.tell_unused();
  if (trust_ != nullptr) trust_->save(context_->disk());
  context_->save_pipelines();
  return {};
}

Status VulkanBackend::kernels(Array<VulkanKernel>& out) {
  out.clear();
  for (const vulkan::Shader& s : vulkan::shaders()) {
    WICK_ASSIGN(const vulkan::ModuleInfo module, vulkan::module_info(s.spirv, {}, out.allocator()));
    VulkanKernel kernel;
    kernel.name = s.name;
    for (size_t k = 0; k < 3; ++k) kernel.group_size[k] = module.group_size[k];
    kernel.shared_bytes = module.shared_bytes;
    kernel.buffers = s.bindings;
    WICK_TRY(out.push_back(kernel));
  }
  return {};
}

}  // namespace wick
