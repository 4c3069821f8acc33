#pragma once

#include <cstdint>

namespace wick {

enum class OpId : uint16_t {
  kNone = 0,
#define WICK_OP(Name, id, Attrs, min_in, max_in, outs, rule, Role) k##Name = id,
#include "runtime/ops/ops.def"
#undef WICK_OP
};

enum class OpRole : uint8_t { kInfer, kTrain };

}  // namespace wick
