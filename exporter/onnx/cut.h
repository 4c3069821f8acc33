// Writes a few nodes of an ONNX file as a file of their own, with the operators as they are in the
// file and not as Wick would write them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick {

struct OnnxCut {
  size_t nodes = 0;
  std::vector<std::string> inputs;  // by name, in the order of the new file
};

// Writes the node that makes `value` and the nodes before it, nearest first and at most `nodes` of
// them, to `out`. What they read stays an initializer if it was one, else becomes an input of the
// dtype and shape of `values`. Throws Error when no node makes `value`, or when something that is
// read has no value.
OnnxCut cut_onnx(const std::string& path, const std::string& out, const std::string& value,
                 size_t nodes, const std::map<std::string, HostTensor>& values);

// Returns the first operator of the file that draws random numbers, which differ from runtime to
// runtime ("RandomNormal"); "" if there is none.
std::string onnx_random_op(const std::string& path);

}  // namespace wick
