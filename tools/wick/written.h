// What export, convert and quantize say of the file that they wrote, and of the passes before it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/lib/verify/checked.h"
#include "tools/wick/command_line.h"

namespace wick::tool {

struct CheckOptions {
  bool no_verify = false, check_passes = false, strict = false;
};
// --no-verify; with `passes` also --check-passes and --strict.
void accept_checks(Command command, CheckOptions* options, bool passes);

// Collects what was found, on stderr too; `worst` is for the exit code.
class Written {
 public:
  // `source`: what the files are made of, as wick verify takes it.
  Written(const CheckOptions& options, const std::string& source)
      : options_(options), source_(source) {}
  // As ir::optimize().
  ir::PassReport optimize(ir::Graph* graph, bool chains, const std::vector<std::string>& dims = {});
  // {"verdict": "equal", ...}, or null where nobody looked.
  // `called`: what the user has, where the file is one in between.
  nlohmann::json verify(const ir::Graph& graph, const std::string& path, const CheckFile& check,
                        const std::string& called = {});
  nlohmann::json undone() const;
  // Throws Differs where a file differs, or, with --strict, a pass was undone.
  void finish() const;

 private:
  CheckOptions options_;
  std::string source_;
  std::vector<ir::PassFault> undone_;
  bool differs_ = false;
};

}  // namespace wick::tool
