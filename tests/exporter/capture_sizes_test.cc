// If a part of a module depends on a dynamic size in a way that cannot be captured, the error names
// the sizes and the line, whichever size the example has; everything else is captured at any size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <source_location>
#include <stdexcept>

#include "graph/interpreter/interpreter.h"
#include "tests/support/error_of.h"
#include "trainer/capture/capture.h"
#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

struct Net : nn::Module {
  explicit Net(std::function<Tensor(const Tensor&)> f) : f_(std::move(f)) {}
  Tensor forward(const Arg& x) override { return f_(x.tensor); }
  std::function<Tensor(const Tensor&)> f_;
};

Tensor example(const Shape& shape) {
  Generator g{11, 0};
  return uniform(shape, -1, 1, DType::kF32, g);
}

std::string refusal(nn::Module& net, const Shape& shape, const std::vector<DynamicDim>& dims) {
  return error_of([&] { capture(net, {{"x", example(shape), dims, {}}}); });
}
std::string refusal_of(std::function<Tensor(const Tensor&)> f, const Shape& shape,
                       const std::vector<DynamicDim>& dims = {{0, "batch"}}) {
  Net net(std::move(f));
  return refusal(net, shape, dims);
}

void expect_equal(const ir::Graph& graph, nn::Module& net, const Shape& shape) {
  SCOPED_TRACE(to_text(shape).text);
  HostTensor in = host_copy(example(shape)), want = host_copy(net(example(shape)));
  EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], want));
}

TEST(CaptureSizes, ABranchIsFoundWhicheverSizeTheExampleHas) {
  auto f = [](const Tensor& x) { return x.size(0) > 3 ? relu(x) : sigmoid(x); };
  for (int64_t n : {1, 2, 3, 4, 5, 7, 23, 24, 64, 1000}) {
    SCOPED_TRACE(n);
    EXPECT_THAT(refusal_of(f, {n, 3}),
                AllOf(HasSubstr("control flow depends on data or on a dynamic size"),
                      HasSubstr("batch = " + std::to_string(n)), HasSubstr("Relu (capture_sizes"),
                      HasSubstr("Sigmoid (capture_sizes_test.cc:")));
  }
  EXPECT_THAT(refusal_of(f, {64, 3}), AllOf(HasSubstr("at batch = 64"), HasSubstr("at batch = 1")));
}

// Ops on forward's own argument know no line of forward; the size was read at one.
TEST(CaptureSizes, TheLineThatReadTheSizeIsNamed) {
  struct Branches : nn::Module {
    Tensor forward(const Arg& x) override {
      line = std::source_location::current().line() + 1;
      const bool many = x.tensor.size(0) > 3;
      return many ? relu(x) : sigmoid(x);
    }
    uint32_t line = 0;
  };
  Branches net;
  const std::string text = refusal(net, {64, 3}, {{0, "batch"}});
  EXPECT_THAT(text, AllOf(HasSubstr("a size that is read at "),
                          HasSubstr("capture_sizes_test.cc:" + std::to_string(net.line))));
}

TEST(CaptureSizes, BranchesOfOtherKinds) {
  const std::vector<std::pair<const char*, std::function<bool(int64_t)>>> branches = {
      {"one is special", [](int64_t n) { return n == 1; }},
      {"two is special", [](int64_t n) { return n <= 2; }},
      {"odd", [](int64_t n) { return n % 2 == 1; }},
      {"a multiple of 4", [](int64_t n) { return n % 4 == 0; }},
      {"a multiple of 3", [](int64_t n) { return n % 3 == 0; }},
      {"many", [](int64_t n) { return n > 16; }},
  };
  for (const auto& [name, is] : branches) {
    for (int64_t n : {1, 2, 4, 5, 16}) {
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(n));
      auto f = [is = is](const Tensor& x) { return is(x.size(0)) ? relu(x) : exp(x); };
      EXPECT_THAT(refusal_of(f, {n, 2}), HasSubstr("control flow depends"));
    }
  }
}

