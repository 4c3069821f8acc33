// The dims along which a call can be cut into calls that each compute a part of its output, with
// the same numbers as the whole.
#pragma once

#include "runtime/backend/vulkan/graph/expand.h"

namespace wick::vulkan {

constexpr int kMostOperands = 8;

// A tensor of a call; the inputs come first, then the output.
struct CutOperand {
  bool seen = false;  // read or written by the device
  Shape shape;
  uint32_t element_bits = 0;
};

// A cut has `extent` steps; a step takes unit[k] rows of operand k's dim[k] (-1: it needs the whole
// operand). Cuts go from the outermost dim inwards: after a cut into single steps, all dims before
// the next cut's have extent 1, so that each part of a tensor is one run of bytes.
struct Cut {
  int64_t extent = 1;
  int dim[kMostOperands];
  int64_t unit[kMostOperands];
};

struct Cuts {
  int operands = 0;
  CutOperand operand[kMostOperands];
  int count = 0;
  Cut cut[kMaxRank];
  bool by_groups = false;  // the last cut divides a convolution's groups
};

// Fails with kUnsupported and the reason if the call cannot be cut.
Status cuts_of(const OpCall& call, Cuts& cuts);

}  // namespace wick::vulkan
