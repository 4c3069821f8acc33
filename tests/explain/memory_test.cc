// Memory: exact footprints, snapshots by site, the hunt for a leak.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/error_of.h"
#include "trainer/explain/memory.h"
#include "trainer/nn/layers.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

TEST(Footprint, ExactBytes) {
  EXPECT_EQ(memory_footprint(zeros({1000, 1000})), 4'000'000);
  EXPECT_EQ(memory_footprint(zeros({1000, 1000}, DType::kF64)), 8'000'000);
  EXPECT_EQ(memory_footprint(zeros({60000, 784}, DType::kU8)), 47'040'000);
  EXPECT_EQ(memory_footprint(zeros({1000, 1000}).select(0, 3)), 4000);
  EXPECT_EQ(memory_footprint(zeros({})), 4);
  EXPECT_EQ(memory_footprint(zeros({0, 5})), 0);
  EXPECT_EQ(memory_footprint(Tensor()), 0);
}

// A @ B of (1000,1000) peaks at three such matrices: what the kernel packs is no tensor.
TEST(Footprint, MatmulPeak) {
  size_t before = live_bytes();
  reset_peak_bytes();
  Tensor a = zeros({1000, 1000}), b = zeros({1000, 1000});
  Tensor c = matmul(a, b);
  EXPECT_EQ(live_bytes() - before, 12'000'000U);
  EXPECT_EQ(peak_bytes() - before, 12'000'000U);
  Tensor view = c.t();
  EXPECT_EQ(live_bytes() - before, 12'000'000U);
  Tensor twice = c.to(DType::kF64);
  EXPECT_EQ(live_bytes() - before, 20'000'000U);
}

// A block of the right operand, and one of the left a thread, however large the product.
TEST(Footprint, MatmulScratchIsBounded) {
  std::thread([] {  // nothing has grown its scratch memory yet
    size_t before = scratch_bytes();
    auto of = [&](int64_t m, int64_t k, int64_t n) {
      matmul(zeros({m, k}), zeros({k, n}));
      return scratch_bytes() - before;
    };
    EXPECT_GT(of(200, 200, 200), 0U);
    size_t blocks = of(200, 1100, 2100);
    EXPECT_LT(blocks, size_t{4} * (2016 * 1024 + 128 * 1024 * num_threads()));
    EXPECT_EQ(of(300, 2500, 5000), blocks);
  })
      .join();
}

TEST(Footprint, ScratchGoesWithItsThread) {
  size_t before = scratch_bytes();
  std::thread([&] {
    matmul(zeros({64, 64}), zeros({64, 64}));
    EXPECT_GT(scratch_bytes(), before);
  }).join();
  EXPECT_EQ(scratch_bytes(), before);
}

TEST(Footprint, ModuleAndOptimizer) {
  nn::Sequential net(nn::Conv2d(1, 8, 3), nn::BatchNorm2d(8));
  const int64_t parameters = 4 * (8 * 9 + 8 + 8 + 8), buffers = 4 * 16 + 8;
  Footprint f = memory_footprint(net);
  EXPECT_EQ(f.parameters, parameters);
  EXPECT_EQ(f.buffers, buffers);
  EXPECT_EQ(f.gradients, 0);
  optim::SGD plain(net.parameters(), {.lr = 0.1});
  optim::SGD momentum(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::Adam adam(net.parameters());
  net(rand({2, 1, 5, 5})).sum().backward();
  EXPECT_EQ(memory_footprint(net).gradients, parameters);
  EXPECT_EQ(memory_footprint(net).total(), 2 * parameters + buffers);
  plain.step(), momentum.step(), adam.step();
  EXPECT_EQ(memory_footprint(plain), 0);
  EXPECT_EQ(memory_footprint(momentum), parameters);
  EXPECT_EQ(memory_footprint(adam), 2 * parameters);
  EXPECT_EQ(memory_footprint(net).text(),
            "parameters 384 bytes\nbuffers    72 bytes\ngradients  384 bytes\ntotal      840 "
            "bytes\n");
}

TEST(Snapshot, BySite) {
  Tensor a = ones({1000});
  MemoryRecorder recorder;
#line 70 "train.cpp"
  Tensor b = a * 2.0;
  Tensor c = b.view({10, 100});
  Tensor d = exp(c);
  { Tensor gone = exp(d); }
#line 66 "memory_test.cc"
  MemorySnapshot s = memory_snapshot();
  EXPECT_EQ(s.bytes, 8000);
  EXPECT_EQ(s.text(),
            "7.8 KiB in 2 tensors\n"
            "  3.9 KiB in 1 tensor: exp at train.cpp:72\n"
            "  3.9 KiB in 1 tensor: mul at train.cpp:70\n");
}

// A cache that grows by one activation a step: the difference of two snapshots names its line.
TEST(Snapshot, LeakHunt) {
  nn::Sequential net(nn::Linear(8, 64), nn::Tanh(), nn::Linear(64, 1));
  Tensor x = ones({4, 8});
  std::vector<Tensor> cache;
  MemoryRecorder recorder;
  auto step = [&] {
#line 80 "train.cpp"
    Tensor h = net(x);
    Tensor loss = h.sum();
    loss.backward();
    cache.push_back(x * 0.5);
    net.zero_grad();
#line 88 "memory_test.cc"
  };
  step();
  MemorySnapshot first = memory_snapshot();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(difference(first, memory_snapshot()).text(),
            "384 bytes in 3 tensors\n  384 bytes in 3 tensors: mul at train.cpp:83\n");
  cache.clear();
  MemorySnapshot back = difference(first, memory_snapshot());
  EXPECT_EQ(back.bytes, -128);
}

TEST(Snapshot, GradientsAreOfTheirForwardLine) {
  nn::Linear fc(4, 2);
  MemoryRecorder recorder;
#line 90 "train.cpp"
  fc(ones({3, 4})).sum().backward();
#line 105 "memory_test.cc"
  std::string text = memory_snapshot().text();
  EXPECT_NE(text.find("backward of linear at train.cpp:90"), std::string::npos) << text;
}

TEST(Snapshot, NeedsARecorderAndOnlyOne) {
  EXPECT_EQ(test::error_of([] { memory_snapshot(); }).substr(0, 37),
            "[memory_snapshot] nothing was recorde");
  MemoryRecorder recorder;
  EXPECT_EQ(test::error_of([] { MemoryRecorder second; }).substr(0, 45),
            "[MemoryRecorder] one is recording already (me");
  EXPECT_EQ(memory_snapshot().bytes, 0);
}

}  // namespace
}  // namespace wick
