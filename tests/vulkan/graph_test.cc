#include "runtime/backend/vulkan/graph/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using namespace vulkan;

// Records each call twice: as a node of the device graph, and as values computed by the reference
// kernels.
class Chain {
 public:
  Chain(Context& context, Allocator& allocator) : graph(context, allocator) {}

  size_t input(Shape shape, const char* name) { return add(shape, name, true); }
  size_t constant(Shape shape, const char* name) { return add(shape, name, false); }

  // Negative: an absent input.
  template <class A = NoAttrs>
  size_t call(OpId op, std::vector<int> in, A attrs = {}) {
    std::vector<TensorId> in_ids;
    std::vector<Value> in_values, out;
    AnyAttrs any = AnyAttrs::of(attrs);
    for (int i : in) {
      in_ids.push_back(i < 0 ? kNoTensor : ids[static_cast<size_t>(i)]);
      in_values.push_back(i < 0 ? Value() : values[static_cast<size_t>(i)]);
    }
    Status s = run_op(op, any.get(), in_values, 1, reference_sets(), nullptr, &out);
    EXPECT_TRUE(s.ok()) << s.message();
    TensorId id = keep(graph.add_temporary(DType::kF32, out[0].view().shape));
    s = graph.add_call(op, any.get(), in_ids, {&id, 1});
    if (status.ok()) status = s;
    ids.push_back(id);
    values.push_back(out[0]);
    return ids.size() - 1;
  }

  // Finishes, runs, and returns the largest |difference| / largest |value| over the outputs.
  Status run(std::vector<size_t> outputs, double* worst) {
    WICK_TRY(status);
    for (size_t o : outputs) WICK_TRY(graph.add_output(ids[o]));
    WICK_TRY(graph.finish());
    return again(outputs, worst);
  }
  Status again(const std::vector<size_t>& outputs, double* worst) {
    std::vector<Value> got;
    std::vector<void*> to;
    for (size_t o : outputs) got.emplace_back(DType::kF32, values[o].view().shape);
    for (Value& v : got) to.push_back(v.view().data);
    WICK_TRY(graph.run(from, to));
    *worst = 0;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Value& want = values[outputs[k]];
      double largest = 0, off = 0;
      for (int64_t i = 0; i < want.view().numel(); ++i) {
        largest = std::fmax(largest, std::fabs(want.at(i)));
        double d = std::fabs(want.at(i) - got[k].at(i));
        off = std::isnan(d) ? INFINITY : std::fmax(off, d);
      }
      *worst = std::fmax(*worst, off / largest);
    }
    return {};
  }

  VulkanGraph graph;
  std::vector<TensorId> ids;
  std::vector<Value> values;
  std::vector<const void*> from;
  Status status;

 private:
  TensorId keep(Result<TensorId> r) {
    if (!r.ok() && status.ok()) status = r.status();
    return r.ok() ? r.value() : 0;
  }
  size_t add(Shape shape, const char* name, bool is_input) {
    double range = is_input ? 1 : 0.2;
    Value v = make_inputs(sample(name, {f32(shape, -range, range)}))[0];
    TensorId id = keep(is_input ? graph.add_input(DType::kF32, shape)
                                : graph.add_constant(DType::kF32, shape, v.view().data));
    if (is_input) from.push_back(v.view().data);
    ids.push_back(id);
    values.push_back(v);
    return ids.size() - 1;
  }
};

// LeNet as it is exported: fused convolutions, pools, flatten, fused linear layers. Returns the
// logits' index.
size_t build_lenet(Chain& c, int64_t batch) {
  ConvAttrs same;
  same.pads = {1, 1, 1, 1};
  EpilogueAttrs relu;
  relu.activation = static_cast<int64_t>(Activation::kRelu);
  PoolAttrs half;
  half.kernel_shape = {2, 2};
  half.strides = {2, 2};
  auto i = [](size_t n) { return static_cast<int>(n); };
  int x = i(c.input({batch, 1, 28, 28}, "x"));
  int w1 = i(c.constant({32, 1, 3, 3}, "w1")), b1 = i(c.constant({32}, "b1"));
  int w2 = i(c.constant({64, 32, 3, 3}, "w2")), b2 = i(c.constant({64}, "b2"));
  int w3 = i(c.constant({128, 3136}, "w3")), b3 = i(c.constant({128}, "b3"));
  int w4 = i(c.constant({10, 128}, "w4")), b4 = i(c.constant({10}, "b4"));
  int h = i(c.call(OpId::kFusedConv, {x, w1, b1}, FusedConvAttrs{same, relu}));
  h = i(c.call(OpId::kMaxPool, {h}, half));
  h = i(c.call(OpId::kConv, {h, w2, b2}, same));
  h = i(c.call(OpId::kRelu, {h}));
  h = i(c.call(OpId::kMaxPool, {h}, half));
  h = i(c.call(OpId::kFlatten, {h}, AxisAttrs{1}));
  h = i(c.call(OpId::kFusedLinear, {h, w3, b3}, relu));
  return c.call(OpId::kLinear, {h, w4, b4});
}

