#pragma once

#include <cstdint>

namespace wick {

// The ops of ops.def, by the ids that files contain; docs/ops.md describes each.
enum class OpId : uint16_t {
  kNone = 0,  // no op
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) k##Name = id,
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// Ids from here on are custom ops: in a file an index into its list (program.fbs), in a process an
// index into the registry (runtime/registry).
constexpr uint16_t kFirstCustomOp = 0x8000;
// Returns whether the id is one of a custom op.
constexpr bool is_custom(OpId op) { return static_cast<uint16_t>(op) >= kFirstCustomOp; }

// An op runs in programs (kInfer), in training only (kTrain), or owns regions (kControl).
enum class OpRole : uint8_t { kInfer, kTrain, kControl };

// The kind of an op, for code that treats all ops of a kind alike. Such code names the kind and
// never compares ranges of ids.
enum class OpKind : uint8_t {
  kUnary,     // elementwise, one input
  kCast,      // ... with another output dtype
  kTest,      // ... with bool output
  kBinary,    // elementwise, two inputs, broadcast
  kCompare,   // ... with bool output
  kLogic,     // ... on bools
  kSelect,    // Where
  kProduct,   // matrix products
  kConv,      // convolutions, transposed ones too
  kConvGrad,  // their gradients
  kPool,      // windows without weights
  kPoolGrad,
  kNorm,  // batch norm
  kSoftmax,
  kReduce,   // reductions along axes
  kArg,      // index of an extremum
  kView,     // the same bytes with another shape
  kMove,     // copy elements, compute nothing
  kShape,    // extents of a tensor
  kGather,   // read by indices
  kScatter,  // write by indices
  kSearch,   // the number of results depends on data
  kSort,
  kScan,  // cumulative ops
  kLinalg,
  kQuantize,
  kDequantize,
  kFakeQuantize,
  kByteProduct,  // products of quantized integers
  kByteConv,
  kByteMath,  // elementwise ops, pooling and norms on quantized bytes
  kDropout,
  kAttention,
  kResample,  // resampling at fractional coordinates
  kRegion,    // pooling of regions of interest
  kWindow,    // other variants of convolution
  kRecurrent,
  kSignal,
  kText,
  kTable,    // answers by the tables of a model: trees, dictionaries
  kControl,  // nodes that own regions
  kRange,
  kSequence,  // ops on sequences and optionals
  kChain,     // many small ops fused into one
  kCustom,    // a custom op
};

// Facts about an op, as bits.
enum OpFlags : uint8_t {
  kCommutes = 1,      // inputs 0 and 1 may be swapped
  kDataSized = 2,     // output sizes depend on data
  kMakesStrings = 4,  // its kernel needs KernelCtx::strings
  kChainStep = 8,     // may be a step of FusedElementwise
  kShapeArgs = 16,    // has an input of role `a`; derived from the signature
};

}  // namespace wick
