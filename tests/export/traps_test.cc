// Forwards that a capture can get wrong silently: each is right at every size of its range, or
// refused with the line. Outcomes are properties of the tests in their JSON, for in_torch.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using F = std::function<Tensor(const Tensor&)>;

// "right", "refused: ..." or "silent at ...".
std::string outcome(const F& f, const std::vector<DynamicDim>& dims) {
  Program p = form("trap", {2, 6, 8}, dims, f);
  std::optional<ir::Graph> graph;
  const std::string refusal = error_of([&] { graph = capture_call(*p.module, p.inputs, p.call); });
  if (!graph) return "refused: " + refusal;
  NoGrad guard;
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 99, 100, 127, 128, 200}) {
    for (bool other : {false, true}) {
      Shape s = {3, 5, 8};
      bool within = true;
      for (const DynamicDim& d : dims) {
        s[d.dim] = (d.dim == 0) == other ? n : s[d.dim];
        within = within && s[d.dim] >= d.min && s[d.dim] <= d.max;
      }
      if (!within) continue;
      const Tensor x = some_floats(s);
      const HostTensor in = host_copy(x);
      std::optional<HostTensor> want;
      const std::string failed = error_of([&] { want = host_copy(f(x.clone())); });
      if (!want) return "forward fails at " + std::string(to_text(s).text) + ": " + failed;
      std::optional<HostTensor> got;
      error_of([&] { got = ir::run(*graph, {&in, 1})[0]; });
      if (!got || !same_bits(*got, *want)) return "silent at " + std::string(to_text(s).text);
    }
  }
  return "right";
}

const std::vector<DynamicDim> kBoth = {{0, "batch", 1, 200}, {1, "time", 1, 200}};

struct Trap {
  const char* name;
  F f;
};

int64_t calls = 0;
double factor = 1;

std::vector<Trap> refused() {
  return {
      {"branch on one", [](const Tensor& x) { return x.size(0) == 1 ? relu(x) : exp(x); }},
      {"branch on two", [](const Tensor& x) { return x.size(1) <= 2 ? relu(x) : exp(x); }},
      {"branch on odd", [](const Tensor& x) { return x.size(1) % 2 == 1 ? relu(x) : exp(x); }},
      {"branch on many", [](const Tensor& x) { return x.size(1) > 16 ? relu(x) : exp(x); }},
      {"branch on a sum", [](const Tensor& x) { return sum(x).item() > 0 ? relu(x) : exp(x); }},
      {"branch on an element",
       [](const Tensor& x) { return x.to_vector<float>()[0] > 0 ? relu(x) : exp(x); }},
      {"baked item", [](const Tensor& x) { return x * mean(x).item(); }},
      {"baked data",
       [](const Tensor& x) {
         return x + from_blob(x.to_vector<float>().data(), {1}, DType::kF32);
       }},
      {"loop over time",
       [](const Tensor& x) {
         Tensor s = zeros({x.size(0), 8});
         for (int64_t t = 0; t < x.size(1); ++t) s = tanh(s + x.select(1, t));
         return s;
       }},
      {"list of the batch",
       [](const Tensor& x) {
         std::vector<Tensor> all;
         for (int64_t n = 0; n < x.size(0); ++n) all.push_back(relu(x.select(0, n)));
         return stack(all, 0);
       }},
      {"bits of a size",
       [](const Tensor& x) {
         int64_t n = 0;
         for (int64_t t = x.size(1); t > 0; t /= 2) ++n;
         return x * n;
       }},
      {"sine of a size",
       [](const Tensor& x) { return x * std::sin(static_cast<double>(x.size(1))); }},
      {"counts its calls", [](const Tensor& x) { return x + (calls++ % 7); }},
      {"global that changes",
       [](const Tensor& x) {
         factor += 1;
         return x * factor;
       }},
      {"random numbers", [](const Tensor& x) { return x + rand({1}); }},
      {"dropout in training", [](const Tensor& x) { return dropout(x, 0.5, true); }},
      {"nonzero", [](const Tensor& x) { return nonzero(gt(x, 0)); }},
      {"masked select", [](const Tensor& x) { return masked_select(x, gt(x, 0)); }},
      {"writes data from the host",
       [](const Tensor& x) {
         Tensor y = x.clone();
         y.mutable_data<float>()[0] = 3;
         return y;
       }},
      {"a size looked up",
       [](const Tensor& x) {
         static const std::vector<int64_t> table = {3, 1, 4, 1, 5, 9, 2, 6};
         return x * table[static_cast<size_t>(x.size(1)) % table.size()];
       }},
  };
}

