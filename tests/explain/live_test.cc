// Graphs kept alive: counted, dated, and harmless after backward.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "trainer/explain/live.h"
#include "trainer/explain/memory.h"
#include "trainer/explain/warn.h"
#include "trainer/nn/layers.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/ops.h"

// A sanitizer ends the program where malloc gives null, unless it is told otherwise.
#define WICK_MALLOC_MAY_FAIL(sanitizer)             \
  extern "C" __attribute__((visibility("default"))) \
  const char* __##sanitizer##_default_options() {   \
    return "allocator_may_return_null=1";           \
  }
#if defined(__SANITIZE_ADDRESS__)
WICK_MALLOC_MAY_FAIL(asan)
#elif defined(__SANITIZE_THREAD__)
WICK_MALLOC_MAY_FAIL(tsan)
#endif

namespace wick {
namespace {

TEST(LiveGraphs, CountedByLineAndStep) {
  ASSERT_EQ(live_graphs().text(), "no graphs alive");
  Tensor w = ones({256}).requires_grad_();
  optim::SGD opt({w}, {.lr = 0.1});
  std::vector<Tensor> kept;
  for (int step = 1; step <= 5; ++step) {
    opt.zero_grad();
    (w * w).sum().backward();
    if (step >= 3) {
#line 52 "train.cpp"
      kept.push_back((w * w).sum());
#line 42 "live_test.cc"
    }
    opt.step();
  }
  LiveGraphs live = live_graphs();
  EXPECT_EQ(live.graphs, 3);
  EXPECT_EQ(live.nodes, 6);
  EXPECT_EQ(live.sites.size(), 3U);
  EXPECT_EQ(live.text(),
            "3 graphs alive, 0 bytes of saved tensors; oldest made at train.cpp:52 in step 3. Use "
            "loss.item() or detach().");
  kept.erase(kept.begin());
  EXPECT_EQ(live_graphs().oldest_step, 4);
  kept.clear();
  EXPECT_EQ(live_graphs().graphs, 0);
}

// A value saved for backward is counted once; parameters are not counted.
TEST(LiveGraphs, SavedBytes) {
  Tensor w = ones({1024}).requires_grad_();
  Tensor h = w * 2.0;  // saves nothing that lives on but w and 2
  size_t before = live_graphs().saved_bytes;
  Tensor y = (h * h).sum();  // saves h, twice
  EXPECT_EQ(live_graphs().saved_bytes - before, 4096U);
}

// total = total + loss: one graph that grows.
TEST(LiveGraphs, GrowingSum) {
  Tensor w = ones({4}).requires_grad_();
  optim::SGD opt({w}, {.lr = 0.1});
  Tensor total = zeros({});
  for (int step = 1; step <= 4; ++step) {
    opt.zero_grad();
    Tensor loss = (w * w).sum();
#line 60 "train.cpp"
    total = total + loss;
#line 78 "live_test.cc"
    loss.backward(Tensor(), true);
    opt.step();
  }
  EXPECT_NE(live_graphs().text().find("it grew at train.cpp:60 from step 1 to 4"),
            std::string::npos)
      << live_graphs().text();
}

// A loss kept after backward holds one scalar: 1,000 of them, and the live bytes stay flat.
TEST(LiveGraphs, ThousandKeptLosses) {
  nn::Sequential net(nn::Linear(32, 64), nn::Tanh(), nn::Linear(64, 1));
  Tensor x = ones({16, 32});
  optim::SGD opt(net.parameters(), {.lr = 0.01});
  std::vector<Tensor> losses;
  size_t after_first = 0;
  for (int i = 0; i < 1000; ++i) {
    opt.zero_grad();
    Tensor loss = net(x).mean();
    loss.backward();
    opt.step();
    losses.push_back(loss);
    if (i == 0) after_first = live_bytes();
  }
  EXPECT_EQ(live_bytes() - after_first, 999 * sizeof(float));
  EXPECT_EQ(live_graphs().graphs, 0);
}

// Graphs that other threads record and free meanwhile are neither counted nor read.
TEST(LiveGraphs, ThreadsCountTheirOwn) {
  auto train = [](int kept_losses) {
    Tensor w = ones({64}).requires_grad_();
    std::vector<Tensor> kept;
    for (int i = 0; i < 100; ++i) {
      Tensor loss = exp(w).sum();
      if (i < kept_losses) {
        kept.push_back(loss);
      } else {
        loss.backward();
      }
      ASSERT_EQ(live_graphs().graphs, std::min(i + 1, kept_losses));
    }
  };
  std::thread other(train, 3);
  train(5);
  other.join();
}

// The warning comes by itself.
TEST(LiveGraphs, OptimizerWarns) {
  CollectWarnings collected;
  Tensor w = ones({4}).requires_grad_();
  optim::SGD opt({w}, {.lr = 0.1});
  std::vector<Tensor> history;
  for (int step = 1; step <= 200; ++step) {
    opt.zero_grad();
    history.push_back((w * w).sum());
    opt.step();
  }
  ASSERT_GE(collected.warnings().size(), 1U);
  ASSERT_LE(collected.warnings().size(), 4U);
  EXPECT_EQ(collected.warnings()[0].code, "kept-graphs");
  EXPECT_NE(collected.text().find("in step 1. Use loss.item() or detach()."), std::string::npos);
}

TEST(LiveGraphs, InTheTextOfOutOfMemory) {
  Tensor w = ones({256}).requires_grad_();
  Tensor kept = exp(w).sum();
  try {
    empty({int64_t{1} << 50});
    FAIL() << "a petabyte was allocated";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kOutOfMemory);
    EXPECT_NE(std::string(e.what()).find("1 graph alive, 1.0 KiB of saved tensors"),
              std::string::npos)
        << e.what();
  }
}

// -- the first of the three bugs: no zero_grad
struct Loop {
  nn::Sequential net{nn::Linear(2, 1)};
  optim::SGD opt{net.parameters(), {.lr = 0.1}};
  void backward() { net(ones({3, 2})).sum().backward(); }
};

TEST(StaleGradient, ReportedOnceAtTheSecondStep) {
  CollectWarnings collected;
  Loop loop;
  for (int step = 0; step < 4; ++step) {
    loop.backward();
    loop.opt.step();
    EXPECT_EQ(collected.warnings().size(), step == 0 ? 0U : 1U);
  }
  ASSERT_EQ(collected.warnings().size(), 1U);
  EXPECT_EQ(collected.warnings()[0].code, "stale-gradient");
  EXPECT_EQ(collected.warnings()[0].text,
            "step 2: gradient of '0.weight' was already applied in step 1 and then added to. Call "
            "zero_grad() after step(), or declare accumulation with opt.accumulate(k).");
}

TEST(StaleGradient, ClearedInAnyWayIsFine) {
  CollectWarnings collected;
  Loop loop;
  for (int step = 0; step < 8; ++step) {
    loop.backward();
    loop.backward();  // two backwards a step are nobody's business
    loop.opt.step();
    if (step % 4 == 0) loop.opt.zero_grad();
    if (step % 4 == 1) loop.opt.zero_grad(false);
    if (step % 4 == 2) loop.net.zero_grad();
    if (step % 4 == 3) {
      NoGrad guard;
      for (const Tensor& p : loop.net.parameters()) p.grad().zero_();
    }
  }
  EXPECT_EQ(collected.text(), "");
}

// Clipping between backward and step does not hide it, and neither does create_graph.
TEST(StaleGradient, SeenThroughClippingAndCreateGraph) {
  for (bool create_graph : {false, true}) {
    CollectWarnings collected;
    Loop loop;
    for (int step = 0; step < 2; ++step) {
      loop.net(ones({3, 2})).sum().backward(Tensor(), create_graph, create_graph);
      NoGrad guard;
      for (const Tensor& p : loop.net.parameters()) p.grad().mul_(0.5);
      loop.opt.step();
    }
    EXPECT_EQ(collected.warnings().size(), 1U) << create_graph;
    loop.net.zero_grad();
  }
}

// accumulate(k): step() after every backward, an update and cleared gradients at each k-th.
TEST(StaleGradient, DeclaredAccumulation) {
  CollectWarnings collected;
  Loop declared, by_hand;
  by_hand.net.load_state_dict(declared.net.state_dict());
  declared.opt.accumulate(3);
  for (int step = 0; step < 6; ++step) {
    declared.backward();
    declared.opt.step();
    by_hand.backward();
    if (step % 3 == 2) {
      by_hand.opt.step();
      by_hand.opt.zero_grad();
    }
  }
  EXPECT_EQ(collected.text(), "");
  std::vector<Tensor> a = declared.net.parameters(), b = by_hand.net.parameters();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>());
    EXPECT_FALSE(a[i].grad().defined());
  }
  EXPECT_THROW(declared.opt.accumulate(0), Error);
}

}  // namespace
}  // namespace wick
