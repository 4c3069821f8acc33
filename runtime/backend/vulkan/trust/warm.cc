// VulkanBackend::load_cache and save_cache: verdicts and pipelines that ship with a model.
#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/ctx/warm_file.h"
#include "runtime/backend/vulkan/trust/trust.h"
#include "runtime/core/regular_file.h"

namespace wick {

// Nothing is taken unless all of the file is as it should be, up to what only the driver can read.
Status VulkanBackend::load_cache(const char* path) {
  if (path == nullptr) return Status(Code::kInvalidArgument, "the cache's path is null");
  auto load = [&]() -> Status {
    RegularFile file;
    WICK_TRY(file.open(path));
    if (file.size() > vulkan::kWarmBytes)
      return Status(Code::kInvalidProgram, "it is too large for a cache of a model's kernels");
    Array<uint8_t> bytes(allocator_);
    WICK_TRY(bytes.resize(static_cast<size_t>(file.size())));
    WICK_TRY(file.read(0, bytes.data(), bytes.size()));
    vulkan::WarmParts parts;
    WICK_TRY(vulkan::read_warm(bytes, context_->disk().driver(), &parts));
    // Verdicts come first: they can be checked to the end.
    if (trust_ != nullptr) WICK_TRY(trust_->check_warm(parts.verdicts));
    WICK_TRY(context_->noted(context_->add_pipelines(parts.pipelines)));
    return trust_ == nullptr ? Status() : trust_->add_warm(parts.verdicts);
  };
  return annotate(load(), "the cache '%.200s' is not used: ", path);
}

Status VulkanBackend::save_cache(const char* path) {
  if (path == nullptr) return Status(Code::kInvalidArgument, "the cache's path is null");
  if (trust_ == nullptr) {
    return Status(Code::kInvalidArgument,
                  "kernels are not checked, so that there are no verdicts for a cache");
  }
  Array<uint8_t> verdicts(allocator_), pipelines(allocator_);
  WICK_TRY(trust_->put(verdicts));
  WICK_TRY(context_->noted(context_->pipeline_data(pipelines)));
  return annotate(vulkan::write_warm(path, context_->disk().driver(), {verdicts, pipelines}),
                  "'%.200s': ", path);
}

}  // namespace wick
