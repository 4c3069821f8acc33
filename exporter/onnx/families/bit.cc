#include <cmath>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

template <OpId op>
void read_two(ReadCtx& c) {
  c.set(0, c.emit(op, {c.in(0), c.in(1)}));
}
void read_mod(ReadCtx& c) {
  ModAttrs a{c.attr_int("fmod", 0) != 0};
  if (a.fmod == 0 && c.opset < 28 && is_float(c.dtype(c.in(0))))
    c.fail("needs fmod = 1 for floating-point types");
  c.set(0, c.emit(OpId::kMod, a, {c.in(0), c.in(1)}));
}
void read_bit_shift(ReadCtx& c) {
  std::string way = c.attr_string("direction", "");
  if (way != "LEFT" && way != "RIGHT") c.fail("direction must be LEFT or RIGHT, not '" + way + "'");
  c.set(0, c.emit(OpId::kBitShift, BitShiftAttrs{way == "RIGHT"}, {c.in(0), c.in(1)}));
}
void read_bitwise_not(ReadCtx& c) { c.set(0, c.emit(OpId::kBitwiseNot, {c.in(0)})); }
// Float8 tensors are tested as float32, which represents all their values.
ValueId as_number(ReadCtx& c, ValueId x) {
  return is_small_float(c.dtype(x)) ? cast(c, x, DType::kF32) : x;
}
void read_is_nan(ReadCtx& c) { c.set(0, c.emit(OpId::kIsNaN, {as_number(c, c.in(0))})); }
void read_is_inf(ReadCtx& c) {
  IsInfAttrs a{c.attr_int("detect_negative", 1) != 0, c.attr_int("detect_positive", 1) != 0};
  c.set(0, c.emit(OpId::kIsInf, a, {as_number(c, c.in(0))}));
}

DType dtype_of_input(WriteCtx& c) { return c.g.value(c.node.inputs[0]).dtype; }

}  // namespace

WICK_READ(Mod, read_mod);
WICK_READ(BitwiseAnd, read_two<OpId::kBitwiseAnd>);
WICK_READ(BitwiseOr, read_two<OpId::kBitwiseOr>);
WICK_READ(BitwiseXor, read_two<OpId::kBitwiseXor>);
WICK_READ(BitwiseNot, read_bitwise_not);
WICK_READ(BitShift, read_bit_shift);
WICK_READ(IsNaN, read_is_nan);
WICK_READ(IsInf, read_is_inf);

// ONNX has no floor-mod of floats: fmod, then one step where the signs differ.
WICK_ONNX_ROW(Mod, [](WriteCtx& c) {
  DType t = dtype_of_input(c);
  if (c.as<ModAttrs>().fmod != 0 || !is_float(t)) {
    set_int(c.same("Mod"), "fmod", c.as<ModAttrs>().fmod);
    return;
  }
  std::string rest = c.fresh(), zero = c.scalar(t, 0), below = c.fresh(), divisor = c.fresh();
  std::string differ = c.fresh(), whole = c.fresh(), inexact = c.fresh(), step = c.fresh();
  std::string moved = c.fresh();
  set_int(c.add("Mod", {c.in(0), c.in(1)}, {rest}), "fmod", 1);
  c.add("Less", {rest, zero}, {below});
  c.add("Less", {c.in(1), zero}, {divisor});
  c.add("Xor", {below, divisor}, {differ});
  c.add("Equal", {rest, zero}, {whole});
  c.add("Not", {whole}, {inexact});
  c.add("And", {differ, inexact}, {step});
  c.add("Add", {rest, c.in(1)}, {moved});
  c.add("Where", {step, moved, rest}, {c.out(0)});
});
WICK_ONNX_PLAIN(BitwiseAnd);
WICK_ONNX_PLAIN(BitwiseOr);
WICK_ONNX_PLAIN(BitwiseXor);
WICK_ONNX_PLAIN(BitwiseNot);
WICK_ONNX_ROW(BitShift, [](WriteCtx& c) {
  set_string(c.same("BitShift"), "direction", c.as<BitShiftAttrs>().right != 0 ? "RIGHT" : "LEFT");
});
WICK_ONNX_PLAIN(IsNaN);
WICK_ONNX_ROW(IsInf, [](WriteCtx& c) {
  NodeProto& n = c.same("IsInf");
  set_int(n, "detect_negative", c.as<IsInfAttrs>().detect_negative);
  set_int(n, "detect_positive", c.as<IsInfAttrs>().detect_positive);
});

