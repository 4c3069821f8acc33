#pragma once

#include <cstdint>

namespace wick {

enum class OpId : uint16_t {
  kNone = 0,
#define WICK_OP(Name, id, Attrs, min_in, max_in, outs, rule, Role) k##Name = id,
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// From here on an id names a user's own op: in a file an index of its list (program.fbs), in a
// process a place in the registry (runtime/registry).
constexpr uint16_t kFirstCustomOp = 0x8000;
constexpr bool is_custom(OpId op) { return static_cast<uint16_t>(op) >= kFirstCustomOp; }

enum class OpRole : uint8_t { kInfer, kTrain, kControl };

}  // namespace wick
