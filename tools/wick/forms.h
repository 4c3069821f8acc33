// The older names of wick verify's modes: wick prove RUN is wick verify RUN --test-set, wick
// compare A B is wick verify A B --outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/wick/command.h"

namespace wick::tool {

struct ProveCommand {
  std::string folder, out, data;
  int64_t limit = 0;
  bool json = false;
};
// Returns false if a path breaks its promise.
bool prove(const ProveCommand& command);

struct CompareCommand {
  std::string a, b, against, backend_a = "cpu", backend_b = "cpu";
  std::vector<std::string> data, dims;
  std::optional<int64_t> batch;
  double tolerance = 1e-5;
  bool json = false, lower_qdq = true, nodes = false, unfused = false;
  std::string entry = {};
  int64_t steps = 0;  // of programs that keep state; 0: kStateSteps
  Fallback fallback = {};
};
// Throws Differs.
void compare(const CompareCommand& command);

}  // namespace wick::tool
