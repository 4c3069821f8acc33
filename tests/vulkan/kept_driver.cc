// Keeps the driver of the tests mapped once it was loaded.
//
// A driver keeps some memory for good, which LeakSanitizer finds and suppresses by the library that
// asked for it. Which library that was is looked up when the process ends, and by then the loader
// has unloaded the driver with the last instance: the addresses belong to nothing, or to whatever
// was mapped there later. So each program of this folder opens a device before its first test and
// holds every library that came with it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <set>
#include <string>

#include "runtime/backend/vulkan/ctx/context.h"

// Suppresses the leaks of lavapipe, of the loader and of the validation layer, which keeps the same
// bytes whether a program has opened one device or a hundred.
// NOLINTNEXTLINE(readability-identifier-naming): LeakSanitizer's name
extern "C" __attribute__((visibility("default"), used)) const char* __lsan_default_suppressions() {
  return "leak:libvulkan_lvp.so\nleak:libvulkan.so\nleak:libVkLayer_khronos_validation.so\n";
}

namespace wick::test {
namespace {

using Names = std::set<std::string>;

Names mapped_libraries() {
  Names names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        if (info->dlpi_name[0] != '\0') static_cast<Names*>(to)->insert(info->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

// Calls `while_open` with the libraries that are mapped while the tests' device, if there is one,
// is open.
Names open_and_close_device(void (*while_open)(const Names&)) {
  vulkan::ContextOptions options;
  options.cache_folder = "";
  auto made = vulkan::Context::create(default_allocator(), options);
  Names names = mapped_libraries();
  while_open(names);
  if (made.ok()) vulkan::Context::destroy(*made);
  return names;
}

class KeepDriver : public testing::Environment {
 public:
  void SetUp() override {
    open_and_close_device([](const Names& names) {
      // Each is mapped already and gets a mark that dlclose() heeds.
      for (const std::string& name : names)
        dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    });
  }
};
const testing::Environment* const kKeepDriver =
    testing::AddGlobalTestEnvironment(new KeepDriver);  // GoogleTest's from here on

// Without this LeakSanitizer names a driver's frames after whatever took its place.
TEST(VulkanDriver, StaysMappedWhenItsLastInstanceIsGone) {
  const Names open = open_and_close_device([](const Names&) {}), closed = mapped_libraries();
  for (const std::string& name : open) EXPECT_TRUE(closed.contains(name)) << name;
}

}  // namespace
}  // namespace wick::test