// Relative to the largest logit: the bound of the numeric contract for f32 models against another
// runtime. The row tests check the derived bounds op by op.
constexpr double kLenetTolerance = 1e-5;

TEST(VulkanGraphTest, LeNetAgreesWithTheCpu) {
  WICK_NEED_DEVICE();
  for (bool staging : {false, true}) {
    for (int64_t batch : {1, 3}) {
      Chain c(*shared_context(staging), default_allocator());
      size_t y = build_lenet(c, batch);
      double worst = 0;
      Status s = c.run({y}, &worst);
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_LT(worst, kLenetTolerance) << "batch " << batch;
      EXPECT_EQ(c.graph.dispatches(), 7u);  // flatten is none
      EXPECT_EQ(c.graph.barriers(), 6u);
      // Two activations live at a time: the arena is less than all of them.
      uint64_t all =
          static_cast<uint64_t>(batch) * 4 * (784 + 25088 + 6272 + 12544 * 2 + 3136 + 128 + 10);
      EXPECT_LT(c.graph.arena_bytes(), all * 3 / 4);
      std::printf("LeNet batch %lld: largest relative difference %.2e\n",
                  static_cast<long long>(batch), worst);
      ASSERT_TRUE(c.again({y}, &worst).ok());  // the recorded commands serve again
      EXPECT_LT(worst, kLenetTolerance);
    }
  }
}

// Much work ends up in several command buffers, never in more than one submission takes.
TEST(VulkanGraphTest, WorkInBatches) {
  WICK_NEED_DEVICE();
  for (bool timeline : {true, false}) {
    for (uint64_t flops : {uint64_t{1}, uint64_t{2'000'000}}) {
      ContextOptions options;
      options.cache_folder = "";
      options.timeline = timeline;
      options.force_staging = flops == 1;
      options.batch_work = flops;
      auto context = Context::create(default_allocator(), options);
      ASSERT_TRUE(context.ok()) << context.status().message();
      {
        Chain c(**context, default_allocator());
        size_t y = build_lenet(c, 1);
        for (int i = 0; i < 40; ++i) y = c.call(OpId::kRelu, {static_cast<int>(y)});
        double worst = 0;
        Status s = c.run({y}, &worst);
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_LT(worst, kLenetTolerance);
        EXPECT_EQ(c.graph.barriers(), 46u) << "as in one";
        EXPECT_GT(c.graph.batches(), 1u);
        EXPECT_LE(c.graph.batches(), kMaxBatches);
        ASSERT_TRUE(c.again({y}, &worst).ok());
        EXPECT_LT(worst, kLenetTolerance);
      }
      Context::destroy(*context);
    }
  }
}

TEST(VulkanGraphTest, BarriersOnlyWhereBytesAreShared) {
  WICK_NEED_DEVICE();
  Chain c(*shared_context(true), default_allocator());
  int x = static_cast<int>(c.input({4, 64}, "x"));
  // Four branches that only read x need none between them; the two sums wait once, the last once
  // more.
  int a = static_cast<int>(c.call(OpId::kRelu, {x})),
      b = static_cast<int>(c.call(OpId::kTanh, {x}));
  int d = static_cast<int>(c.call(OpId::kNeg, {x})), e = static_cast<int>(c.call(OpId::kAbs, {x}));
  int p = static_cast<int>(c.call(OpId::kAdd, {a, b})),
      q = static_cast<int>(c.call(OpId::kMul, {d, e}));
  size_t y = c.call(OpId::kSub, {p, q});
  // Outputs, all of them, so that no bytes are used again: that would need a barrier of its own.
  std::vector<size_t> outputs = {y};
  for (int i : {a, b, d, e, p, q}) outputs.push_back(static_cast<size_t>(i));
  double worst = 0;
  Status s = c.run(outputs, &worst);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_LT(worst, 1e-6);
  EXPECT_EQ(c.graph.barriers(), 2u);
}

