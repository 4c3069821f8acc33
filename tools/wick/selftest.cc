// wick selftest: compares every kernel of a device with the CPU's.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/lib/model.h"
#include "tools/lib/open_vulkan.h"
#include "tools/wick/command.h"

namespace wick::tool {
namespace {

class Report final : public VulkanSelfTest {
 public:
  void on_call(const Call& call) override {
    const std::string text = fmt::format("{} to {} {}", call.op, dtype_name(call.made.dtype),
                                         to_text(call.made.shape).text);
    const bool right = call.wrong[0] == '\0';
    ++calls_;
    if (!right) wrong_[text] = call.wrong;
    for (const char* name : call.kernels) {
      Kernel& kernel = kernels_[name];
      ++kernel.calls;
      kernel.ops.insert(call.op);
      if (!right) kernel.wrong.push_back(text);
    }
  }
  void on_unused(const char* kernel) override { unused_.emplace_back(kernel); }

  bool right() const { return wrong_.empty(); }

  void print(const VulkanBackend& device) const {
    fmt::print("{} ({}): {} kernels, {} calls, each several times beside the CPU\n",
               device.device_name(), device.device_type(), kernels_.size(), calls_);
    for (const auto& [name, k] : kernels_) {
      if (k.wrong.empty()) {
        fmt::print("ok     {:<26} {} call{}\n", name, k.calls, k.calls == 1 ? "" : "s");
      } else {
        fmt::print("WRONG  {:<26} {} of {} calls\n", name, k.wrong.size(), k.calls);
      }
    }
    for (const std::string& name : unused_) fmt::print("-      {:<26} not for this device\n", name);
    if (right()) return;
    fmt::print("{} calls go to the CPU, here and in every model that has them:\n", wrong_.size());
    for (const auto& [text, why] : wrong_) fmt::print("  {}: {}\n", text, why);
  }

  nlohmann::json json(const VulkanBackend& device) const {
    auto kernels = nlohmann::json::array();
    for (const auto& [name, k] : kernels_) {
      kernels.push_back({{"name", name},
                         {"ok", k.wrong.empty()},
                         {"calls", k.calls},
                         {"ops", k.ops},
                         {"wrong", k.wrong}});
    }
    return {{"device", device.device_name()},
            {"type", device.device_type()},
            {"ok", right()},
            {"calls", calls_},
            {"kernels", kernels},
            {"unused", unused_},
            {"on_the_cpu", wrong_}};
  }

 private:
  struct Kernel {
    size_t calls = 0;
    std::set<std::string> ops;
    std::vector<std::string> wrong;
  };
  size_t calls_ = 0;
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, std::string> wrong_;  // the kernels that go to the CPU, and why
  std::vector<std::string> unused_;
};

void run(const std::string& device, bool json) {
  auto opened = open_vulkan(device);
  if (!opened.ok()) throw no_vulkan(opened.status());
  const std::shared_ptr<VulkanBackend> vulkan = std::move(opened.value());
  Report report;
  check(vulkan->self_test(report), "self-test");
  if (json) {
    print_json(report.json(*vulkan));
  } else {
    report.print(*vulkan);
  }
  if (!report.right()) throw Differs{};
}

}  // namespace

void add_selftest(CommandLine& app) {
  struct Options {
    std::string device;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  Command command =
      app.add_command("selftest", "Compare every kernel of a Vulkan device with the CPU's");
  command.add_option("--device", o->device,
                     "a number of `wick devices`, or part of a name (default: the best)");
  command.add_flag("--json", o->json, "print JSON");
  command.footer("Example:\n  wick selftest --device 0");
  command.callback([o] { run(o->device, o->json); });
}

}  // namespace wick::tool
