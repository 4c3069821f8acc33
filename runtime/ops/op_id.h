#pragma once

#include <cstdint>

namespace wick {

enum class OpId : uint16_t {
  kNone = 0,
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) k##Name = id,
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// From here on an id names a user's own op: in a file an index of its list (program.fbs), in a
// process a place in the registry (runtime/registry).
constexpr uint16_t kFirstCustomOp = 0x8000;
constexpr bool is_custom(OpId op) { return static_cast<uint16_t>(op) >= kFirstCustomOp; }

enum class OpRole : uint8_t { kInfer, kTrain, kControl };

// What an op does, as far as somebody treats all of a kind alike. A decision about a kind is made
// by its name here, never by a range of ids.
enum class OpKind : uint8_t {
  kUnary,     // elementwise on one tensor
  kCast,      // ... that gives another dtype
  kTest,      // ... that gives bools
  kBinary,    // elementwise on two, broadcast
  kCompare,   // ... that gives bools
  kLogic,     // ... of bools
  kSelect,    // Where
  kProduct,   // of matrices
  kConv,      // convolutions, transposed ones too
  kConvGrad,  // their gradients
  kPool,      // windows without weights
  kPoolGrad,
  kNorm,  // batch norm
  kSoftmax,
  kReduce,   // along axes
  kArg,      // where the largest is
  kView,     // the same bytes under another shape
  kMove,     // copies elements, computes nothing
  kShape,    // the extents of a tensor
  kGather,   // copies by indices
  kScatter,  // writes by indices
  kSearch,   // how much comes out the data decide
  kSort,
  kScan,  // running sums
  kLinalg,
  kQuantize,
  kDequantize,
  kFakeQuantize,
  kByteProduct,  // products of integers that stand for reals
  kByteConv,
  kByteMath,  // what is elementwise, pooled or normalised in bytes
  kDropout,
  kAttention,
  kResample,  // at real coordinates
  kRegion,    // pools regions of interest
  kWindow,    // convolution's other kin
  kRecurrent,
  kSignal,
  kText,
  kControl,  // nodes that own regions
  kRange,
  kSequence,  // of sequences and optionals
  kChain,     // many small ops as one
  kCustom,    // a user's own
};

enum OpFlags : uint8_t {
  kCommutes = 1,      // inputs 0 and 1 may change places
  kDataSized = 2,     // the sizes of outputs depend on data
  kMakesStrings = 4,  // a kernel needs KernelCtx::strings
  kChainStep = 8,     // may be a step of FusedElementwise
  kShapeArgs = 16,    // has an input of letter `a`; derived
};

}  // namespace wick