// The thing that is chosen is no op of its own: a result, a parameter, a layer.
struct Chooses : nn::Module {
  explicit Chooses(int how) : how_(how) {}
  nn::Child<nn::Linear> a{this, "a", 3, 3};
  nn::Child<nn::Linear> b{this, "b", 3, 3};
  Tensor forward(const Arg& x) override {
    const bool many = x.tensor.size(0) > 3;
    if (how_ == 0) return many ? a(x) : b(x);
    if (how_ == 1) return matmul(x, many ? a->weight : b->weight);
    Tensor y = relu(x.tensor), z = exp(x.tensor);
    return many ? y : z;
  }
  int how_;
};
TEST(CaptureSizes, AChoiceAmongResultsParametersAndLayersIsFound) {
  Chooses layers(0), parameters(1), results(2);
  for (int64_t n : {1, 4, 5, 64}) {
    EXPECT_THAT(refusal(layers, {n, 3}, {{0, "batch"}}), HasSubstr("control flow depends")) << n;
    EXPECT_THAT(refusal(parameters, {n, 3}, {{0, "batch"}}),
                HasSubstr("input 1 comes from different places at batch"))
        << n;
    EXPECT_THAT(refusal(results, {n, 3}, {{0, "batch"}}),
                AllOf(HasSubstr("forward returns the result of"), HasSubstr("Relu (capture_sizes"),
                      HasSubstr("Exp (capture_sizes")))
        << n;
  }
}