std::vector<Trap> right() {
  return {
      {"view and write",
       [](const Tensor& x) {
         Tensor y = x.clone();
         Tensor v = y.select(1, 0);
         y.mul_(2);
         return v + 1;
       }},
      {"write and view",
       [](const Tensor& x) {
         Tensor y = x.clone();
         y.select(1, 0).add_(5);
         return y * 2;
       }},
      {"input written",
       [](const Tensor& x) {
         Tensor y = x;
         y.add_(1);
         return y * 3;
       }},
      {"the same twice",
       [](const Tensor& x) {
         return cat({x, x}, 1);
       }},
      {"transposed and written",
       [](const Tensor& x) {
         Tensor y = x.clone();
         y.transpose(1, 2).mul_(2);
         return y;
       }},
      {"floor division", [](const Tensor& x) { return x * (x.size(1) / 4); }},
      {"ceiling division", [](const Tensor& x) { return x * ((x.size(1) + 3) / 4); }},
      {"a remainder", [](const Tensor& x) { return x * (x.size(1) % 4); }},
      {"rounded up to eight", [](const Tensor& x) { return x * ((x.size(1) + 7) / 8 * 8); }},
      {"a product of sizes",
       [](const Tensor& x) { return x / static_cast<double>(x.size(0) * x.size(1)); }},
      {"a sum of sizes", [](const Tensor& x) { return x * (x.size(0) + x.size(1)); }},
      {"a square", [](const Tensor& x) { return x * (x.size(1) * x.size(1)); }},
      {"twice less one", [](const Tensor& x) { return x * (2 * x.size(1) - 1); }},
      {"at least four", [](const Tensor& x) { return x * std::max<int64_t>(x.size(1), 4); }},
      {"at most four", [](const Tensor& x) { return x * std::min<int64_t>(x.size(1), 4); }},
      {"a number that is a size by chance", [](const Tensor& x) { return x * 6; }},
      {"equal sizes by chance",
       [](const Tensor& x) {
         return x.reshape({x.size(1), x.size(0), 8});
       }},
      {"eight that is a size", [](const Tensor& x) { return x / x.size(2); }},
      {"ceil mode", [](const Tensor& x) { return avg_pool1d(x.transpose(1, 2), 1, 1, 0, true); }},
      {"empty slice",
       [](const Tensor& x) {
         return cat({x.slice(1, 0, 0), x}, 1);
       }},
      {"beyond the end", [](const Tensor& x) { return x.slice(1, 0, 1000); }},
      {"from the end", [](const Tensor& x) { return x.slice(1, -1, x.size(1)); }},
      {"a negative stride",
       [](const Tensor& x) {
         return flip(x, {0, 1});
       }},
      {"an unused result",
       [](const Tensor& x) {
         exp(x);
         return relu(x);
       }},
      {"a constant result beside",
       [](const Tensor& x) {
         return zeros({1, 1, 8}) + x;
       }},
      {"integer means", [](const Tensor& x) { return sum(x, {1}) / x.size(1); }},
      {"sizes as a tensor",
       [](const Tensor& x) {
         return x * sum(tensor<int64_t>({x.size(0), x.size(1)}));
       }},
  };
}

TEST(Traps, AreRefusedWithTheLine) {
  for (const Trap& t : refused()) {
    const std::string o = outcome(t.f, kBoth);
    RecordProperty(t.name, o);
    EXPECT_THAT(o, testing::StartsWith("refused: ")) << t.name;
  }
}

// The number of outputs is part of what must be the same.
TEST(Traps, OutputsOfASizesNumberAreRefused) {
  nn::Identity none;
  const std::vector<CaptureInput> inputs = {{"x", some_floats({2, 6, 8}), {{0, "batch"}}}};
  const std::string refusal = error_of([&] {
    capture(none, inputs, [](const Tensor& x) {
      return std::vector<Tensor>(static_cast<size_t>(x.size(0)), relu(x));
    });
  });
  RecordProperty("as many outputs as the batch", "refused: " + refusal);
  EXPECT_THAT(refusal,
              testing::HasSubstr("forward returns 2 tensors at batch = 2 and 1 at batch = 1"));
}

TEST(Traps, AreRight) {
  for (const Trap& t : right()) {
    const std::string o = outcome(t.f, kBoth);
    RecordProperty(t.name, o);
    EXPECT_EQ(o, "right") << t.name;
  }
}

}  // namespace
}  // namespace wick::test
