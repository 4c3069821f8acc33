// One node of a quantized graph on the float graph's numbers: its own quantization alone.
#pragma once

#include <map>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "quantize/report/pairs.h"

namespace wick::quantize {

class LocalRun {
 public:
  LocalRun(const ir::Graph& graph, const ir::Graph& quantized, const Pairs& pairs,
           const ir::InterpreterOptions& options);

  // What the float graph has for each of its values in this batch; must live until the next call.
  void begin_batch(const std::vector<HostTensor>* floats);

  enum class Rounded { kAll, kWeights, kInput };
  // The node's outputs, not yet rounded themselves. Absent where it cannot be told what remains of
  // the float node (an op that became another one) when a part alone is rounded.
  std::vector<HostTensor> run(ir::NodeId node, Rounded what);
  // As `quantize` and `dequantize` make it.
  HostTensor round(const Rounding& r, const HostTensor& x) const;

  // The node's input of that number holds nothing but constants.
  bool fixed(ir::ValueId v);
  // Of the quantized graph, with the float graph's numbers for whatever stands for one of its
  // values.
  HostTensor value(ir::ValueId v);

 private:
  HostTensor unrounded(ir::ValueId v);
  HostTensor float_constant(ir::NodeId node, size_t input, ir::ValueId v);

  const ir::Graph &g_, &q_;
  const Pairs& pairs_;
  const ir::InterpreterOptions& options_;
  const std::vector<HostTensor>* floats_ = nullptr;
  std::vector<ir::ValueId> float_of_;  // by the quantized graph's ValueId
  std::vector<int> fixed_;             // 0: not known, 1: yes, 2: no
  std::map<ir::ValueId, HostTensor> always_, batch_;
};

}  // namespace wick::quantize