// The graph computes what forward computes from sizes in plain integers.
TEST(CaptureSizes, NumbersComputedFromASizeAreComputedByTheGraph) {
  using F = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<const char*, F>> all = {
      {"rows by size",
       [](const Tensor& x) {
         return x.reshape({x.size(0), -1});
       }},
      {"all in one", [](const Tensor& x) { return x.reshape({x.size(0) * x.size(1) * 4}); }},
      {"heads",
       [](const Tensor& x) {
         return x.reshape({x.size(0), x.size(1), 2, 2}).transpose(1, 2);
       }},
      {"the last", [](const Tensor& x) { return x.select(1, -1); }},
      {"to the end", [](const Tensor& x) { return x.slice(1, 1, x.size(1)); }},
      {"all but the last", [](const Tensor& x) { return x.slice(1, 0, x.size(1) - 1); }},
      {"the first half", [](const Tensor& x) { return x.slice(1, 0, x.size(1) / 2); }},
      {"the second half", [](const Tensor& x) { return x.slice(1, x.size(1) / 2, x.size(1)); }},
      {"three at most",
       [](const Tensor& x) { return x.slice(0, 0, std::min<int64_t>(x.size(0), 3)); }},
      {"a quotient", [](const Tensor& x) { return mul(x, x.size(0) / 3); }},
      {"by a size", [](const Tensor& x) { return x / x.size(1); }},
      {"by its root",
       [](const Tensor& x) { return x / std::sqrt(static_cast<double>(x.size(1))); }},
      {"by its reciprocal root",
       [](const Tensor& x) { return x * (1.0 / std::sqrt(static_cast<double>(x.size(1)))); }},
      {"times a mean's",
       [](const Tensor& x) { return x * (1.0 / static_cast<double>(x.size(1))); }},
      {"zeros beside",
       [](const Tensor& x) {
         return cat({x, zeros({x.size(0), 1, 4})}, 1);
       }},
      {"zeros like", [](const Tensor& x) { return x + zeros_like(x); }},
      {"ones",
       [](const Tensor& x) {
         return cat({ones({x.size(0), x.size(1), 2}), x}, 2);
       }},
      {"places",
       [](const Tensor& x) { return x + arange(x.size(1)).to(DType::kF32).unsqueeze(1); }},
      {"places in floats",
       [](const Tensor& x) { return x + arange(0, x.size(1), 1, DType::kF32).unsqueeze(1); }},
      {"every second place",
       [](const Tensor& x) { return x + arange(0, 2 * x.size(1), 2, DType::kF32).unsqueeze(1); }},
      {"backwards",
       [](const Tensor& x) { return x + arange(x.size(1) - 1, -1, -1, DType::kF32).unsqueeze(1); }},
      {"a diagonal", [](const Tensor& x) { return matmul(eye(x.size(1)), x); }},
      {"repeated",
       [](const Tensor& x) {
         return x.slice(0, 0, 1).expand({x.size(0), x.size(1), 4});
       }},
      {"tiled",
       [](const Tensor& x) {
         return tile(x.slice(0, 0, 1), {x.size(0), 1, 1});
       }},
      {"rolled", [](const Tensor& x) { return roll(x, 1, 1); }},
      {"sorted", [](const Tensor& x) { return sort(x, 1).values; }},
      {"variance", [](const Tensor& x) { return var(x, {1}); }},
      {"in two",
       [](const Tensor& x) {
         return cat({chunk(x, 2, 2)[1], chunk(x, 2, 2)[0]}, 2);
       }},
      {"a full shape",
       [](const Tensor& x) {
         return x + full({x.size(0), x.size(1), 1}, 2.5);
       }},
      {"written to",
       [](const Tensor& x) {
         Tensor y = zeros({x.size(0), x.size(1) + 1, 4});
         y.slice(1, 0, x.size(1)).copy_(x);
         return y;
       }},
      {"upper triangle",
       [](const Tensor& x) {
         return matmul(tril(ones({x.size(1), x.size(1)})), x);
       }},
      {"flattened", [](const Tensor& x) { return flatten(x, 0, 1); }},
      {"flattened and back",
       [](const Tensor& x) {
         return relu(x.reshape({-1, 4})).reshape({x.size(0), x.size(1), 4});
       }},
      {"folded",
       [](const Tensor& x) {
         return x.reshape({x.size(0), 2, x.size(1) * 2});
       }},
  };
  const std::vector<DynamicDim> dims = {{0, "batch"}, {1, "time", 2}};
  for (const auto& [name, f] : all) {
    for (const Shape& s : {Shape{2, 5, 4}, Shape{4, 4, 4}, Shape{1, 2, 4}}) {
      SCOPED_TRACE(std::string(name) + " from " + to_text(s).text);
      Net net(f);
      std::optional<ir::Graph> graph;
      ASSERT_EQ(error_of([&] { graph = capture(net, {{"x", example(s), dims, {}}}); }), "no error");
      for (const Shape& at : {Shape{1, 2, 4}, Shape{3, 7, 4}, Shape{8, 10, 4}, Shape{5, 33, 4}})
        expect_equal(*graph, net, at);
    }
  }
}

// Steps of audio and of patches, which are no powers of two: the functions follow the size.
TEST(CaptureSizes, ASizeIsDividedByAnyNumber) {
  using F = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<const char*, F>> all = {
      {"windows", [](const Tensor& x) { return x.unfold(1, 400, 160); }},
      {"frames of a spectrum",
       [](const Tensor& x) {
         return stft(x, {.n_fft = 400, .hop_length = 160, .window = hann_window(400)});
       }},
      {"columns of an image",
       [](const Tensor& x) {
         return unfold(x.reshape({x.size(0), 1, 1, -1}), {1, 7}, 2, {0, 1}, {1, 11});
       }},
      {"an image of its columns",
       [](const Tensor& x) {
         const Tensor image = x.reshape({x.size(0), 1, 1, -1});
         return fold(unfold(image, {1, 9}, 1, 0, {1, 9}), {1, x.size(1)}, {1, 9}, 1, 0, {1, 9});
       }},
      {"every 13th", [](const Tensor& x) { return index_select(x, 1, arange(2, x.size(1), 13)); }},
      {"the first of 11 parts", [](const Tensor& x) { return chunk(x, 11, 1)[0] * 2; }},
      {"the third of 7 nearly equal parts",
       [](const Tensor& x) { return tensor_split(x, 7, 1)[2] * 2; }},
  };
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    Net net(f);
    std::optional<ir::Graph> graph;
    const CaptureInput in{"x", example({2, 4000}), {{0, "batch"}, {1, "samples", 900, 20000}}, {}};
    ASSERT_EQ(error_of([&] { graph = capture(net, {in}); }), "no error");
    for (int64_t n : {900, 901, 1059, 1060, 1439, 1441, 7777, 16000})
      expect_equal(*graph, net, {3, n});
  }
}

