// A warm cache: one file with the verdicts and the compiled pipelines of a model on one driver,
// which ships with the model.
#pragma once

#include "runtime/core/array.h"

namespace wick::vulkan {

constexpr size_t kDriverKeyBytes = 32;                // identifies a driver of a device and a build
constexpr uint64_t kWarmBytes = uint64_t{256} << 20;  // no such file is larger

// The parts of a file, as the device's cache folder has them.
struct WarmParts {
  Span<const uint8_t> verdicts, pipelines;
};

// Reads the parts of a file that was read whole; they are in its bytes. kInvalidProgram: it is no
// warm cache, or damaged; kUnsupported: it was made for another driver, device or build.
Status read_warm(Span<const uint8_t> file, const char* driver, WarmParts* parts);
// Writes a file; the path has the old one or the whole new one. kBudgetExceeded: it would be larger
// than what is read.
Status write_warm(const char* path, const char* driver, const WarmParts& parts);

}  // namespace wick::vulkan
