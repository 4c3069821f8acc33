// wick bench --zoo: a row for each model of a folder, and a page with all of them.
#pragma once

#include <string>
#include <vector>

#include "tools/wick/bench/bench.h"

namespace wick::tool {

// A model of the folder.
struct ZooModel {
  std::string name;  // its file's without .onnx, or its folder's
  std::string path;
  std::vector<std::string> inputs;  // values for --input; none: they are made up
};

// Returns the .onnx, .wick and .tflite files of a folder, and the model.onnx (or .wick, .tflite) of
// each folder in it, whose inputs are those of the first step of its cases.json, where it has one
// (as tools/scripts/real_models.sh fetches them). The models of the race come first, in its order,
// then the others by name. Throws Error for a folder that cannot be read or has no model.
std::vector<ZooModel> zoo_models(const std::string& folder);

// Measures each model in a process of its own, and once more beside each of `c.against`: a model
// that fails costs its own row alone. Prints the page, or JSON, and writes the page where c.page
// names a file. `passed` are words for each of these processes' command lines. Throws Error after
// that if a row or a peer's figures are missing.
void bench_zoo(const BenchCommand& c, const std::vector<std::string>& passed);

}  // namespace wick::tool