// All tokens beside all tokens: at a size that is usual elsewhere that is a gigabyte.
TEST(CaptureSizes, OneLargeRunDoesNotTakeTheTimeOfAllOthers) {
  int64_t tokens = 0;
  std::set<int64_t> seen;
  Net net([&](const Tensor& x) {
    const auto n = x.size(0) * x.size(1);
    tokens = std::max(tokens, n.peek());
    seen.insert(n.peek());
    const Tensor y = x.reshape({n, 4}), scores = matmul(y, y.t());
    return matmul(softmax(scores * 2, 1), y);
  });
  (void)capture(net, {{"x", example({3, 7, 4}), {{0, "batch"}, {1, "time"}}, {}}});
  EXPECT_LT(tokens * tokens * 12, 512'000'000);
  EXPECT_GT(seen.size(), 40U);
}

TEST(CaptureSizes, OfTwoDimensionsEitherIsSeen) {
  const std::vector<DynamicDim> dims = {{0, "batch"}, {1, "time"}};
  const std::vector<std::pair<const char*, std::function<bool(int64_t, int64_t)>>> branches = {
      {"first", [](int64_t n, int64_t) { return n > 3; }},
      {"second", [](int64_t, int64_t t) { return t > 3; }},
      {"both", [](int64_t n, int64_t t) { return n > 3 && t > 3; }},
      {"either", [](int64_t n, int64_t t) { return n > 3 || t > 3; }},
      {"both one", [](int64_t n, int64_t t) { return n == 1 && t == 1; }},
      {"equal", [](int64_t n, int64_t t) { return n == t; }},
      {"more", [](int64_t n, int64_t t) { return n > t; }},
      {"many", [](int64_t n, int64_t t) { return n * t > 20; }},
  };
  for (const auto& [name, is] : branches) {
    for (const Shape& s : {Shape{1, 1}, Shape{2, 2}, Shape{4, 4}, Shape{2, 9}, Shape{8, 16},
                           Shape{1, 5}, Shape{6, 1}}) {
      SCOPED_TRACE(std::string(name) + " at " + to_text(s).text);
      EXPECT_THAT(
          refusal_of(
              [is = is](const Tensor& x) { return is(x.size(0), x.size(1)) ? relu(x) : exp(x); }, s,
              dims),
          AllOf(HasSubstr("control flow depends"), HasSubstr("batch = "), HasSubstr("time = ")));
    }
  }
  // the size of the one where the other's could be meant
  Net net([](const Tensor& x) { return x.reshape({x.size(1), -1}); });
  const ir::Graph graph = capture(net, {{"x", example({4, 4}), dims, {}}});
  for (const Shape& s : {Shape{1, 5}, Shape{6, 1}, Shape{3, 7}}) expect_equal(graph, net, s);
}