// Computes log(1 + x) as log(u) x / (u - 1) with u = 1 + x, in which the rounding error of the sum
// cancels (Kahan). Where u is 1 the result is x, and where u is inf it is log(u).
WICK_ONNX_ROW(Log1p, [](WriteCtx& c) {
  DType t = dtype_of_input(c);
  std::string u = c.fresh(), log_u = c.fresh(), less = c.fresh(), ratio = c.fresh();
  std::string inside = c.fresh(), one = c.scalar(t, 1), small = c.fresh(), at_end = c.fresh();
  std::string finite = c.fresh();
  c.add("Add", {c.in(0), one}, {u});
  c.add("Log", {u}, {log_u});
  c.add("Sub", {u, one}, {less});
  c.add("Div", {c.in(0), less}, {ratio});
  c.add("Mul", {log_u, ratio}, {inside});
  c.add("Equal", {u, one}, {small});
  c.add("Where", {small, c.in(0), inside}, {finite});
  c.add("Equal", {u, c.scalar(t, INFINITY)}, {at_end});
  c.add("Where", {at_end, log_u, finite}, {c.out(0)});
});
// tanh(x / 2) (e^x + 1) = e^x - 1, without the cancellation near 0
WICK_ONNX_ROW(Expm1, [](WriteCtx& c) {
  DType t = dtype_of_input(c);
  std::string half = c.fresh(), slope = c.fresh(), e = c.fresh(), sum = c.fresh();
  c.add("Mul", {c.in(0), c.scalar(t, 0.5)}, {half});
  c.add("Tanh", {half}, {slope});
  c.add("Exp", {c.in(0)}, {e});
  c.add("Add", {e, c.scalar(t, 1)}, {sum});
  c.add("Mul", {slope, sum}, {c.out(0)});
});
namespace {
void write_log(WriteCtx& c, double scale) {
  std::string natural = c.fresh();
  c.add("Log", {c.in(0)}, {natural});
  c.add("Mul", {natural, c.scalar(dtype_of_input(c), scale)}, {c.out(0)});
}
}  // namespace
WICK_ONNX_ROW(Log2, [](WriteCtx& c) { write_log(c, M_LOG2E); });
WICK_ONNX_ROW(Log10, [](WriteCtx& c) { write_log(c, M_LOG10E); });
WICK_ONNX_ROW(Erfc, [](WriteCtx& c) {
  std::string erf = c.fresh();
  c.add("Erf", {c.in(0)}, {erf});
  c.add("Sub", {c.scalar(dtype_of_input(c), 1), erf}, {c.out(0)});
});
// atan(y / x), and pi on y's side where x < 0; 0 where both are 0.
WICK_ONNX_ROW(Atan2, [](WriteCtx& c) {
  DType t = dtype_of_input(c);
  std::string zero = c.scalar(t, 0), plain = c.fresh(), ratio = c.fresh(), angle = c.fresh();
  std::string none = c.fresh(), safe = c.fresh(), down = c.fresh(), turn = c.fresh();
  std::string left = c.fresh(), shift = c.fresh();
  c.add("Add", {c.in(1), zero}, {plain});  // -0 becomes 0: the ratio keeps y's sign
  c.add("Div", {c.in(0), plain}, {ratio});
  c.add("Equal", {c.in(0), zero}, {none});
  c.add("Where", {none, zero, ratio}, {safe});
  c.add("Atan", {safe}, {angle});
  c.add("Less", {c.in(0), zero}, {down});
  c.add("Where", {down, c.scalar(t, -M_PI), c.scalar(t, M_PI)}, {turn});
  c.add("Less", {c.in(1), zero}, {left});
  c.add("Where", {left, turn, zero}, {shift});
  c.add("Add", {angle, shift}, {c.out(0)});
});

}  // namespace wick::onnx
