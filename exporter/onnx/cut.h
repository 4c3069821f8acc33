// A few nodes of an ONNX file as a file of their own: the operators as they stand there, not as
// Wick would write them.
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

// The node that makes `value` and those before it, nearest first, `nodes` of them at most, written
// to `out`. What they read is an initializer where it was one, else an input of the dtype and shape
// of `values`. Throws Error: nobody makes `value`, or what is read has no value.
OnnxCut cut_onnx(const std::string& path, const std::string& out, const std::string& value,
                 size_t nodes, const std::map<std::string, HostTensor>& values);

// The first operator of the file whose numbers every runtime draws for itself ("RandomNormal"); "":
// none does.
std::string onnx_random_op(const std::string& path);

}  // namespace wick
