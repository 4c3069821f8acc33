// Along which dims a call may be cut into calls that each give a part of its output, and no other
// numbers than the whole does.
#pragma once

#include "runtime/backend/vulkan/graph/expand.h"

namespace wick::vulkan {

constexpr int kMostOperands = 8;

// A tensor of a call, the inputs first, then its output.
struct CutOperand {
  bool seen = false;  // by the device
  Shape shape;
  uint32_t element_bits = 0;
};

// `extent` steps; a step takes unit[k] rows of operand k's dim[k] (-1: it needs the whole operand).
// Cuts come from the outermost dim inwards: behind a cut into single steps everything before the
// next one's dims has the extent 1, so that each part of a tensor is one run of its bytes.
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
  bool by_groups = false;  // the last one is over a convolution's groups
};

// kUnsupported, with the reason, for what cannot be cut.
Status cuts_of(const OpCall& call, Cuts& cuts);

}  // namespace wick::vulkan
