#include "tests/vulkan/kept_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include "runtime/backend/vulkan/ctx/context.h"

// What lavapipe leaks is not ours.
extern "C" __attribute__((visibility("default"), used)) const char* __lsan_default_suppressions() {
  return "leak:libvulkan_lvp.so\nleak:libvulkan.so\n";
}

namespace wick::test {
namespace {

class KeepDriver : public testing::Environment {
 public:
  void SetUp() override {
    for (const std::string& library : open_and_close_device()) hold(library);
  }

  // A library that is mapped already gets a mark that dlclose() heeds.
  static void hold(const std::string& library) {
    dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
};

const testing::Environment* const kKeepDriver =
    testing::AddGlobalTestEnvironment(new KeepDriver);  // GoogleTest's from here on

}  // namespace

std::set<std::string> mapped_libraries() {
  std::set<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        if (info->dlpi_name[0] != '\0') {
          static_cast<std::set<std::string>*>(to)->insert(info->dlpi_name);
        }
        return 0;
      },
      &names);
  return names;
}

std::set<std::string> open_and_close_device() {
  vulkan::ContextOptions options;
  options.cache_folder = "";
  auto made = vulkan::Context::create(default_allocator(), options);
  std::set<std::string> names = mapped_libraries();
  if (made.ok()) vulkan::Context::destroy(*made);
  return names;
}

namespace {

// Without this LeakSanitizer names a driver's frames after whatever took its place.
TEST(VulkanDriver, StaysMappedWhenItsLastInstanceIsGone) {
  const std::set<std::string> open = open_and_close_device(), closed = mapped_libraries();
  for (const std::string& library : open) EXPECT_TRUE(closed.contains(library)) << library;
}

}  // namespace
}  // namespace wick::test
