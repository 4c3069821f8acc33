// The steps of a FusedElementwise: their kinds and their encoding.
#pragma once

#include "runtime/core/status.h"
#include "runtime/ops/op_info.h"

namespace wick {

enum class ChainKind : uint8_t {
  kNone,     // the op cannot be a step
  kUnary,    // one operand, and the op's attributes as constant parameters
  kBinary,   // two operands
  kCompare,  // two operands, to bool
  kNot,      // one bool
  kLogic,    // two bools
  kWhere,    // a bool and two operands
  kCast,     // a bool, to 0 or 1
  kReduce,   // a reduction of a row
};
struct ChainOp {
  ChainKind kind = ChainKind::kNone;
  int operands = 0;
  int parameters = 0;  // how many of the last operands are parameters, which must be constants
};
ChainOp chain_op(OpId op);

// Operands are numbered: inputs, constants from here on, then results of steps.
constexpr int kChainFirstConstant = 64, kChainFirstStep = 128;

struct ChainStep {
  OpId op = OpId::kNone;
  uint8_t operand[3] = {};
  uint8_t flag = 0;  // Gelu: the tanh form
  ChainOp what;
};

constexpr int64_t chain_word(OpId op, int a, int b = 0, int c = 0, int flag = 0) {
  return static_cast<int64_t>(op) | static_cast<int64_t>(a) << 16 | static_cast<int64_t>(b) << 24 |
         static_cast<int64_t>(c) << 32 | static_cast<int64_t>(flag) << 40;
}
inline ChainStep chain_step(int64_t word) {
  ChainStep s;
  s.op = static_cast<OpId>(word & 0xFFFF);
  for (int i = 0; i < 3; ++i) s.operand[i] = static_cast<uint8_t>(word >> (16 + 8 * i));
  s.flag = static_cast<uint8_t>(word >> 40);
  s.what = chain_op(s.op);
  return s;
}
inline double chain_constant(const ChainAttrs& a, int operand) {
  double v;
  __builtin_memcpy(&v, &a.constants.values[operand - kChainFirstConstant], sizeof(v));
  return v;
}

// Checks a chain: every step is an op that may be one, its operands were computed before it,
// parameters are constants, and each input and each step but the last is used. Readers of the
// operands rely on this.
Status check_chain(const ChainAttrs& attrs, size_t inputs);

// Returns the attributes that the step's op would have as a node, for operands of that rank; `real`
// is the chain's float dtype.
AnyAttrs chain_step_attrs(const ChainAttrs& attrs, const ChainStep& step, int rank, DType real);

// Assigns each step's result to one of a few buffers; the last step's is the output (-1). A buffer
// is reused after the result's last reader.
struct ChainSlots {
  int count = 0;
  int8_t of[kChainSteps] = {};
};
ChainSlots chain_slots(const ChainAttrs& attrs);

}  // namespace wick
