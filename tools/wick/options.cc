// The options that several commands have, and the ranges of their values.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "tools/wick/command.h"

namespace wick::tool {

bool ends_with(const std::string& text, const std::string& end) { return text.ends_with(end); }

namespace {

// CLI::Range takes NaN, and infinity for the largest double.
CLI::Validator finite(bool (*inside)(double), const char* range) {
  return CLI::Validator(
      [inside, range](const std::string& text) {
        double value = 0;
        bool number = CLI::detail::lexical_cast(text, value);
        if (number && std::isfinite(value) && inside(value)) return std::string();
        return fmt::format("must be a number {}, got '{}'", range, text);
      },
      std::string("NUMBER ") + range);
}

}  // namespace

CLI::Validator at_least(int64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        int64_t value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= least) return std::string();
        return fmt::format("must be a whole number of at least {}, got '{}'", least, text);
      },
      fmt::format(">= {}", least));
}
CLI::Validator above_zero() {
  return finite([](double v) { return v > 0; }, "> 0");
}
CLI::Validator not_negative() {
  return finite([](double v) { return v >= 0; }, ">= 0");
}

void accept_qdq(CLI::App& command, bool* lower) {
  command
      .add_option_function<std::string>(
          "--qdq", [lower](const std::string& form) { *lower = form == "integer"; },
          "integer (default): what stands between DequantizeLinear and QuantizeLinear as integer "
          "ops; float: as the file has it")
      ->check(CLI::IsMember({"integer", "float"}));
}

void accept_offload(CLI::App& command, bool* all_it_can) {
  command
      .add_option_function<std::string>(
          "--offload", [all_it_can](const std::string& what) { *all_it_can = what == "all"; },
          "of a model that the device runs in part: pays (default), the steps that are worth their "
          "copies; all, whatever it can run")
      ->check(CLI::IsMember({"pays", "all"}));
}

void accept_backend(CLI::App& command, std::string* backend, std::string* device) {
  command.add_option("--backend", *backend, "cpu or vulkan")
      ->check(CLI::IsMember({"cpu", "vulkan"}));
  command.add_option("--device", *device,
                     "of Vulkan: a number of `wick devices`, or part of a name (default: the "
                     "environment's WICK_VULKAN_DEVICE, else the best)");
  command.add_flag_callback(
      "--force-staging", [] { setenv("WICK_VULKAN_FORCE_STAGING", "1", 1); },
      "of Vulkan: copies through staging buffers also where host and device share memory, to find "
      "a missing copy (also the environment's WICK_VULKAN_FORCE_STAGING=1)");
}

}  // namespace wick::tool
