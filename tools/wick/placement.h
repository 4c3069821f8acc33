// The report of where a session runs its steps, why, and what that costs: `wick run --explain`
// shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/backend/explain.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/session.h"

namespace wick::tool {

struct Fallback;
class Runner;

// Throws wrong usage where --allow-fallback or --strict is given and nothing is for a device.
// `options`: what would say so.
void check_fallback(const Fallback& fallback, bool on_device,
                    const std::string& options = "--backend vulkan");
// Throws wrong usage where --device or --offload is given and nothing is for a device.
void check_device(const std::string& device, bool all_it_can, bool on_device);
// --strict: throws Error if the CPU ran any step of the last run that was for the device.
void refuse_fallback(Runner* runner);

class Placement final : public ExplainHook {
 public:
  // Reads the current binding; `device` is null if there is none.
  Placement(const Session& session, const VulkanBackend* device);

  // "ran 9 of 10 steps; on the CPU (--explain says why): Sinh (1)"
  std::string split() const;
  // "Cast (2), Sinh (1)": the ops that the CPU ran, and how many steps of each; "" if it ran none.
  std::string on_cpu() const;
  // Returns one line per step and copy, the kernels, and the totals.
  std::string text() const;
  nlohmann::json json() const;

 private:
  void on_step(const PlacedStep& step) override;
  void on_kernel(const PlacedKernel& kernel) override;
  void on_copy(const PlacedCopy& copy) override;
  void on_part(const PlacedPart& part) override;

  struct Kernel {
    std::string name;
    uint32_t groups[3] = {}, group_size[3] = {}, shared_bytes = 0, subgroup_size = 0;
    std::vector<uint32_t> constants;
    uint64_t read_bytes = 0, written_bytes = 0;
  };
  struct Step {
    std::string op, node, backend, kernel, why, types;
    int64_t index = -1;
    size_t region = 0;
    std::vector<Kernel> kernels;
  };
  struct Copy {
    std::string value, type, other;  // "" other: the program's own input or output
    uint64_t bytes = 0;
    bool to_device = false;
    size_t before = 0;  // the step that it precedes
  };
  struct Totals {
    size_t steps = 0, on_device = 0, parts = 0, kernels = 0, barriers = 0, copies_inside = 0;
    uint64_t read = 0, written = 0, flops = 0, arena = 0, constants = 0, staging = 0;
    uint64_t to_device = 0, to_host = 0, bytes_inside = 0;
  };
  Totals totals() const;
  std::string kernel_table() const;
  std::string totals_text() const;

  std::vector<Step> steps_;
  std::vector<Copy> copies_;
  std::vector<PlacedPart> parts_;
  VulkanDevice device_;
  bool has_device_ = false;
};

}  // namespace wick::tool
