// What export, convert and quantize look at by themselves: passes on a sample, and the file
// written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/lib/verify/verify.h"

namespace wick::tool {

struct CheckPasses {
  bool chains = true;             // ir::OptimizeOptions'
  bool look = true;               // false: the passes alone
  bool always = false;            // whatever it costs; a sample that does not run is an Error
  std::vector<std::string> dims;  // "NAME=N"
};
// Optimises, each pass checked on one small sample where that is cheap: PassReport::undone names
// what broke its promise, PassReport::unchecked says why nothing was looked at.
ir::PassReport optimize_checked(ir::Graph* graph, const CheckPasses& check);

struct CheckFile {
  std::vector<std::string> dims;
  bool lower_qdq = false;  // how an ONNX file is read: as `graph` was
};
// One small shape, the interpreter on `graph` (as it was before the passes) against a session of
// the file. kSkipped where that would take seconds.
VerifyRow verify_file(const ir::Graph& graph, const std::string& path, const CheckFile& check);

}  // namespace wick::tool
