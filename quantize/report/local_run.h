// A layer of a quantized graph on the float graph's numbers: its own quantization alone.
#pragma once

#include <map>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "quantize/report/pairs.h"

namespace wick::quantize {

class LocalRun {
 public:
  LocalRun(const ir::Graph& quantized, const Pairs& pairs, const ir::InterpreterOptions& options);

  // What the float graph has for each of its values in this batch; must live until the next call.
  void begin_batch(const std::vector<HostTensor>* floats);

  // The outputs of the last of these nodes of the float graph, each of which reads what the one
  // before made (a layer and the activation in it), not yet rounded themselves: constants are those
  // of the quantized graph, other inputs are the float graph's, unrounded.
  std::vector<HostTensor> run(const std::vector<ir::NodeId>& nodes);
  // As `quantize` and `dequantize` make it.
  HostTensor round(const Rounding& r, const HostTensor& x) const;

  // Made of nothing but constants.
  bool fixed(ir::ValueId v);
  // Of the quantized graph, with the float graph's numbers for whatever stands for one of its
  // values.
  HostTensor value(ir::ValueId v);

 private:
  HostTensor unrounded(ir::ValueId v);

  const ir::Graph& q_;
  const Pairs& pairs_;
  const ir::InterpreterOptions& options_;
  const std::vector<HostTensor>* floats_ = nullptr;
  std::vector<ir::ValueId> float_of_;  // by the quantized graph's ValueId
  std::vector<int> fixed_;             // 0: not known, 1: yes, 2: no
  std::map<ir::ValueId, HostTensor> always_, batch_;
};

}  // namespace wick::quantize
