// Runs another version of Wick's runtime by its C interface: the same .wick, the same inputs.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::tool {

struct OldRun {
  std::string version;  // wick_version()
  std::vector<HostTensor> outputs;
};
// `library` is a libwick_runtime.so. It is loaded into this process, with its symbols kept apart.
// Throws Error with what the loader or that library says.
OldRun run_old_library(const std::string& library, const std::string& model,
                       Span<const HostTensor> inputs);

}  // namespace wick::tool
