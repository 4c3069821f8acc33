// Runs the built `wick` as a user's shell would, and a folder of its own for each test program.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick::test {

struct Ran {
  int code = -1;   // the exit code; -1 when a signal ended it
  int signal = 0;  // that signal
  std::string out, err;
};

// A process under way; its output goes to two files in the scratch folder.
class Started {
 public:
  explicit Started(const std::vector<std::string>& arguments, const std::string& cwd = "");
  ~Started();  // kills it if it still runs
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  pid_t pid() const { return pid_; }
  bool running();
  Ran wait();

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  std::string out_, err_;
};

Ran wick(const std::vector<std::string>& arguments, const std::string& cwd = "");
Ran shell(const std::string& command);  // `wick` is found; stdin is empty
// A path as one word of such a command: folders for scratch files may have a space in their names.
std::string shell_word(const std::string& path);

// Empty for output that is not one JSON document and nothing else (and a failed expectation).
nlohmann::json parse_json(const std::string& text);

// Made at first use, removed when the program ends.
const std::string& scratch();
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
std::vector<std::string> names_in(const std::string& folder);

// The start of most tests, made once: scratch()/images, and a run of one epoch on them in
// scratch()/run with its exports scratch()/mlp.onnx and scratch()/mlp.wick.
struct TrainedRun {
  std::string images, run, onnx, wick;
  nlohmann::json report;  // printed by wick train --json
};
const TrainedRun& trained_run();

// x f32[batch,3] -> MatMul -> `middle` -> MatMul -> y f32[batch,2]; `change` is added to the first
// weight of the second MatMul.
ir::Graph small_graph(float change = 0, OpId middle = OpId::kRelu);
// MatMul, Cast, Sinh of float64, Cast, MatMul: Vulkan has no shader for the middle one, so both it
// and the CPU run some of its five steps.
ir::Graph split_graph();
// An array of an input or output, as .npy bytes.
void write_npy_u8(const std::string& path, const std::vector<int>& shape);
void write_npy_f32(const std::string& path, const std::vector<int>& shape);

}  // namespace wick::test