TEST(VulkanGraphTest, OutputsThatNoShaderWrites) {
  WICK_NEED_DEVICE();
  for (bool staging : {false, true}) {
    Chain c(*shared_context(staging), default_allocator());
    size_t x = c.input({3, 5}, "x"), k = c.constant({7}, "k");
    size_t view = c.call(OpId::kReshape, {static_cast<int>(x)}, ReshapeAttrs{{5, 3}, 0});
    size_t used = c.call(OpId::kRelu, {static_cast<int>(view)});
    double worst = 0;
    Status s = c.run({x, k, view, used}, &worst);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(worst, 0);
  }
}

TEST(VulkanGraphTest, ArenaReuseKeepsLiveValuesApart) {
  WICK_NEED_DEVICE();
  // A value kept alive across many others that come and go in the same bytes.
  Chain c(*shared_context(true), default_allocator());
  int x = static_cast<int>(c.input({1000}, "x"));
  int kept = static_cast<int>(c.call(OpId::kSigmoid, {x}));
  int h = x;
  for (int i = 0; i < 20; ++i)
    h = static_cast<int>(c.call(i % 2 == 0 ? OpId::kTanh : OpId::kAbs, {h}));
  size_t y = c.call(OpId::kAdd, {h, kept});
  double worst = 0;
  Status s = c.run({y}, &worst);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_LT(worst, 3e-6);
  EXPECT_LE(c.graph.arena_bytes(), 4u * 4096);
}

TEST(VulkanGraphTest, WrongUseIsAStatus) {
  WICK_NEED_DEVICE();
  Context& context = *shared_context(true);
  VulkanGraph graph(context, default_allocator());
  float value = 1;
  EXPECT_EQ(graph.run({}, {}).code(), Code::kInternal);  // not finished
  auto x = graph.add_input(DType::kF32, {1});
  ASSERT_TRUE(x.ok());
  ASSERT_TRUE(graph.add_output(x.value()).ok());
  auto big = graph.add_temporary(DType::kF32, {int64_t{1} << 40});
  EXPECT_EQ(big.status().code(), Code::kUnsupported);
  ASSERT_TRUE(graph.finish().ok());
  const void* in[] = {&value};
  EXPECT_EQ(graph.run(in, {}).code(), Code::kInvalidArgument);
}

// Fails the n-th allocation and counts what is not given back.
class FailingAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    if (count_++ == fail_at_) return nullptr;
    void* p = default_allocator().allocate(bytes, align);
    live_ += p != nullptr;
    return p;
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    live_ -= p != nullptr;
    default_allocator().deallocate(p, bytes, align);
  }
  void fail_at(int64_t n) {
    fail_at_ = n;
    count_ = 0;
  }
  int64_t count() const { return count_; }
  int64_t live() const { return live_; }

 private:
  int64_t fail_at_ = -1, count_ = 0, live_ = 0;
};

TEST(VulkanGraphTest, EveryFailingAllocationIsAStatus) {
  WICK_NEED_DEVICE();
  FailingAllocator allocator;
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    allocator.fail_at(n);
    bool failed = false;
    {
      auto made = Context::create(allocator, {});
      if (made.ok()) {
        {
          Chain c(*made.value(), allocator);
          int x = static_cast<int>(c.input({2, 8}, "x")),
              k = static_cast<int>(c.constant({8}, "k"));
          int h = static_cast<int>(c.call(OpId::kAdd, {x, k}));
          size_t y = c.call(OpId::kRelu, {h});
          double worst = 0;
          Status s = c.run({y}, &worst);
          failed = !s.ok();
          EXPECT_TRUE(s.ok() || s.code() == Code::kOutOfMemory) << s.message();
        }
        Context::destroy(made.value());
      } else {
        failed = true;
        EXPECT_EQ(made.status().code(), Code::kOutOfMemory);
      }
    }
    EXPECT_EQ(allocator.live(), 0) << "allocation " << n;
    failures += failed;
    if (!failed && allocator.count() <= n) break;
    ASSERT_LT(n, 500);
  }
  EXPECT_GT(failures, 10);
}

TEST(VulkanGraphTest, TwoGraphsOfOneDeviceInTwoThreads) {
  WICK_NEED_DEVICE();
  Context& context = *shared_context(true);
  double worst[2] = {1, 1};
  auto work = [&](int which) {
    Chain c(context, default_allocator());
    size_t y = build_lenet(c, 1 + which);
    if (!c.run({y}, &worst[which]).ok()) worst[which] = 1;
    for (int i = 0; i < 5; ++i) {
      double w = 1;
      if (!c.again({y}, &w).ok()) w = 1;
      worst[which] = std::fmax(worst[which], w);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_LT(worst[0], kLenetTolerance);
  EXPECT_LT(worst[1], kLenetTolerance);
}

}  // namespace
}  // namespace wick::test
