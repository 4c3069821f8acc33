// The checks that export, convert and quantize run by themselves: passes on a sample, and the
// written file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/lib/verify/verify.h"

namespace wick::tool {

struct CheckPasses {
  bool chains = true;                    // ir::OptimizeOptions::chains
  Products products = Products::kExact;  // the same
  bool look = true;                      // false: runs the passes without checks
  bool always = false;  // checks whatever it costs; a sample that does not run is an Error
  std::vector<std::string> dims;  // "NAME=N"
  uint64_t fold_bytes = 0;        // ir::OptimizeOptions::fold_bytes
};
// Optimises, with each pass checked on one small sample if that is cheap: PassReport::undone names
// the passes that broke their promise, PassReport::unchecked says why nothing was checked.
ir::PassReport optimize_checked(ir::Graph* graph, const CheckPasses& check);

struct CheckFile {
  std::vector<std::string> dims;
  bool lower_qdq = false;               // how an ONNX file is read: as `graph` was
  std::vector<HostTensor> inputs = {};  // tried first: data that the graph is for; empty: none
};
// Compares, at one small shape, the interpreter on `graph` (as it was before the passes) with a
// session of the file. Where the graph runs at no small shape it goes on with larger ones, and the
// row says so in `why`. Returns kSkipped if that would take seconds, or much memory.
VerifyRow verify_file(const ir::Graph& graph, const std::string& path, const CheckFile& check);

}  // namespace wick::tool
