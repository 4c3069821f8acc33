// The options that several commands have.
#include <cstdlib>

#include "runtime/registry/registry.h"
#include "tools/lib/products.h"
#include "tools/lib/trust.h"
#include "tools/lib/usage.h"
#include "tools/wick/command.h"
#include "trainer/inline/load_inline.h"

namespace wick::tool {

bool ends_with(const std::string& text, const std::string& end) { return text.ends_with(end); }

void accept_ops(Command command) {
  command.add_option_function<std::vector<std::string>>(
      "--ops",
      [](const std::vector<std::string>& libraries) {
        for (const std::string& library : libraries) {
          const bool source = ends_with(library, ".cc") || ends_with(library, ".cpp");
          source ? load_source(library) : load_ops(library);
        }
      },
      "library of custom ops that the model names, or its source (.cc), which is compiled; may be "
      "given more than once");
}

void accept_signature(Command command) {
  command
      .add_option_function<std::vector<std::string>>(
          "--require-signature",
          [](const std::vector<std::string>& keys) {
            for (const std::string& key : keys) require_signature(key);
          },
          "a public key's file (any number of times): refuse a model without a signature of one of "
          "these in MODEL.minisig")
      .one_word();
}

void accept_entry(Command command, std::string* entry) {
  command.add_option("--entry", *entry,
                     "NAME: the entry point of a program that has several, as wick inspect lists "
                     "them (default: the first)");
}

void accept_qdq(Command command, bool* lower) {
  command
      .add_option_function<std::string>(
          "--qdq", [lower](const std::string& form) { *lower = form == "integer"; },
          "integer (default): what stands between DequantizeLinear and QuantizeLinear as integer "
          "ops; float: as the file has it")
      .one_of({"integer", "float"});
}

void accept_numerics(Command command, Products* products) {
  command
      .add_option_function<std::string>(
          "--numerics",
          [products](const std::string& form) {
            for (const Products p : {Products::kExact, Products::kWinograd, Products::kBf16}) {
              if (form == products_name(p)) *products = p;
            }
          },
          "of .wick: exact (default), the trainer's bits; fast, 3x3 convolutions by Winograd; "
          "bf16, "
          "operands of products rounded to bfloat16")
      .one_of({"exact", "fast", "bf16"});
}

void accept_offload(Command command, bool* all_it_can) {
  command
      .add_option_function<std::string>(
          "--offload", [all_it_can](const std::string& what) { *all_it_can = what == "all"; },
          "of a model that the device runs in part: pays (default), the steps that are worth their "
          "copies; all, whatever it can run")
      .one_of({"pays", "all"});
}

void accept_backend(Command command, std::string* backend, std::string* device) {
  command.add_option("--backend", *backend, "where the model runs").one_of({"cpu", "vulkan"});
  command.add_option("--device", *device,
                     "of Vulkan: a number of `wick devices`, or part of a name (default: the "
                     "environment's WICK_VULKAN_DEVICE, else the best)");
  command.add_flag_callback(
      "--force-staging", [] { setenv("WICK_VULKAN_FORCE_STAGING", "1", 1); },
      "of Vulkan: copies through staging buffers also where host and device share memory, to find "
      "a missing copy (also the environment's WICK_VULKAN_FORCE_STAGING=1)");
}

void accept_kernel_checks(Command command, KernelChecks* checks) {
  command.add_flag("--skip-kernel-checks", checks->skipped,
                   "of --backend vulkan: runs kernels that were not compared with the CPU's, right "
                   "or wrong");
  command.add_option("--device-cache", checks->device_cache,
                     "of --backend vulkan: FILE of `wick devices --warm`, so that a first start "
                     "checks and compiles nothing; of another device or driver it is not used");
}

void check_kernel_checks(const KernelChecks& checks, const std::string& backend) {
  if (backend != "cpu" || (!checks.skipped && checks.device_cache.empty())) return;
  wrong_usage(checks.skipped ? "--skip-kernel-checks" : "--device-cache",
              "is for --backend vulkan");
}

void accept_fallback(Command command, Fallback* fallback) {
  const Option allowed =
      command.add_flag("--allow-fallback", fallback->allowed,
                       "of --backend vulkan: without Vulkan or a device the CPU runs all of it");
  command
      .add_flag(
          "--strict", fallback->refused,
          "of --backend vulkan: an error if the CPU runs any step, before anything is written")
      .excludes(allowed);
}

}  // namespace wick::tool
