// Runs a layer of a quantized graph on the float graph's numbers: the effect of its own
// quantization alone.
#pragma once

#include <map>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "quantize/report/pairs.h"

namespace wick::quantize {

class LocalRun {
 public:
  LocalRun(const ir::Graph& quantized, const Pairs& pairs, const ir::InterpreterOptions& options);

  // Sets the float graph's values in this batch; they must live until the next call.
  void begin_batch(const std::vector<HostTensor>* floats);

  // Returns the outputs of the last of these nodes of the float graph, each of which reads what the
  // one before made (a layer and its activation). They are not rounded themselves yet: constants
  // are those of the quantized graph, other inputs are the float graph's, unrounded.
  std::vector<HostTensor> run(const std::vector<ir::NodeId>& nodes);
  // Rounds x as `quantize` and `dequantize` do.
  HostTensor round(const Rounding& r, const HostTensor& x) const;

  // Returns whether v is computed from constants alone.
  bool fixed(ir::ValueId v);
  // Returns a value of the quantized graph, computed from the float graph's numbers wherever a
  // value has a counterpart there.
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
