// A file that was made from the model: what it is, and how far its outputs are from the model's.
#pragma once

#include <map>
#include <string>

#include "exporter/onnx/onnx.h"
#include "tools/lib/verify/verify.h"

namespace wick::tool {

// The key under which an ONNX file states its class, as a program does; without it the class is
// exact.
constexpr const char* kNumericsKey = "wick.numerics";

struct MadeFile {
  std::string name;  // its name in the rows
  bool wick = false;
  ir::Graph graph;
  NumericsClass numerics = NumericsClass::kExact;  // as the file states it
  // Why it is not held to the model on NaN and infinities; null: it is.
  const char* finite_only = nullptr;
};
// `entry`: of a .wick that has several entry points.
MadeFile open_made(const std::string& path, bool lower_qdq, const std::string& entry);

// Writes the graph, as a program or as ONNX, and returns what is read back. Throws Error if there
// is no such form.
ir::Graph written_again(const ir::Graph& graph, bool wick, QuantizedForm form, bool lower_qdq);

// Returns why the file's outputs cannot be the model's: another number of them, or the same names
// in another order. "": they can.
std::string other_outputs(const ir::Graph& model, const ir::Graph& file);

// Compares the constants of the file that have the name and type of one of the models': a sample
// does not read every row of a table, or may meet zeros. A constant is the same if any of the
// models' has its bits, transposed too: another export may number them otherwise.
void compare_constants(const ir::Graph& file, const std::vector<const ir::Graph*>& models,
                       VerifyRow* row);

// The bound for a class that promises no bits, since the class is only what the file claims: over
// all samples, each float output must differ from the model's by less than 3/4 of that output's
// spread around its mean, and 5/8 of all other elements must be the same. A quantized model is far
// within it, another model is not.
class OutputSpread {
 public:
  void add(const std::string& output, const HostTensor& want, const HostTensor& got);
  // kEqual, kClose with the figures, or kDiffers.
  void judge(VerifyRow* row) const;

 private:
  struct Of {
    bool floats = true, comparable = true;
    double n = 0, sum = 0, squares = 0, apart = 0, differ = 0;
    double measure() const;  // 0: equal; over 1: too far
  };
  std::map<std::string, Of> outputs_;
};

}  // namespace wick::tool
