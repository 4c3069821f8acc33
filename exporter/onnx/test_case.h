// ONNX's own test layout: a folder with model.onnx and test_data_set_N/{input,output}_K.pb.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

enum class CaseMode {
  kDyn,    // every input at run time, as the file has it
  kConst,  // all but the first float input (or the first, where none is) become initializers
};

struct OnnxCase {
  std::vector<uint8_t> model;
  std::string folder;
  std::vector<HostTensor> inputs, outputs;
};

// Throws Error for what Wick cannot read (sequences, optionals, strings ...).
OnnxCase load_onnx_case(const std::string& folder, CaseMode mode);

// The suite's rule: same dtype and shape, integers and strings exact, |a - e| <= 1e-7 + 1e-3 |e|,
// NaN == NaN.
// "" when it holds.
std::string case_differs(const HostTensor& actual, const HostTensor& expected);

}  // namespace wick
