// wick devices --warm: a model's verdicts and pipelines as a file that ships with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick::tool {

struct WarmCommand {
  std::string model, out, device;
  std::vector<int64_t> batches;
  std::vector<std::string> dims;
};

// Checks and compiles the model's kernels and writes the file; prints what is in it, and which
// calls the CPU runs since the device computes them wrongly.
void warm(const WarmCommand& c, bool json);
// Throws wrong usage if an option was given that is for --warm alone.
void check_not_warm(const WarmCommand& c);

}  // namespace wick::tool
