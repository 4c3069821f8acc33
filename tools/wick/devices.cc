// wick devices: what Vulkan finds on this machine.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "runtime/backend/vulkan/backend.h"
#include "tools/lib/usage.h"
#include "tools/wick/command.h"
#include "tools/wick/warm.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

nlohmann::json json_of(size_t index, const VulkanDevice& d) {
  return {{"index", index},
          {"name", d.name},
          {"type", d.type},
          {"best", d.best},
          {"why_unusable", d.why_unusable},
          {"vulkan", fmt::format("{}.{}", d.vulkan_major, d.vulkan_minor)},
          {"driver_version", d.driver_version},
          {"memory_bytes", d.memory_bytes},
          {"largest_allocation_bytes", d.largest_allocation_bytes},
          {"largest_tensor_bytes", d.largest_tensor_bytes},
          {"shared_memory_bytes", d.shared_memory_bytes},
          {"subgroup_size", d.subgroup_size},
          {"subgroup_arithmetic", d.subgroup_arithmetic},
          {"float16_storage", d.f16_storage},
          {"float16_arithmetic", d.f16_arithmetic},
          {"float16_rounds_to_even", d.f16_rounds_to_even},
          {"float16_keeps_subnormals", d.f16_keeps_subnormals},
          {"float16_keeps_specials", d.f16_keeps_specials},
          {"float16_ieee", d.f16_ieee},
          {"int8_storage", d.i8_storage},
          {"integer_dot_product", d.integer_dot},
          {"cooperative_matrix", d.matrix_units}};
}

void print(size_t index, const VulkanDevice& d) {
  auto yes = [](bool b) { return b ? "yes" : "no"; };
  auto mib = [](uint64_t bytes) { return bytes >> 20; };
  fmt::print("{} {}: {}, Vulkan {}.{}{}\n", index, d.name, d.type, d.vulkan_major, d.vulkan_minor,
             d.best ? " (taken where none is asked for)" : "");
  if (d.why_unusable[0] != '\0') fmt::print("    cannot be used: {}\n", d.why_unusable);
  fmt::print("    memory {} MiB, one allocation {} MiB, one tensor {} MiB, shared {} KiB\n",
             mib(d.memory_bytes), mib(d.largest_allocation_bytes), mib(d.largest_tensor_bytes),
             d.shared_memory_bytes >> 10);
  fmt::print("    subgroups of {}, arithmetic in them: {}\n", d.subgroup_size,
             yes(d.subgroup_arithmetic));
  fmt::print(
      "    float16: stored {}, computed {}; int8: stored {}, dot product {}; matrix units: {}\n",
      yes(d.f16_storage), yes(d.f16_arithmetic), yes(d.i8_storage), yes(d.integer_dot),
      yes(d.matrix_units));
  if (d.f16_arithmetic)
    fmt::print(
        "    float16 arithmetic as IEEE says: {} (to nearest even {}, subnormals {}, "
        "zeros' signs, infinities and NaN {})\n",
        yes(d.f16_ieee), yes(d.f16_rounds_to_even), yes(d.f16_keeps_subnormals),
        yes(d.f16_keeps_specials));
}

// Returns what each kernel needs of a device, before its specialisation.
Array<VulkanKernel> all_kernels() {
  Array<VulkanKernel> kernels(default_allocator());
  check_status(VulkanBackend::kernels(kernels));
  return kernels;
}

nlohmann::json kernels_json() {
  auto list = nlohmann::json::array();
  for (const VulkanKernel& k : all_kernels()) {
    list.push_back({{"name", k.name},
                    {"group_size", k.group_size},
                    {"shared_bytes", k.shared_bytes},
                    {"buffers", k.buffers}});
  }
  return list;
}

void print_kernels() {
  const Array<VulkanKernel> kernels = all_kernels();
  if (kernels.empty()) return;
  fmt::print("{:<26} {:<10} {:>8} {:>8}\n", "kernel", "group", "shared", "buffers");
  for (const VulkanKernel& k : kernels) {
    fmt::print("{:<26} {:<10} {:>6} B {:>8}\n", k.name,
               fmt::format("{}x{}x{}", k.group_size[0], k.group_size[1], k.group_size[2]),
               k.shared_bytes, k.buffers);
  }
}

void run(bool json, bool verbose) {
  Array<VulkanDevice> devices(default_allocator());
  const Status s = VulkanBackend::devices(devices);
  if (json) {
    auto list = nlohmann::json::array();
    for (size_t i = 0; i < devices.size(); ++i) list.push_back(json_of(i, devices[i]));
    nlohmann::json document = {
        {"vulkan", {{"devices", list}, {"error", s.ok() ? "" : s.message()}}}};
    if (verbose) document["vulkan"]["kernels"] = kernels_json();
    print_json(document);
    return;
  }
  fmt::print("cpu: always there\n");
  if (!s.ok()) fmt::print("vulkan: none ({})\n", s.message());
  for (size_t i = 0; i < devices.size(); ++i) print(i, devices[i]);
  if (verbose) print_kernels();
}

}  // namespace

void add_devices(CommandLine& app) {
  struct Options {
    bool json = false, verbose = false;
    WarmCommand warm;
  };
  auto o = std::make_shared<Options>();
  Command command =
      app.add_command("devices", "List the devices that Vulkan finds, and what they can do");
  command.add_flag("-v,--verbose", o->verbose,
                   "list the kernels too: work groups, shared memory, buffers");
  command.add_option("--warm", o->warm.model,
                     "MODEL: checks and compiles its kernels on the device, and writes what came "
                     "out to the file of --out, which ships with the model");
  command
      .add_option("--out,-o", o->warm.out,
                  "with --warm: the file, for --device-cache; -: standard output")
      .writes_file(".cache");
  command.add_option("--device", o->warm.device,
                     "with --warm: a number of this list, or part of a name (default: the best)");
  command
      .add_option("--batch", o->warm.batches,
                  "with --warm: batch sizes that will run, since kernels are checked for sizes: "
                  "1,8,32 (default: 1 where the model has a choice)")
      .delimiter(',')
      .one_word()
      .at_least(1);
  command.add_option("--dim", o->warm.dims, "with --warm: NAME=N: a size that is not the batch")
      .one_word();
  command.add_flag("--json", o->json, "print JSON");
  command.footer(
      "Example:\n  wick devices --json\n"
      "  wick devices --warm model.wick -o model.cache");
  command.callback([o] {
    if (o->warm.model.empty()) {
      check_not_warm(o->warm);
      return run(o->json, o->verbose);
    }
    if (o->verbose) wrong_usage("--verbose", "lists kernels, without --warm");
    warm(o->warm, o->json);
  });
}

}  // namespace wick::tool
