// Reports what export, convert and quantize found in the file that they wrote, and in the passes
// before it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "exporter/program/program_writer.h"
#include "tools/lib/verify/checked.h"
#include "tools/wick/command_line.h"

namespace wick::tool {

struct CheckOptions {
  bool no_verify = false, check_passes = false, strict = false;
};
// Accepts --no-verify; with `passes` also --check-passes and --strict.
void accept_checks(Command command, CheckOptions* options, bool passes);

// Accepts --strip-names and --in-place. Files are compact unless --in-place says otherwise: set
// form->compact before.
void accept_form(Command command, ProgramForm* form);
// Throws wrong usage where they are given and only ONNX files are written.
void check_form(const ProgramForm& form, const std::vector<std::string>& out);

// Collects what was found and reports it on stderr, too; finish() decides the exit code.
class Written {
 public:
  // `source` is what the files are made from, as wick verify takes it.
  Written(const CheckOptions& options, const std::string& source)
      : options_(options), source_(source) {}
  // Optimises as ir::optimize() does.
  ir::PassReport optimize(ir::Graph* graph, bool chains, const std::vector<std::string>& dims = {},
                          Products products = Products::kExact, uint64_t fold_bytes = 0);
  // Returns {"verdict": "equal", ...}, or null if nothing was checked. `called`: the user's name
  // for it, if the file is an intermediate one.
  nlohmann::json verify(const ir::Graph& graph, const std::string& path, const CheckFile& check,
                        const std::string& called = {});
  nlohmann::json undone() const;
  // Throws Differs if a file differs or, with --strict, a pass was undone.
  void finish() const;

 private:
  CheckOptions options_;
  std::string source_;
  std::vector<ir::PassFault> undone_;
  bool differs_ = false;
};

}  // namespace wick::tool
