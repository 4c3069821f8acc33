// Random programs of views, writes through them and shapes changed in place: eager and the
// program's graph give the same bits; and forward mode through the writes is the gradient's
// transpose.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "tests/functions/inputs.h"
#include "trainer/capture/capture.h"
#include "trainer/capture/graph_tracer.h"

namespace wick::test {
namespace {

using namespace wick::indexing;  // NOLINT: Slice

constexpr uint32_t kPrograms = 300, kSteps = 14;

// Counts what the programs of a run did: a kind that never came would leave its code untested.
struct Done {
  size_t views = 0, writes = 0, copies = 0, scatters = 0, reshapes = 0;
};

class Program {
 public:
  Program(uint32_t seed, Done* done) : random_(seed), done_(done) {}

  // Every view at the end, whatever was written after it was taken.
  List run(const Tensor& x) {
    live_ = {x * 1.25};
    for (uint32_t step = 0; step < kSteps; ++step) {
      Tensor t = live_[below(live_.size())];
      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          if (t.rank() < 5) live_.push_back(look(t));
          ++done_->views;
          break;
        case 3: t.mul_(number()); break;
        case 4: t.mul_(number()).add_(live_[0].sum() * 0.0625); break;
        case 5: copy(t); break;
        case 6: scatter(t); break;
        case 7: reshape(t); break;
      }
      done_->writes += 1;
    }
    return live_;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  double number() { return 0.25 + static_cast<double>(below(8)) / 8; }

  Tensor look(const Tensor& t) {
    int how = static_cast<int>(below(7));
    if (t.rank() == 0) return t.unsqueeze(0);
    int d = static_cast<int>(below(static_cast<size_t>(t.rank())));
    int64_t n = t.raw_shape()[d];
    switch (how) {
      case 0: return t.T();
      case 1: return t.select(d, static_cast<int64_t>(below(static_cast<size_t>(n))));
      case 2: return t.slice(d, n - 1, -100, -2);
      case 3: return t.slice(d, 0, n, 2);
      case 4: return t.is_contiguous() ? t.view({-1}) : t.unsqueeze(d);
      case 5: return t.rank() > 1 ? diagonal(t, 0, 0, t.rank() - 1) : t.unsqueeze(-1);
      default: return t.transpose(0, d).unsqueeze(0);
    }
  }
  // Copies from another tensor of the shape, which may overlap it.
  void copy(const Tensor& to) {
    std::vector<Tensor> same;
    for (const Tensor& t : live_)
      if (t.raw_shape() == to.raw_shape()) same.push_back(t);
    to.copy_(same[below(same.size())]);
    ++done_->copies;
  }
  void scatter(const Tensor& t) {
    if (t.rank() == 0) {
      t.fill_(number());
      return;
    }
    int64_t last = t.raw_shape()[0] - 1;
    Tensor rows = tensor<int64_t>({last, 0});
    if (last == 0) rows = tensor<int64_t>({0});
    t.index_put_({rows}, number());
    t.select(0, last).mul_(live_[0].sum() * 0.0625);
    ++done_->scatters;
  }
  void reshape(const Tensor& t) {
    if (t.rank() > 1) {
      t.transpose_(0, t.rank() - 1);
    } else {
      t.unsqueeze_(0);
    }
    ++done_->reshapes;
  }

  std::mt19937 random_;
  Done* done_;
  List live_;
};

Tensor input(DType t, uint32_t seed) {
  Generator g{seed + 1, 0};
  return uniform({3, 4}, -1, 1, t, g);
}

TEST(RandomProgram, CapturedBitsAreEagers) {
  Done done;
  size_t outputs = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    Tensor x = input(DType::kF32, seed);
    List eager = Program(seed, &done).run(x), traced;
    ir::Graph graph;
    {
      SharedWeights weights;
      GraphTracer tracer(graph, weights);
      tracer.bind(x, graph.add_input("x", x.dtype(), to_symbolic(x.raw_shape())));
      NoGrad guard;
      {
        TracerScope scope(&tracer);
        traced = Program(seed, &done).run(x);
      }
      for (size_t k = 0; k < traced.size(); ++k)
        graph.add_output("y" + std::to_string(k), tracer.result(traced[k]));
    }
    ir::verify(graph, "after capture");
    std::vector<HostTensor> feeds = {host_copy(x)};
    auto replayed = ir::run(graph, feeds);
    ASSERT_EQ(replayed.size(), eager.size());
    for (size_t k = 0; k < eager.size(); ++k)
      ASSERT_TRUE(same_bits(replayed[k], host_copy(eager[k]))) << "view " << k;
    outputs += eager.size();
  }
  printf("COUNT: captured programs: %u, %zu results by bits\n", kPrograms, outputs);
  EXPECT_GT(outputs, kPrograms);
  for (size_t n : {done.views, done.writes, done.copies, done.scatters, done.reshapes})
    EXPECT_GT(n, kPrograms / 2);
}

TEST(RandomProgram, ForwardModeIsTheTransposeOfTheGradient) {
  Done done;
  double worst = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    auto f = [&](const List& in) { return Program(seed, &done).run(in[0]); };
    Generator g{seed, 0};
    List x = {input(DType::kF64, seed)}, v = {uniform({3, 4}, -1, 1, DType::kF64, g)}, w;
    List plain = f(x);
    for (const Tensor& t : plain) w.push_back(uniform(t.raw_shape(), 0.5, 1.5, DType::kF64, g));
    List forward = jvp(f, x, v).second, backward = vjp(f, x, w).second;
    double jv = 0, wj = (backward[0] * v[0]).sum().item();
    ASSERT_EQ(forward.size(), plain.size());
    for (size_t k = 0; k < w.size(); ++k) {
      ASSERT_EQ(forward[k].raw_shape(), plain[k].raw_shape()) << "view " << k;
      jv += (forward[k] * w[k]).sum().item();
    }
    double error = std::fabs(jv - wj) / std::max(1.0, std::fabs(wj));
    ASSERT_LE(error, 1e-10) << "<w, J v> " << jv << ", <J^T w, v> " << wj;
    worst = std::max(worst, error);
  }
  printf("forward mode through %u programs of writes: worst error %.2g\n", kPrograms, worst);
}

// Numbers by index or mask keep a shape whose batch is not known yet.
struct Writes : nn::Module {
  Tensor forward(const Arg& x) override {
    Tensor y = x.tensor * 2;
    y.at({lt(y, -1)}) = 3;
    y.at({Slice(), 1}) = 5;
    y.at({Slice(), Slice(2, 4)}) += tensor({0.5f, 0.25f});
    y.at({gt(y.select(1, 0), 0)}) = -1;
    return y;
  }
};

TEST(RandomProgram, NumbersAreWrittenIntoABatchOfAnySize) {
  Writes model;
  model.eval();
  ir::Graph graph = capture(model, {{"x", input(DType::kF32, 1), {{0, "n"}}, {}}});
  NoGrad guard;
  for (int64_t n : {1, 3, 8}) {
    Generator g{static_cast<uint64_t>(n), 0};
    Tensor x = uniform({n, 4}, -1, 1, DType::kF32, g);
    std::vector<HostTensor> feeds = {host_copy(x)};
    EXPECT_TRUE(same_bits(ir::run(graph, feeds)[0], host_copy(model(x)))) << n;
  }
}

}  // namespace
}  // namespace wick::test
