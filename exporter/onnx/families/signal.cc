// Fourier transforms; windows, frames and mel scales composed of index arithmetic in f64; reversed
// sequences.
#include <cmath>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

ValueId op2(ReadCtx& c, OpId op, ValueId a, ValueId b) { return c.emit(op, {a, b}); }
ValueId f64(ReadCtx& c, double value) {
  return c.constant(HostTensor(DType::kF64, Shape{}, &value, sizeof(value)));
}
// Returns a size, given as a scalar or as one element, as an int64 of shape [1].
ValueId one_size(ReadCtx& c, ValueId v) { return reshape(c, cast(c, v, DType::kI64), {1}); }
ValueId plus(ReadCtx& c, ValueId v, int64_t n) {
  return op2(c, OpId::kAdd, v, c.int_constant({n}));
}
ValueId gather(ReadCtx& c, ValueId x, ValueId at, int64_t axis) {
  return c.emit(OpId::kGather, AxisAttrs{axis}, {x, at});
}

DType output_dtype(ReadCtx& c) {
  int64_t t = c.attr_int("output_datatype", 1);
  auto dtype = static_cast<DType>(t);
  if (t < 1 || t >= kDTypeCount || !(is_float(dtype) || is_int(dtype)))
    c.fail("output_datatype " + std::to_string(t) + " is no numeric type");
  return dtype;
}

// Builds a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), where N is size, or size - 1 if symmetric.
void window(ReadCtx& c, double a0, double a1, double a2) {
  DType dtype = output_dtype(c);
  ValueId size = one_size(c, c.in(0));
  bool periodic = c.attr_int("periodic", 1) != 0;
  ValueId at = cast(c, arange(c, size), DType::kF64);
  ValueId whole = cast(c, periodic ? size : plus(c, size, -1), DType::kF64);
  ValueId turn = op2(c, OpId::kMul, op2(c, OpId::kDiv, at, whole), f64(c, 2 * M_PI));
  ValueId y =
      op2(c, OpId::kSub, f64(c, a0), op2(c, OpId::kMul, c.emit(OpId::kCos, {turn}), f64(c, a1)));
  if (a2 != 0) {
    ValueId twice = c.emit(OpId::kCos, {op2(c, OpId::kMul, turn, f64(c, 2))});
    y = op2(c, OpId::kAdd, y, op2(c, OpId::kMul, twice, f64(c, a2)));
  }
  if (!is_float(dtype)) y = cast(c, y, DType::kF32);  // so that the peak is 1, not just below
  c.set(0, cast(c, y, dtype));
}
void hann(ReadCtx& c) { window(c, 0.5, 0.5, 0); }
void hamming(ReadCtx& c) { window(c, 25.0 / 46, 21.0 / 46, 0); }
void blackman(ReadCtx& c) { window(c, 0.42, 0.5, 0.08); }

// Builds triangles over the spectrum's bins, whose edges are evenly spaced on the mel scale and
// rounded down to whole bins; each peaks at 1.
void mel_weight_matrix(ReadCtx& c) {
  DType dtype = output_dtype(c);
  ValueId bands = one_size(c, c.in(0)), length = one_size(c, c.in(1));
  auto scalar = [&](int i) { return reshape(c, cast(c, c.in(i), DType::kF64), {}); };
  auto mel = [&](ValueId hertz) {
    ValueId ratio = op2(c, OpId::kAdd, op2(c, OpId::kDiv, hertz, f64(c, 700)), f64(c, 1));
    return op2(c, OpId::kMul, c.emit(OpId::kLog, {ratio}), f64(c, 2595 / M_LN10));
  };
  ValueId low = mel(scalar(3)), high = mel(scalar(4));
  ValueId points = plus(c, bands, 2);
  ValueId step = op2(c, OpId::kDiv, op2(c, OpId::kSub, high, low), cast(c, points, DType::kF64));
  ValueId mels = op2(c, OpId::kMul, cast(c, arange(c, points), DType::kF64), step);
  mels = op2(c, OpId::kAdd, mels, low);
  ValueId power = op2(c, OpId::kPow, f64(c, 10), op2(c, OpId::kDiv, mels, f64(c, 2595)));
  ValueId hertz = op2(c, OpId::kMul, op2(c, OpId::kSub, power, f64(c, 1)), f64(c, 700));
  ValueId scaled = op2(c, OpId::kMul, hertz, cast(c, plus(c, length, 1), DType::kF64));
  ValueId edges = c.emit(OpId::kFloor, {op2(c, OpId::kDiv, scaled, scalar(2))});

  ValueId band = arange(c, bands);
  ValueId left = gather(c, edges, band, 0), middle = gather(c, edges, plus(c, band, 1), 0);
  ValueId right = gather(c, edges, plus(c, band, 2), 0);
  ValueId rows = plus(c, op2(c, OpId::kDiv, length, c.int_constant({2})), 1);
  ValueId bin = reshape(c, cast(c, arange(c, rows), DType::kF64), {-1, 1});
  auto between = [&](ValueId from, OpId upper, ValueId to) {
    return op2(c, OpId::kAnd, op2(c, OpId::kGreaterOrEqual, bin, from), op2(c, upper, bin, to));
  };
  auto share = [&](ValueId a, ValueId b, ValueId from, ValueId to) {
    return op2(c, OpId::kDiv, op2(c, OpId::kSub, a, b), op2(c, OpId::kSub, from, to));
  };
  ValueId flat = op2(c, OpId::kEqual, left, middle);
  ValueId rise = c.emit(OpId::kWhere, {flat, f64(c, 1), share(bin, left, middle, left)});
  ValueId fall = share(right, bin, right, middle);
  ValueId y = c.emit(OpId::kWhere, {between(left, OpId::kLessOrEqual, middle), rise, f64(c, 0)});
  y = c.emit(OpId::kWhere, {between(middle, OpId::kLess, right), fall, y});
  c.set(0, cast(c, y, dtype));
}

// Before opset 20 the axis is an attribute.
void dft(ReadCtx& c) {
  DftAttrs a;
  a.inverse = c.attr_int("inverse", 0) != 0;
  a.onesided = c.attr_int("onesided", 0) != 0;
  a.dft_length = c.has(1) ? 1 : 0;
  ValueId x = c.in(0), length = c.int_or_input(1, &a.dft_length), axis = kNoValue;
  if (c.has(1) && a.dft_length < 1) c.fail("dft_length must be 1 or more");
  if (length != kNoValue) a.dft_length = 0;
  a.axis = c.opset < 20 ? c.attr_int("axis", 1) : -2;
  if (c.opset >= 20) axis = c.int_or_input(2, &a.axis);
  if (axis == kNoValue && a.axis < 0 && c.g.value(x).ranked) a.axis += c.rank(x);
  c.set(0, c.emit(OpId::kDFT, a, {x, length, axis}));
}

// Gathers frames from the signal, multiplies them by the window and transforms them. Frames that
// would run past the end do not count. A step beyond every signal leaves one frame, also where
// adding it would overflow.
void stft(ReadCtx& c) {
  ValueId x = c.in(0), step = one_size(c, c.in(1)), taper = c.optional(2);
  const auto known_step = c.known(step);
  if (known_step && known_step->as<int64_t>()[0] < 1) c.fail("frame_step must be 1 or more");
  step = op2(c, OpId::kMin, step, c.int_constant({int64_t{1} << 40}));
  if (c.g.value(x).ranked && c.rank(x) == 2) x = unsqueeze(c, x, {2});
  ValueId size = gather(c, shape_of(c, x), c.int_constant({1}), 0);
  ValueId length = c.has(3) ? one_size(c, c.in(3)) : taper != kNoValue ? shape_of(c, taper) : size;
  ValueId room = op2(c, OpId::kAdd, op2(c, OpId::kSub, size, length), step);
  ValueId frames = op2(c, OpId::kDiv, op2(c, OpId::kMax, room, c.int_constant({0})), step);
  if (!known_step) {  // a size of -1 is an error
    const ValueId one = c.int_constant({1});
    frames = c.emit(OpId::kWhere, {op2(c, OpId::kLess, step, one), c.int_constant({-1}), frames});
  }
  ValueId starts = op2(c, OpId::kMul, arange(c, frames), step);
  ValueId at = op2(c, OpId::kAdd, reshape(c, starts, {-1, 1}), arange(c, length));
  ValueId framed = gather(c, x, at, 1);  // [batch, frames, length, 1 or 2]
  if (taper != kNoValue)
    framed = op2(c, OpId::kMul, framed, reshape(c, cast(c, taper, c.dtype(x)), {-1, 1}));
  bool half = c.attr_int("onesided", 1) != 0;
  const Value& signal = c.g.value(x);
  bool complex = signal.ranked && signal.shape.rank() == 3 && signal.shape[2].known() &&
                 signal.shape[2].constant() == 2;
  ValueId y = c.emit(OpId::kDFT, DftAttrs{2, 0, 0, half && !complex}, {framed});
  if (half && complex) {  // keeps the first half: the spectrum of a complex signal is not mirrored
    ValueId bins = plus(c, op2(c, OpId::kDiv, length, c.int_constant({2})), 1);
    y = c.emit(OpId::kSlice, SliceAttrs{}, {y, c.int_constant({0}), bins, c.int_constant({2})});
  }
  c.set(0, y);
}

// Gathers rows by pairs of indices: y[t, b] = x[length[b] - 1 - t, b] for t < length[b].
void reverse_sequence(ReadCtx& c) {
  ValueId x = c.in(0), lengths = cast(c, c.in(1), DType::kI64);
  int64_t time = c.attr_int("time_axis", 0), batch = c.attr_int("batch_axis", 1);
  if (time + batch != 1 || time * batch != 0) c.fail("time_axis and batch_axis must be 0 and 1");
  check_rank(c, lengths, 1, "sequence_lens");
  check_size(c, lengths, 0, x, static_cast<int>(batch), "sequence_lens");
  ValueId sizes = shape_of(c, x);
  auto along = [&](int64_t axis) {  // 0, 1, ... along the axis; the other one broadcasts
    ValueId at = arange(c, gather(c, sizes, c.int_constant({axis}), 0));
    return axis == 0 ? reshape(c, at, {-1, 1}) : reshape(c, at, {1, -1});
  };
  ValueId t = along(time), b = along(batch);
  ValueId length = batch == 0 ? reshape(c, lengths, {-1, 1}) : reshape(c, lengths, {1, -1});
  ValueId last = op2(c, OpId::kSub, length, int_scalar(c, 1));
  ValueId from = c.emit(OpId::kWhere, {op2(c, OpId::kLess, t, length), op2(c, OpId::kSub, last, t),
                                       t});  // [time, batch] or transposed
  ValueId zero = op2(c, OpId::kMul, from, int_scalar(c, 0));
  ValueId other = op2(c, OpId::kAdd, zero, b);
  ValueId first = unsqueeze(c, time == 0 ? from : other, {2});
  ValueId second = unsqueeze(c, time == 0 ? other : from, {2});
  ValueId pairs = c.emit(OpId::kConcat, AxisAttrs{2}, {first, second});
  c.set(0, c.emit(OpId::kGatherND, GatherNDAttrs{}, {x, pairs}));
}

}  // namespace

WICK_READ(HannWindow, hann);
WICK_READ(HammingWindow, hamming);
WICK_READ(BlackmanWindow, blackman);
WICK_READ(MelWeightMatrix, mel_weight_matrix);
WICK_READ(DFT, dft);
WICK_READ(STFT, stft);
WICK_READ(ReverseSequence, reverse_sequence);

WICK_ONNX_ROW(DFT, [](WriteCtx& c) {
  const auto& a = c.as<DftAttrs>();
  bool to_real = a.inverse != 0 && a.onesided != 0;
  if (c.has(2) || to_real) c.need(20);
  std::string length = c.has(1)            ? c.in(1)
                       : a.dft_length != 0 ? c.int_scalar(a.dft_length)
                                           : std::string();
  std::vector<std::string> in = {c.in(0), length};
  const bool axis = has_attribute(c.form("DFT"), "axis");  // later it is an input
  if (!axis) in.push_back(c.has(2) ? c.in(2) : c.int_scalar(a.axis));
  NodeProto& n = c.add("DFT", in, {c.out(0)});
  if (axis) set_int(n, "axis", a.axis);
  set_int(n, "inverse", a.inverse);
  set_int(n, "onesided", a.onesided);
});

}  // namespace wick::onnx
