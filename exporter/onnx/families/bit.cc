#include <cmath>
#include <string>
#include <vector>

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
namespace {

// e^(x x) erfc(x) (1 + x / 2) as a polynomial in w = 1 / (1 + x / 2) - center, for x from 0.5 to 10
// (float32) and to 27 (float64), from where on erfc is 0. Interpolated at Chebyshev's points; the
// relative error is below 1e-8 and 1e-16.
struct Tail {
  double center;
  std::vector<double> terms;
};
const Tail& tail_of(DType t) {
  static const Tail single = {
      0.48333333333333334,
      {0.4994932501159197, 0.668653831479187, 0.5513731961875701, 0.15694441810323456,
       -0.16299143457909057, -0.11323156592860044, 0.09051190775901048, 0.06505386415934918,
       -0.06500532273623603, -0.025484492979583478}};
  static const Tail twice = {
      0.4344827586206897,
      {0.4681257198927157,    0.6159802161112332,   0.526178322124849,   0.18590114012584869,
       -0.1323918345004394,   -0.13642157782704442, 0.0646322936028271,  0.09405512347624466,
       -0.06428202457863981,  -0.06190309962859895, 0.08135756654162224, 0.021180886665549174,
       -0.0945656034871237,   0.03826937159365059,  0.07790734637416845, -0.10684292815880242,
       -0.003170022673881842, 0.1438159452221436,   -0.1265146195801225, -0.10289529898456981,
       0.22651310385277204,   0.01917623118804135,  -0.1654422854840258}};
  return t == DType::kF64 ? twice : single;
}

}  // namespace
// 1 - erf(x) up to 0.5. After that the difference would cancel (it is 0 from 4 on), so the result
// is e^(-x x) times a polynomial: e^(-x x) = e^(-h h) e^(-(x - h)(x + h)), where h is x with few
// bits, so that h h is exact. Within 6 units in the last place where Exp and Erf are within one.
// Small types are computed as float32.
WICK_ONNX_ROW(Erfc, [](WriteCtx& c) {
  const DType given = dtype_of_input(c);
  const DType t = given == DType::kF64 ? given : DType::kF32;
  const auto op = [&](const char* name, const std::vector<std::string>& in) {
    std::string out = c.fresh();
    c.add(name, in, {out});
    return out;
  };
  const auto number = [&](double v) { return c.scalar(t, v); };
  const std::string x = given == t ? c.in(0) : c.cast(c.in(0), t), one = number(1);
  const std::string plain = op("Sub", {one, op("Erf", {x})});
  const std::string far = number(30);  // e^(-900) is 0, and inf would be inf - inf
  const std::string z = op("Where", {op("Less", {x, far}), x, far});
  const std::string h = op("Mul", {op("Floor", {op("Mul", {z, number(64)})}), number(1.0 / 64)});
  const std::string rest = op("Mul", {op("Sub", {z, h}), op("Add", {z, h})});
  const std::string part = op("Div", {one, op("Add", {one, op("Mul", {z, number(0.5)})})});
  const Tail& tail = tail_of(t);
  const std::string w = op("Sub", {part, number(tail.center)});
  std::string sum = number(tail.terms.back());
  for (size_t i = tail.terms.size() - 1; i-- > 0;)
    sum = op("Add", {op("Mul", {sum, w}), number(tail.terms[i])});
  const std::string small = op("Mul", {op("Exp", {op("Neg", {rest})}), op("Mul", {sum, part})});
  const std::string product = op("Mul", {op("Exp", {op("Neg", {op("Mul", {h, h})})}), small});
  // A NaN is not greater, and takes the plain form, which passes it on.
  const std::string is_far = op("Greater", {x, number(0.5)});
  if (given == t) {
    c.add("Where", {is_far, product, plain}, {c.out(0)});
  } else {
    set_int(c.add("Cast", {op("Where", {is_far, product, plain})}, {c.out(0)}), "to",
            static_cast<int64_t>(given));
  }
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