TEST(CaptureSizes, AModelThatFailsAtAPromisedSizeSaysWhereTheRangeIsNarrowed) {
  auto f = [](const Tensor& x) {
    return max_pool2d(x, {4, 4});  // too small a picture has no window
  };
  const std::string text = refusal_of(f, {2, 1, 9, 8}, {{2, "height"}});
  EXPECT_THAT(text,
              AllOf(HasSubstr("forward runs at height = 9 and fails at height = 1: "),
                    HasSubstr("capture_sizes_test.cc:"),
                    HasSubstr("kept out by DynamicDim::min, max and multiple_of (height is 1 to")));
  EXPECT_EQ(refusal_of(f, {2, 1, 9, 8}, {{2, "height", 4}}), "no error");
  auto limited = [](const Tensor& x) {
    if (x.size(0) > 6) throw std::runtime_error("six at most");
    return relu(x);
  };
  // If nobody stated a largest size, the range ends where forward fails.
  Net ends(limited);
  const ir::Graph graph = capture(ends, {{"x", example({2, 3}), {{0, "batch"}}, {}}});
  EXPECT_EQ(graph.value(graph.inputs()[0]).shape[0].max(), 6);
  EXPECT_THAT(refusal_of(limited, {2, 3}, {{0, "batch", 1, 30}}),
              AllOf(HasSubstr("fails at batch = 30: six at most"), HasSubstr("DynamicDim")));
  EXPECT_EQ(refusal_of(limited, {2, 3}, {{0, "batch", 1, 6}}), "no error");
  // A table that is too short for a size which only the check beside forward reaches.
  auto table = [](const Tensor& x) { return x + zeros({100, 3}).slice(0, 0, x.size(0)); };
  Net rows(table);
  const ir::Graph within = capture(rows, {{"x", example({2, 3}), {{0, "batch"}}, {}}});
  EXPECT_EQ(within.value(within.inputs()[0]).shape[0].max(), 100);
  EXPECT_THAT(refusal_of(table, {2, 3}, {{0, "batch", 1, 2000}}),
              AllOf(HasSubstr("forward runs at batch = 2 and fails at batch = "),
                    HasSubstr("multiple_of (batch is 1 to 2000")));
}

// The edges of a graph name its nodes: a run with fewer nodes needs other edges than the example's.
// What fails for another reason is refused as before.
TEST(CaptureSizes, IntegersThatArePlacesAlongADimensionFitEachOfItsSizes) {
  for (const DType t : {DType::kI64, DType::kI32}) {
    Net none([](const Tensor& x) { return x; });
    const Tensor edges = tensor<int64_t>({4, 2, 0, 3, 1, 4, 2}).to(t);
    auto gather = [](const Tensor& nodes, const Tensor& at) { return nodes.index_select(0, at); };
    auto of = [&](int64_t most) {
      return capture(none,
                     {{"nodes", example({5, 3}), {{0, "nodes", 1, most}}},
                      {"edges", edges, {{0, "edges", 0}}}},
                     gather);
    };
    const ir::Graph graph = of(DynamicDim().max);
    EXPECT_EQ(graph.value(graph.inputs()[0]).shape[0].max(), DynamicDim().max);
    for (int64_t n : {1, 2, 9}) {
      const Tensor x = example({n, 3}), at = remainder(arange(13), n).to(t);
      const std::vector<HostTensor> in = {host_copy(x), host_copy(at)};
      EXPECT_TRUE(same_bits(ir::run(graph, in)[0], host_copy(gather(x, at)))) << n;
    }
  }
  auto three = [](const Tensor& x, const Tensor& at) {
    if (x.size(0) < 3) throw std::runtime_error("three at least");
    return x.index_select(0, at);
  };
  Net none([](const Tensor& x) { return x; });
  const std::string text = error_of([&] {
    capture(none, {{"x", example({5, 3}), {{0, "nodes"}}}, {"at", tensor<int64_t>({4, 0})}}, three);
  });
  EXPECT_THAT(text, HasSubstr("fails at nodes = 1: three at least"));
}

TEST(CaptureSizes, ABranchBelowAStatedMinimumIsNoError) {
  Net net([](const Tensor& x) { return x.size(0) > 3 ? relu(x) : sigmoid(x); });
  ir::Graph graph = capture(net, {{"x", example({6, 3}), {{0, "batch", 4}}, {}}});
  for (int64_t n : {4, 7, 30}) expect_equal(graph, net, {n, 3});
}

