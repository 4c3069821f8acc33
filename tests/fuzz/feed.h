// Makes inputs for any port: as it declares them, or not quite; values of all kinds.
#pragma once

#include "tests/fuzz/op_case.h"
#include "tests/fuzz/run_program.h"

namespace wick::fuzz {

// Extents of symbols change from run to run; `dice` draws everything else.
class Feeder {
 public:
  explicit Feeder(Dice& dice) : dice_(dice) {}
  TensorView operator()(const PortInfo& port, int run, Fed& fed);

 private:
  int64_t extent(const DimDef& dim, int run);
  TensorView packed(const PortInfo& port, Fed& fed);

  Dice& dice_;
  std::vector<std::pair<int64_t, int64_t>> extents_;  // by (run, symbol)
};

}  // namespace wick::fuzz
