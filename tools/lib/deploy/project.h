// Writes a folder that builds a program with one model in it: C functions of the model's own types,
// its weights, the kernels it needs, and a smoke test that knows the answers.
#pragma once

#include <string>
#include <vector>

#include "tools/lib/deploy/target.h"
#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"

namespace wick::tool {

struct ProjectOptions {
  std::string name = {};        // the functions' prefix; made valid for C
  std::string model_file = {};  // the .wick file whose bytes are copied
  bool inside = true;  // the weights are in the program; else NAME_open takes the file's path
  std::vector<std::string> dims = {};  // "NAME=N": sizes planned at opening, and of the smoke test
  // "[NAME=]FILE": for the smoke test; the others are made up.
  std::vector<std::string> inputs = {};
  std::string entry = {};  // the entry point that the functions run; "": the first
};

struct Project {
  std::string name, folder;  // `name` is as C has it
  std::vector<std::string> ops;
  uint64_t model_bytes = 0;
  bool inside = true;          // the program has the weights in its file
  std::string answers_sha256;  // of this machine's answers to the smoke test, concatenated
};

// Writes NAME.h, NAME.c, NAME.wick, smoke.c, CMakeLists.txt and Makefile into `folder`. Throws
// Error if the model cannot be opened or run at these sizes, or the folder cannot be written.
Project write_project(const Model& model, const DeployTarget& target, const std::string& folder,
                      const ProjectOptions& options);

}  // namespace wick::tool