// An op that moves no numbers may do so at one size and not at another.
TEST(CaptureSizes, WhatDependsOnMemoryAloneIsCapturedAtEverySize) {
  const std::vector<std::function<Tensor(const Tensor&)>> all = {
      [](const Tensor& x) { return relu(x.transpose(0, 1).contiguous()).transpose(0, 1) * 2; },
      [](const Tensor& x) { return relu(x.t().clone().contiguous()).t().contiguous(); },
      [](const Tensor& x) { return relu(x.transpose(0, 1).reshape({-1})); },
      [](const Tensor& x) {  // a row into every one
        Tensor y = relu(x);
        y.copy_(x.slice(0, 0, 1) * 3);
        return y + 1;
      },
      [](const Tensor& x) { return softmax(x - amax(x, {0}, true), 1) * mean(x, {0}); },
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (int64_t n : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(i) + " at " + std::to_string(n));
      Net net(all[i]);
      ir::Graph graph = capture(net, {{"x", example({n, 3}), {{0, "batch"}}, {}}});
      for (int64_t m : {1, 2, 5, 24}) expect_equal(graph, net, {m, 3});
    }
  }
}

TEST(CaptureSizes, NothingDynamicStillSeesData) {
  auto branch = [](const Tensor& x) { return x.size(0) > 3 ? relu(x) : exp(x); };
  EXPECT_EQ(refusal_of(branch, {4, 3}, {}), "no error");
  const std::string text = refusal_of(
      [](const Tensor& x) { return mul(x, full({1}, x.to_vector<float>()[0])); }, {4, 3}, {});
  EXPECT_THAT(text, HasSubstr("capture_sizes_test.cc:"));
}

TEST(CaptureSizes, OneSymbolIsOneSize) {
  auto f = [](const Tensor& x) { return matmul(x, x); };
  Net net(f);
  ir::Graph graph = capture(net, {{"x", example({4, 4}), {{0, "n"}, {1, "n"}}, {}}});
  for (int64_t n : {1, 3, 24}) expect_equal(graph, net, {n, n});
  EXPECT_THAT(refusal_of([](const Tensor& x) { return relu(x); }, {4, 5}, {{0, "n"}, {1, "n"}}),
              AllOf(HasSubstr("\"n\" stands for one size, and the examples have 4 and 5"),
                    HasSubstr("a symbol of its own")));
}

TEST(CaptureSizes, AnExampleOutsideTheBoundsIsRefused) {
  auto f = [](const Tensor& x) { return relu(x); };
  EXPECT_THAT(refusal_of(f, {9, 2}, {{0, "batch", 1, 8}}), HasSubstr("which is 1 to 8"));
  EXPECT_THAT(refusal_of(f, {1, 2}, {{0, "batch", 2}}), HasSubstr("has 1 along dimension 0"));
}

TEST(CaptureSizes, TheSizesAreWithinTheBoundsAndUnlike) {
  for (int64_t min : {0, 1, 2, 7}) {
    for (int64_t span : {0, 1, 2, 3, 10, 100, 1 << 20}) {
      for (int64_t at : {int64_t{0}, int64_t{1}, span / 2, span}) {
        const std::vector<FreeSize> one = {{"a", min + std::min(at, span), min, min + span}};
        const std::vector<Sizes> sizes = further_sizes(one);
        ASSERT_FALSE(sizes.empty());
        std::set<int64_t> seen = {one[0].example};
        for (const Sizes& s : sizes) {
          EXPECT_GE(s[0], min);
          EXPECT_LE(s[0], min + span);
          seen.insert(s[0]);
        }
        EXPECT_TRUE(seen.count(min)) << "the smallest";
        EXPECT_GE(seen.size(), std::min<size_t>(3, static_cast<size_t>(span) + 1));
        const std::vector<FreeSize> two = {one[0], {"b", one[0].example, min, min + span}};
        for (const Sizes& s : further_sizes(two)) {
          for (int64_t n : s) {
            EXPECT_GE(n, min);
            EXPECT_LE(n, min + span);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick
