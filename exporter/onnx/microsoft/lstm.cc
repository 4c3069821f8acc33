// DynamicQuantizeLSTM: an LSTM whose products are of bytes. Weights are bytes with scales of their
// own; the inputs of all steps, and the state before each step, are quantized by their own range.
#include <algorithm>

#include "exporter/onnx/families/quantize.h"
#include "exporter/onnx/microsoft/microsoft.h"
#include "exporter/onnx/read/subgraph.h"

namespace wick::onnx {
namespace {

// Returns entry `direction` of an input's first axis; kNoValue: the input is absent.
ValueId entry(ReadCtx& c, ValueId v, int64_t direction) {
  if (v == kNoValue) return v;
  return c.emit(OpId::kGather, AxisAttrs{0}, {v, int_scalar(c, direction)});
}

// A matrix of bytes, and what is subtracted and multiplied: one number, or one for each column.
struct ByteMatrix {
  ValueId bytes, zero, scale;
};

// One direction. The gates are in ONNX's order: input, output, forget, cell.
struct Direction {
  ByteMatrix r;
  ValueId of_inputs;  // [steps, batch, 4 hidden]: what the inputs and the biases give the gates
  ValueId peepholes;  // [3 hidden], or kNoValue
  ValueId h, c;       // [batch, hidden]: the first state
};

struct Lstm {
  int64_t hidden = 0;
  double clip = 0;
  bool input_forget = false;
  ValueId steps = kNoValue, lengths = kNoValue;  // an int64 scalar; int64 [batch], or kNoValue
};

// Returns x times the matrix, x quantized as a whole, in float32.
ValueId product(ReadCtx& c, const DynamicQuantized& x, const ByteMatrix& m) {
  const ValueId sum = c.emit(OpId::kMatMulInteger, {x.y, m.bytes, x.zero, m.zero});
  return times(c, cast(c, sum, DType::kF32), times(c, x.scale, m.scale));
}

ByteMatrix matrix(ReadCtx& c, int bytes, int scale, int64_t direction) {
  for (int i : {scale, scale + 1}) {
    if (c.rank(c.in(i)) != 1 && c.rank(c.in(i)) != 2)
      c.fail("scales and zero points have the shape [directions] or [directions, 4 * hidden_size]");
  }
  check_scale(c, scale);
  return {entry(c, c.in(bytes), direction), entry(c, c.in(scale + 1), direction),
          entry(c, c.in(scale), direction)};
}

ValueId clipped(ReadCtx& c, const Lstm& l, ValueId x) {
  if (l.clip <= 0) return x;
  return c.emit(OpId::kClip, ClipAttrs{}, {x, c.scalar(x, -l.clip), c.scalar(x, l.clip)});
}

struct State {
  ValueId h, c;
};

// Returns the state behind a step. `gates` is what the inputs give them, `h` the state that the
// products take.
State step(ReadCtx& b, const Lstm& l, const Direction& d, ValueId gates, const State& before,
           ValueId h) {
  const auto inside = [&](ValueId v) { return v == kNoValue ? v : b.scope.capture(v); };
  const ByteMatrix r{inside(d.r.bytes), inside(d.r.zero), inside(d.r.scale)};
  gates = plus(b, gates, product(b, dynamic_quantize(b, h), r));
  const auto parts_of = [&](ValueId v, int64_t count, int axis) {
    return split(b, v, axis,
                 b.int_constant(std::vector<int64_t>(static_cast<size_t>(count), l.hidden)),
                 static_cast<int>(count));
  };
  std::vector<ValueId> gate = parts_of(gates, 4, 1), peep(3, kNoValue);
  if (d.peepholes != kNoValue) peep = parts_of(inside(d.peepholes), 3, 0);
  const auto open = [&](size_t k, size_t p, ValueId cell) {  // a gate, with its peephole
    ValueId x = gate[k];
    if (peep[p] != kNoValue) x = plus(b, x, times(b, peep[p], cell));
    return b.emit(OpId::kSigmoid, {clipped(b, l, x)});
  };
  const ValueId in = open(0, 0, before.c);
  const ValueId forget = l.input_forget ? minus(b, b.scalar(in, 1), in) : open(2, 2, before.c);
  const ValueId candidate = b.emit(OpId::kTanh, {clipped(b, l, gate[3])});
  const ValueId cell = plus(b, times(b, forget, before.c), times(b, in, candidate));
  return {times(b, open(1, 1, cell), b.emit(OpId::kTanh, {cell})), cell};
}

ValueId yes(ReadCtx& c) {
  const bool value = true;
  return c.g.add_constant(HostTensor(DType::kBool, Shape{}, &value, 1));
}

// The state behind all steps, and the outputs [steps, batch, hidden].
struct Ran {
  State last;
  ValueId outputs;
};

Ran run(ReadCtx& c, const Lstm& l, const Direction& d) {
  const ValueId always = yes(c);
  const ValueId ends = l.lengths == kNoValue ? kNoValue : unsqueeze(c, l.lengths, {1});
  const auto made =
      emit_loop(c, l.steps, always, {d.h, d.c}, {}, [&](ReadCtx& b, const LoopBody& in) {
        const State before{in.carried[0], in.carried[1]};
        const ValueId gates =
            b.emit(OpId::kGather, AxisAttrs{0}, {b.scope.capture(d.of_inputs), in.trip});
        const ValueId more = yes(b);
        if (ends == kNoValue) {
          const State after = step(b, l, d, gates, before, before.h);
          return std::vector<ValueId>{more, after.h, after.c, after.h};
        }
        // Behind the end of a row its output is 0 and its state stays. ONNX Runtime takes the range
        // of the state over the outputs before this step, so that the state counts once more.
        const ValueId end = b.scope.capture(ends), zero = b.scalar(before.h, 0);
        const ValueId is = b.emit(OpId::kLess, {in.trip, end});
        const ValueId counts = b.emit(OpId::kLessOrEqual, {in.trip, end});
        const auto choose = [&](ValueId where, ValueId a, ValueId other) {
          return b.emit(OpId::kWhere, {where, a, other});
        };
        const State after = step(b, l, d, gates, before, choose(counts, before.h, zero));
        return std::vector<ValueId>{more, choose(is, after.h, before.h),
                                    choose(is, after.c, before.c), choose(is, after.h, zero)};
      });
  return {{made[0], made[1]}, made[2]};
}

// Turns the steps round, of each row those before its end.
ValueId backwards(ReadCtx& c, const Lstm& l, ValueId v) {
  if (l.lengths != kNoValue) {
    return Standard(c, "ReverseSequence", 10)
        .set("time_axis", int64_t{0})
        .set("batch_axis", int64_t{1})
        .one({v, l.lengths});
  }
  SliceAttrs a;
  a.starts = {-1};
  a.ends = {INT64_MIN};
  a.axes = {0};
  a.steps = {-1};
  return c.emit(OpId::kSlice, a, {v});
}

void dynamic_lstm(ReadCtx& c) {
  const std::string way = c.attr_string("direction", "forward");
  const bool both = way == "bidirectional";
  if (!both && way != "forward" && way != "reverse") c.fail("unknown direction '" + way + "'");
  const std::vector<std::string> functions = c.attr_strings("activations");
  const char* const kUsual[] = {"Sigmoid", "Tanh", "Tanh"};
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i] != kUsual[i % 3]) c.fail("activations other than Sigmoid, Tanh, Tanh");
  }
  const int64_t directions = both ? 2 : 1;
  for (int i : {1, 2, 3, 5, 6, 7, 8, 9, 10, 11}) {
    if (!c.has(i) || !ranked(c, c.in(i)) || c.rank(c.in(i)) == 0) continue;
    const SymShape& s = c.g.value(c.in(i)).shape;
    if (dim_equal(s[0], SymDim(directions)) == Tri::kNo) {
      c.fail("input " + std::to_string(i) + " begins with the directions, which are " +
             std::to_string(directions) + ", got " + shape_text(s));
    }
  }
  const ValueId x = ranked_input(c, 0, 3, "X"), r = ranked_input(c, 2, 3, "R");
  (void)ranked_input(c, 1, 3, "W");
  Lstm l;
  l.clip = c.attr_float("clip", 0);
  l.input_forget = c.attr_int("input_forget", 0) != 0;
  l.hidden = c.attr_int("hidden_size", 0);
  const SymDim& rows = c.g.value(r).shape[1];
  if (l.hidden == 0 && rows.known()) l.hidden = rows.constant();
  if (l.hidden < 1) c.fail("hidden_size is required");
  l.steps = reshape(c, dim(c, x, 0), {});
  if (c.has(4)) l.lengths = cast(c, c.in(4), DType::kI64);
  const ValueId state_shape = concat(c, {dim(c, x, 1), c.int_constant({l.hidden})}, 0);
  const ValueId nothing =
      expand_to(c, c.g.add_constant(HostTensor(DType::kF32, Shape{})), state_shape);
  const DynamicQuantized bytes = dynamic_quantize(c, x);
  std::vector<ValueId> outputs, h, cells;
  for (int64_t k = 0; k < directions; ++k) {
    Direction d;
    const bool reverse = way == "reverse" || k == 1;
    d.r = matrix(c, 2, 10, k);
    d.of_inputs = product(c, bytes, matrix(c, 1, 8, k));
    if (c.has(3)) {
      const Halves b = halve(c, entry(c, c.in(3), k), 0);
      d.of_inputs = plus(c, d.of_inputs, plus(c, b.first, b.second));
    }
    d.peepholes = entry(c, c.optional(7), k);
    d.h = c.has(5) ? entry(c, c.in(5), k) : nothing;
    d.c = c.has(6) ? entry(c, c.in(6), k) : nothing;
    if (reverse) d.of_inputs = backwards(c, l, d.of_inputs);
    const Ran ran = run(c, l, d);
    const ValueId y = reverse ? backwards(c, l, ran.outputs) : ran.outputs;
    outputs.push_back(unsqueeze(c, y, {1}));
    h.push_back(unsqueeze(c, ran.last.h, {0}));
    cells.push_back(unsqueeze(c, ran.last.c, {0}));
  }
  if (c.wants(0)) c.set(0, concat(c, outputs, 1));
  if (c.wants(1)) c.set(1, concat(c, h, 0));
  if (c.wants(2)) c.set(2, concat(c, cells, 0));
}

}  // namespace

WICK_READ_MS(DynamicQuantizeLSTM, dynamic_lstm);

}  // namespace wick::onnx
