#include "tests/vulkan/device.h"

#include <cstdio>
#include <iterator>
#include <string>

namespace wick::test {
namespace {

struct Contexts {
  vulkan::Context* plain = nullptr;
  vulkan::Context* staged = nullptr;
  vulkan::Context* narrow[std::size(kNarrow)] = {};
  std::string reason;

  Contexts() {
    vulkan::ContextOptions options;
    auto made = vulkan::Context::create(default_allocator(), options);
    if (!made.ok()) {
      reason = made.status().message();
      return;
    }
    plain = made.value();
    options.force_staging = true;
    auto staging = vulkan::Context::create(default_allocator(), options);
    if (!staging.ok()) std::abort();  // the same device, opened a moment ago
    staged = staging.value();
    options.force_staging = false;
    options.max_allocation = 1 << 18;
    for (size_t i = 0; i < std::size(kNarrow); ++i) {
      options.max_range = kNarrow[i];
      auto small = vulkan::Context::create(default_allocator(), options);
      if (!small.ok()) std::abort();
      narrow[i] = small.value();
    }
    std::printf("Vulkan device: %s (%s)\n", plain->device().info().name,
                vulkan::device_type_name(plain->device().info().type));
  }
};

// Never destroyed: programs hold one for as long as they run. Contexts that are closed again are
// tested elsewhere.
Contexts& contexts() {
  static auto* all = new Contexts;
  return *all;
}

}  // namespace

vulkan::Context* shared_context(bool force_staging) {
  return force_staging ? contexts().staged : contexts().plain;
}

vulkan::Context* narrow_context(size_t i) { return contexts().narrow[i]; }

const char* no_device_reason() { return contexts().reason.c_str(); }

}  // namespace wick::test
