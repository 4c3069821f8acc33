// Reads ONNX's own test layouts: a folder with model.onnx and test_data_set_N/{input,output}_K.pb,
// or (the suite's light models) NAME.onnx next to NAME_output_0.pb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

enum class CaseMode {
  kDyn,  // every input is given at run time, as in the file
  // Every input becomes an initializer, except the first float input (or the first, if there is
  // none), sequences and optionals.
  kConst,
};

struct OnnxCase {
  std::vector<uint8_t> model;
  std::string folder;
  std::vector<HostTensor> inputs, outputs;
  // These are test_data_set_0/bound_K.pb, where it exists: float64, of output K's shape.
  std::map<size_t, HostTensor> bounds;
};

// `path` is the folder, or a light model's path without ".onnx".
bool is_onnx_case(const std::string& path);
// Sequences and optionals are packed values. Throws Error for what Wick cannot read.
OnnxCase load_onnx_case(const std::string& path, CaseMode mode);

// Compares by the suite's rule: same dtype and shape, integers and strings exact, |a - e| <= 1e-7 +
// 1e-3 |e|, NaN == NaN; sequences and optionals element by element. Returns "" if it holds. With a
// bound, each float may be that far away instead. `absolute` is for a test whose expected values
// are rounded.
std::string case_differs(const HostTensor& actual, const HostTensor& expected,
                         const HostTensor* bound = nullptr, double absolute = 1e-7);

}  // namespace wick
