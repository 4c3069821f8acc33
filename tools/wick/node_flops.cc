#include "tools/wick/node_flops.h"

namespace wick::tool {
namespace {

double elements(const Shape& s) {
  double n = 1;  // a hostile shape overflows integers
  for (int64_t d : s) n *= static_cast<double>(d);
  return n;
}
double last(const Shape& s) { return s.rank() == 0 ? 1 : static_cast<double>(s[s.rank() - 1]); }
double first(const Shape& s) { return s.rank() == 0 || s[0] == 0 ? 1 : static_cast<double>(s[0]); }

}  // namespace

double node_flops(OpId op, Span<const Shape> in, Span<const Shape> out) {
  if (in.size() < 2 || out.empty()) return 0;
  switch (op) {
    case OpId::kConv:
    case OpId::kFusedConv:
    case OpId::kConvInteger:  // weight[O, C/group, kernel...]: all but O for each output
      return 2 * elements(out[0]) * elements(in[1]) / first(in[1]);
    case OpId::kConvTranspose:  // weight[C, O/group, kernel...]: all but C for each input
      return 2 * elements(in[0]) * elements(in[1]) / first(in[1]);
    case OpId::kDeformConv: return 2 * elements(out[0]) * elements(in[1]) / first(in[1]);
    case OpId::kMatMul:
    case OpId::kMatMulInteger: return 2 * elements(out[0]) * last(in[0]);
    case OpId::kLinear:
    case OpId::kFusedLinear: return 2 * elements(out[0]) * last(in[1]);
    case OpId::kRNN:
    case OpId::kGRU:
    case OpId::kLSTM:  // x[length, batch, in]; every weight of W and R once a step and row
      if (in.size() < 3 || in[0].rank() != 3) return 0;
      return 2 * static_cast<double>(in[0][0]) * static_cast<double>(in[0][1]) *
             (elements(in[1]) + elements(in[2]));
    default: return 0;
  }
}

}  // namespace wick::tool
