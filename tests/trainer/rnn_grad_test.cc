// The recurrent cells' backward walk over time (trainer/autograd/grad/rnn_walk.cc) against the
// formula in ops that higher orders use (rnn.cc), and against finite differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "trainer/tensor/call.h"
#include "wick/trainer.h"

namespace wick {
namespace {

constexpr int64_t kSeq = 5, kBatch = 3, kInput = 4, kHidden = 6;

struct Calls : TraceHook {
  int count = 0;
  void on_op(const TraceEvent&) override { ++count; }
};

struct Cell {
  OpId op;
  int64_t gates;
  RnnAttrs attrs;
  bool bias = true, lengths = false, states = true, peepholes = false;
  DType dtype = DType::kF64;
  int64_t seq = kSeq, batch = kBatch, hidden = kHidden;

  int64_t dirs() const { return attrs.direction == 2 ? 2 : 1; }
  std::string text() const {
    return std::string(op_info(op)->name) + " direction " + std::to_string(attrs.direction) +
           " layout " + std::to_string(attrs.layout) + (bias ? " bias" : "") +
           (lengths ? " lengths" : "") + (states ? " states" : "");
  }
  // Returns the inputs that are given; the others are undefined.
  std::vector<Tensor> inputs() const {
    manual_seed(3);
    auto random = [&](bool given, Shape s) {
      return given ? (randn(s) * 0.7).to(dtype).requires_grad_() : Tensor();
    };
    const int64_t d = dirs(), rows = gates * hidden;
    const Shape state = attrs.layout != 0 ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
    const Shape x = attrs.layout != 0 ? Shape{batch, seq, kInput} : Shape{seq, batch, kInput};
    Tensor ends;
    if (lengths) {
      // One has all steps, one some, one none.
      const auto all = static_cast<int32_t>(seq);
      const std::vector<int32_t> list = {all, all - 2, 0};
      ends = tensor(list);
    }
    std::vector<Tensor> in = {random(true, x),
                              random(true, {d, rows, kInput}),
                              random(true, {d, rows, hidden}),
                              random(bias, {d, 2 * rows}),
                              ends,
                              random(states, state)};
    if (op == OpId::kLSTM) {
      in.push_back(random(states, state));
      in.push_back(random(peepholes, {d, 3 * hidden}));
    }
    return in;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& in) const {
    std::vector<Tensor> out(op == OpId::kLSTM ? 3 : 2);
    std::vector<const Tensor*> list;
    for (const Tensor& t : in) list.push_back(&t);
    call(op, &attrs, Span<const Tensor* const>(list.data(), list.size()),
         Span<Tensor>(out.data(), out.size()), Where::current());
    return out;
  }
};

std::vector<Tensor> wanted(const std::vector<Tensor>& in) {
  std::vector<Tensor> w;
  for (const Tensor& t : in)
    if (t.defined() && t.requires_grad()) w.push_back(t);
  return w;
}

// Gradients of all outputs whose bit is in `flows`, and how many ops backward called.
std::vector<Tensor> gradients(const Cell& cell, bool create_graph, int* calls, int flows = 7) {
  const std::vector<Tensor> in = cell.inputs();
  std::vector<Tensor> outs, grads;
  const std::vector<Tensor> all = cell.run(in);
  for (size_t i = 0; i < all.size(); ++i) {
    if ((flows >> i & 1) == 0) continue;
    outs.push_back(all[i]);
    grads.push_back(randn(all[i].raw_shape()).to(cell.dtype));
  }
  Calls hook;
  set_trace_hook(&hook);
  std::vector<Tensor> g = grad(outs, wanted(in), grads, create_graph, create_graph, true);
  set_trace_hook(nullptr);
  *calls = hook.count;
  return g;
}

double furthest(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return std::numeric_limits<double>::infinity();
  if (!a.defined()) return 0;
  EXPECT_TRUE(a.raw_shape() == b.raw_shape());
  const double d = max(abs(a.detach() - b.detach())).to(DType::kF64).item();
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

std::vector<Cell> cells() {
  std::vector<Cell> list;
  for (auto [op, gates] : {std::pair{OpId::kRNN, 1}, {OpId::kGRU, 3}, {OpId::kLSTM, 4}}) {
    for (int64_t direction : {0, 1, 2}) {
      for (int64_t layout : {0, 1}) {
        for (int given = 0; given < 8; ++given) {
          Cell c{op, gates, {}};
          c.attrs.direction = direction, c.attrs.layout = layout;
          c.attrs.linear_before_reset = 1;
          c.bias = (given & 1) != 0, c.lengths = (given & 2) != 0, c.states = (given & 4) != 0;
          list.push_back(c);
        }
      }
    }
  }
  return list;
}

TEST(RnnGrad, EqualsTheFormulaInOps) {
  for (const Cell& c : cells()) {
    for (int flows : {7, 1, 2, 4}) {
      if (flows == 4 && c.op != OpId::kLSTM) continue;
      int quick = 0, slow = 0;
      const std::vector<Tensor> a = gradients(c, false, &quick, flows),
                                b = gradients(c, true, &slow, flows);
      EXPECT_LT(2 * quick, slow) << c.text();
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) {
        // An input that no output hangs on has none there, zeros here.
        if (a[i].defined() && !b[i].defined()) {
          EXPECT_EQ(furthest(a[i], zeros_like(a[i])), 0) << c.text() << " input " << i;
          continue;
        }
        EXPECT_LT(furthest(a[i], b[i]), 1e-12) << c.text() << " input " << i << " of " << flows;
      }
    }
  }
}

TEST(RnnGrad, EqualsDifferences) {
  for (Cell c : cells()) {
    if (c.attrs.layout == 1 && c.attrs.direction != 2) continue;
    c.seq = 3, c.hidden = 2;
    const std::vector<Tensor> in = c.inputs();
    GradcheckOptions o;
    o.eps = 1e-6, o.atol = 1e-7, o.rtol = 1e-7;
    auto f = [&](const std::vector<Tensor>& given) {
      std::vector<Tensor> all;
      size_t next = 0;
      for (const Tensor& t : in)
        all.push_back(t.defined() && t.requires_grad() ? given[next++] : t);
      return c.run(all);
    };
    const GradcheckResult r = gradcheck(f, wanted(in), o);
    EXPECT_TRUE(r.ok) << c.text() << ": " << r.message;
  }
}

TEST(RnnGrad, RectifiedCellsAndSizesOfOne) {
  for (auto [op, gates] : {std::pair{OpId::kRNN, 1}, {OpId::kGRU, 3}, {OpId::kLSTM, 4}}) {
    for (int64_t size : {1, 2}) {
      Cell c{op, gates, {}};
      c.attrs.linear_before_reset = 1, c.attrs.direction = 2;
      c.seq = size, c.batch = 3 - size, c.hidden = size;
      if (op == OpId::kRNN) {
        c.attrs.f.kind = c.attrs.back_f.kind = static_cast<int64_t>(RnnFunction::kRelu);
      }
      int quick = 0, slow = 0;
      const std::vector<Tensor> a = gradients(c, false, &quick), b = gradients(c, true, &slow);
      EXPECT_LT(quick, slow);
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_LT(furthest(a[i], b[i]), 1e-12) << c.text() << " input " << i;
    }
  }
}

// Cells that no layer makes use the formula, at any order.
TEST(RnnGrad, OtherCellsTakeTheFormula) {
  std::vector<Cell> list;
  auto add = [&](OpId op, int64_t gates, auto change) {
    Cell c{op, gates, {}};
    c.attrs.linear_before_reset = 1;
    change(c);
    list.push_back(c);
  };
  add(OpId::kLSTM, 4, [](Cell& c) { c.peepholes = true; });
  add(OpId::kLSTM, 4, [](Cell& c) { c.attrs.input_forget = 1; });
  add(OpId::kLSTM, 4, [](Cell& c) { c.attrs.clip = 0.5; });
  add(OpId::kLSTM, 4,
      [](Cell& c) { c.attrs.h.kind = static_cast<int64_t>(RnnFunction::kSoftsign); });
  add(OpId::kGRU, 3, [](Cell& c) { c.attrs.linear_before_reset = 0; });
  add(OpId::kGRU, 3, [](Cell& c) {
    c.attrs.direction = 2;
    c.attrs.back_g.kind = static_cast<int64_t>(RnnFunction::kRelu);
  });
  add(OpId::kRNN, 1,
      [](Cell& c) { c.attrs.f.kind = static_cast<int64_t>(RnnFunction::kSoftplus); });
  for (const Cell& c : list) {
    int quick = 0, slow = 0;
    const std::vector<Tensor> a = gradients(c, false, &quick), b = gradients(c, true, &slow);
    EXPECT_GT(2 * quick, slow) << c.text();
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(furthest(a[i], b[i]), 0) << c.text() << " input " << i;
  }
}

// Whole layers, as nn makes them: float32, one to four of them, packed and not; the first order
// beside the formula, and the same bits for any number of threads.
TEST(RnnGrad, LayersOfFloats) {
  for (int64_t layers : {1, 2, 4}) {
    for (bool both : {false, true}) {
      for (bool packed : {false, true}) {
        std::vector<Tensor> found[3];
        for (int run : {0, 1, 2}) {
          set_num_threads(run == 1 ? 3 : 1);
          manual_seed(5);
          nn::RnnOptions o;
          o.num_layers = layers, o.bidirectional = both;
          nn::LSTM lstm(8, 48, o);
          nn::GRU gru(8, 48, o);
          Tensor x = randn({7, 90, 8}).requires_grad_();
          std::vector<int64_t> lengths;
          for (int64_t b = 0; b < 90; ++b) lengths.push_back(7 - b / 15);
          Tensor loss;
          if (packed) {
            const nn::PackedSequence p = nn::pack_padded_sequence(x, lengths);
            loss =
                sum(sin(lstm.with_state(p).output.data)) + sum(sin(gru.with_state(p).output.data));
          } else {
            loss = sum(sin(lstm(x))) + sum(sin(gru(x)));
          }
          std::vector<Tensor> of = lstm.parameters();
          for (const Tensor& p : gru.parameters()) of.push_back(p);
          of.push_back(x);
          found[run] = grad({loss}, of, {}, run == 2, run == 2);
        }
        set_num_threads(1);
        for (size_t i = 0; i < found[0].size(); ++i) {
          const Tensor a = found[0][i].contiguous(), b = found[1][i].contiguous();
          EXPECT_EQ(memcmp(a.data<float>(), b.data<float>(),
                           sizeof(float) * static_cast<size_t>(a.numel())),
                    0)
              << layers << both << packed << " tensor " << i;
          const double size = max(abs(a)).item();
          EXPECT_LT(furthest(a, found[2][i]), 3e-5 * (1 + size))
              << layers << both << packed << " tensor " << i;
        }
      }
    }
  }
}

// Behind a sequence's end nothing counts, not even a NaN.
TEST(RnnGrad, NothingComesFromBehindTheEnd) {
  for (auto [op, gates] : {std::pair{OpId::kRNN, 1}, {OpId::kGRU, 3}, {OpId::kLSTM, 4}}) {
    Cell c{op, gates, {}};
    c.attrs.linear_before_reset = 1, c.attrs.direction = 2, c.lengths = true;
    const std::vector<Tensor> in = c.inputs();
    const Tensor y = c.run(in)[0];
    const auto* ends = in[4].data<int32_t>();
    Tensor clean = randn(y.raw_shape()).to(DType::kF64), spoiled = clean.clone();
    auto *p = clean.mutable_data<double>(), *q = spoiled.mutable_data<double>();
    for (int64_t t = 0, at = 0; t < kSeq; ++t)
      for (int64_t d = 0; d < 2; ++d)
        for (int64_t b = 0; b < kBatch; ++b)
          for (int64_t i = 0; i < kHidden; ++i, ++at)
            if (t >= ends[b]) p[at] = 0, q[at] = std::nan("");
    const auto a = grad({y}, wanted(in), {clean}, true), b = grad({y}, wanted(in), {spoiled});
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(furthest(a[i], b[i]), 0) << c.text() << " input " << i;
  }
}

}  // namespace
}  // namespace wick
