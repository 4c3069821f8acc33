// Edges of checkpoints: draws from several threads, writes in place, runs inside runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using Doubles = std::vector<double>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor<double>(values).requires_grad_();
}
Doubles numbers(const Tensor& t) { return t.to_vector<double>(); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
// "(checkpoint_edges_test.cc:41)" for a line of this file.
std::string at_line(uint32_t line) {
  return "(checkpoint_edges_test.cc:" + std::to_string(line) + ")";
}

// -- the default generator is every thread's

TEST(DefaultGenerator, ThreadsDrawDifferentNumbers) {
  manual_seed(17);
  constexpr int kDraws = 200;
  std::vector<std::vector<float>> got[2];
  auto draw = [&](int who) {
    for (int i = 0; i < kDraws; ++i) got[who].push_back(rand({2000}).to_vector<float>());
  };
  std::thread other(draw, 1);
  draw(0);
  other.join();
  std::vector<std::vector<float>> all = got[0];
  all.insert(all.end(), got[1].begin(), got[1].end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(default_generator().stream, uint64_t{2 * kDraws});
}

TEST(DefaultGenerator, AThreadsCheckpointDrawsItsOwnNumbersAgain) {
  manual_seed(19);
  auto run = [](std::vector<std::string>* errors) {
    for (int i = 0; i < 100; ++i) {
      Tensor x = full({4096}, 1, DType::kF64).requires_grad_();
      auto f = [](const Tensor& t) {
        Tensor a = dropout(t, 0.5, true);
        return dropout(a * a, 0.5, true);
      };
      Tensor y = checkpoint(f, x);
      sum(y).backward();
      // y is 8 where both masks keep an element, and dy/dx = 2 y there; else both are 0.
      Doubles value = numbers(y.detach()), slope = numbers(x.grad());
      for (size_t k = 0; k < value.size(); ++k) {
        if (slope[k] != 2 * value[k]) errors->push_back(std::to_string(value[k]));
      }
    }
  };
  std::vector<std::string> wrong[2];
  std::thread other([&] { run(&wrong[1]); });
  run(&wrong[0]);
  other.join();
  EXPECT_EQ(wrong[0].size() + wrong[1].size(), 0u);
}

TEST(DefaultGenerator, ACheckpointDrawsAgainWhateverTheGenerator) {
  Generator own{5, 3};
  Generator& process = default_generator();
  Tensor x = full({256}, 1, DType::kF64).requires_grad_();
  Tensor y = checkpoint(
      [&](const Tensor& t) {
        return t * t * lt(rand({256}, DType::kF64, own), 0.5).to(DType::kF64) *
               lt(rand({256}, DType::kF64, process), 0.5).to(DType::kF64);
      },
      x);
  EXPECT_EQ(own.stream, 4u);
  const uint64_t stream = process.stream;
  sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), numbers(y.detach() * 2));
  EXPECT_EQ(own.stream, 4u);  // the second run takes nothing new
  EXPECT_EQ(process.stream, stream);
  int calls = 0;
  Tensor z = checkpoint(
      [&](const Tensor& t) {
        Tensor r = t * rand({256}, DType::kF64);
        return calls++ == 0 ? r : r * sum(rand({2}, DType::kF64) * 0 + 1);
      },
      x);
  EXPECT_NE(error_of([&] { sum(z).backward(); }), "no error");
}

// -- checkpoints

TEST(CheckpointEdges, WritesInPlaceInsideAreThePlainRuns) {
  Tensor w = leaf({1.5, -2, 0.5});
  using F = std::function<Tensor(const Tensor&)>;
  const std::pair<const char*, F> all[] = {
      {"mul_",
       [&](const Tensor& t) {
         Tensor a = t * 2;
         a.mul_(w);
         return a * a;
       }},
      {"pow_",
       [&](const Tensor& t) {
         Tensor a = t * w;
         a.pow_(3);
         return a * 2;
       }},
      {"log_",
       [&](const Tensor& t) {
         Tensor a = t * w * w;
         a.log_();
         return a * a;
       }},
      {"div_ log_",
       [&](const Tensor& t) {
         Tensor a = t * t;
         a.div_(w * w);
         a.log_();
         return a;
       }},
      {"view",
       [&](const Tensor& t) {
         Tensor a = t * 1;
         a.slice(0, 0, 2).mul_(w.slice(0, 1, 3));
         a.mul_(a * 1);
         return a * w;
       }},
  };
  for (const auto& [name, f] : all) {
    Tensor x = leaf({0.3, 0.7, 1.1});
    w.set_grad(Tensor());
    sum(f(x)).backward();
    Doubles gx = numbers(x.grad()), gw = numbers(w.grad());
    x.set_grad(Tensor()), w.set_grad(Tensor());
    std::string text = error_of([&] { sum(checkpoint(f, x)).backward(); });
    ASSERT_EQ(text, "no error") << name;
    EXPECT_EQ(numbers(x.grad()), gx) << name;
    EXPECT_EQ(numbers(w.grad()), gw) << name;
    // The same for second-order gradients.
    Tensor first = grad({sum(f(x))}, {x}, {}, false, true)[0];
    Tensor again = grad({sum(checkpoint(f, x))}, {x}, {}, false, true)[0];
    EXPECT_EQ(numbers(grad({sum(first * first)}, {x})[0]),
              numbers(grad({sum(again * again)}, {x})[0]))
        << name;
  }
}

TEST(CheckpointEdges, AWriteThatIsAnErrorStaysOne) {
  auto f = [](const Tensor& t) {
    Tensor a = t * 2, b = exp(a);
    b.add_(1);  // exp keeps its result
    return b;
  };
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(contains(error_of([&] { sum(f(x)).backward(); }), "add_"));
  EXPECT_TRUE(contains(error_of([&] { sum(checkpoint(f, x)).backward(); }), "add_"));
}

TEST(CheckpointEdges, AFunctionThatRunsBackwardItselfIsToldSo) {
  Tensor x = leaf({2, 3});
  const uint32_t line = __LINE__ + 2;
  std::string text = error_of([&] {
    checkpoint([](const Tensor& t) { return grad({sum(t * t)}, {t}, {}, false, true)[0] * t; }, x);
  });
  EXPECT_TRUE(contains(text, "[checkpoint]") && contains(text, "backward")) << text;
  EXPECT_TRUE(contains(text, at_line(line))) << text;
}

}  // namespace
}  // namespace wick
