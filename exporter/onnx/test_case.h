// ONNX's own test layouts: a folder with model.onnx and test_data_set_N/{input,output}_K.pb, or
// (the suite's light models) NAME.onnx beside NAME_output_0.pb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

enum class CaseMode {
  kDyn,  // every input at run time, as the file has it
  // all but the first float input (or the first, where none is), and but sequences and optionals,
  // become initializers
  kConst,
};

struct OnnxCase {
  std::vector<uint8_t> model;
  std::string folder;
  std::vector<HostTensor> inputs, outputs;
  // test_data_set_0/bound_K.pb where it is there: float64, of output K's shape.
  std::map<size_t, HostTensor> bounds;
};

// `path`: the folder, or a light model's path without ".onnx".
bool is_onnx_case(const std::string& path);
// Sequences and optionals are packed values. Throws Error for what Wick cannot read.
OnnxCase load_onnx_case(const std::string& path, CaseMode mode);

// The suite's rule: same dtype and shape, integers and strings exact, |a - e| <= 1e-7 + 1e-3 |e|,
// NaN == NaN; sequences and optionals element by element. "" when it holds. With a bound, each
// float may be that far away instead. `absolute`: for a test whose expected values are rounded.
std::string case_differs(const HostTensor& actual, const HostTensor& expected,
                         const HostTensor* bound = nullptr, double absolute = 1e-7);

}  // namespace wick
