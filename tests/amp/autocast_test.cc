// AutocastScope: the dtype in which each op computes, where gradients arrive, and what is cast only
// once.
#include "trainer/tensor/autocast.h"
#include "runtime/kernels/elementwise/half_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

// Counts casts.
class Casts final : public TraceHook {
 public:
  Casts() { set_trace_hook(this); }
  virtual ~Casts() { set_trace_hook(nullptr); }
  void on_op(const TraceEvent& t) override {
    if (std::string(t.op) == "Cast") ++count;
  }
  int count = 0;
};

TEST(Autocast, DTypesArePyTorchs) {
  for (DType low : {DType::kBF16, DType::kF16}) {
    const DType other = low == DType::kBF16 ? DType::kF16 : DType::kBF16;
    Tensor x = randn({4, 4}), h = randn({4, 4}).to(low), u = rand({4, 4}).to(low) * 0.5 + 0.25;
    Tensor image = randn({1, 2, 6, 6}), kernel = randn({3, 2, 3, 3});
    Tensor y = tensor({0.0f, 1.0f, 2.0f, 3.0f}).to(DType::kI64);
    AutocastScope scope(low);
    EXPECT_EQ(autocast_dtype(), low);
    for (const Tensor& t :
         {matmul(x, x), mm(x, h), linear(x, x), linear(h, x, x.select(0, 0)), addmm(h, x, x),
          bmm(x.unsqueeze(0), h.unsqueeze(0)), einsum("ij,jk->ik", {x, h}), matmul(h, h),
          conv2d(image, kernel), scaled_dot_product_attention(x, x, x), mv(x, h.select(0, 0))}) {
      EXPECT_EQ(t.dtype(), low);
    }
    for (const Tensor& t : {softmax(h, -1),
                            log_softmax(h, -1),
                            exp(h),
                            log(u),
                            pow(h, 2),
                            sum(h),
                            cumsum(h, 0),
                            prod(h),
                            softplus(h),
                            reciprocal(u),
                            expm1(h),
                            layer_norm(h, {4}, x.select(0, 0)),
                            group_norm(h, 2),
                            mse_loss(h, h),
                            l1_loss(h, h),
                            cross_entropy(h, y),
                            nll_loss(h, y),
                            binary_cross_entropy_with_logits(h, u),
                            binary_cross_entropy(u, u),
                            kl_div(h, u),
                            smooth_l1_loss(h, h),
                            huber_loss(h, h),

                            batch_norm(h, Tensor(), Tensor(), Tensor(), Tensor(), true),
                            cosine_embedding_loss(h, h, ones({4}))}) {
      EXPECT_EQ(t.dtype(), DType::kF32);
    }
    for (const Tensor& t : {relu(h), h * 2, h + h, tanh(h), abs(h)}) EXPECT_EQ(t.dtype(), low);
    EXPECT_EQ((h + x).dtype(), DType::kF32);
    EXPECT_EQ(cat({h, x}, 0).dtype(), DType::kF32);
    EXPECT_EQ(matmul(h, h.to(other)).dtype(), low);
    // float64 is what the caller asked for.
    EXPECT_EQ(matmul(x.to(DType::kF64), x.to(DType::kF64)).dtype(), DType::kF64);
    EXPECT_EQ(matmul(y.unsqueeze(0), y).dtype(), DType::kI64);
  }
  EXPECT_FALSE(autocast_enabled());
}

TEST(Autocast, ScopesNestAndAreAThreads) {
  Tensor x = ones({2, 2});
  AutocastScope outer(DType::kBF16);
  {
    AutocastScope inner(DType::kF16);
    EXPECT_EQ(matmul(x, x).dtype(), DType::kF16);
    AutocastScope off(DType::kF16, false);
    EXPECT_EQ(matmul(x, x).dtype(), DType::kF32);
    AutocastScope unchanged(DType::kNone);
    EXPECT_EQ(matmul(x, x).dtype(), DType::kF32);
  }
  EXPECT_EQ(matmul(x, x).dtype(), DType::kBF16);
  DType there = DType::kNone;
  std::thread([&] { there = matmul(x, x).dtype(); }).join();
  EXPECT_EQ(there, DType::kF32);
  for (DType bad : {DType::kF32, DType::kF64, DType::kI64, DType::kBool}) {
    EXPECT_THAT(error_of([&] { AutocastScope s(bad); }), HasSubstr("float16 or bfloat16"));
  }
  EXPECT_EQ(matmul(x, x).dtype(), DType::kBF16) << "what was refused changed nothing";
}

TEST(Autocast, GradientsArriveInFloat32) {
  manual_seed(1);
  nn::Linear a(8, 16), b(16, 4);
  Tensor x = randn({5, 8});
  auto grads = [&](DType t) {
    a.zero_grad(), b.zero_grad();
    Tensor loss;
    {
      AutocastScope scope(t == DType::kNone ? DType::kBF16 : t, t != DType::kNone);
      loss = mse_loss(b(relu(a(x))), zeros({5, 4}));
      EXPECT_EQ(loss.dtype(), DType::kF32);
    }
    loss.backward();
    EXPECT_EQ(a.weight.grad().dtype(), DType::kF32);
    return std::vector<Tensor>{a.weight.grad(), a.bias.grad(), b.weight.grad()};
  };
  const auto exact = grads(DType::kNone), bf16 = grads(DType::kBF16), f16 = grads(DType::kF16);
  for (size_t i = 0; i < exact.size(); ++i) {
    const double size = linalg::vector_norm(exact[i]).item();
    const double off16 = linalg::vector_norm(f16[i] - exact[i]).item() / size;
    const double off = linalg::vector_norm(bf16[i] - exact[i]).item() / size;
    EXPECT_LT(off16, 4e-3);
    EXPECT_LT(off, 3e-2);
    EXPECT_GT(off, 0) << "it did compute in bfloat16";
    EXPECT_GT(off, off16);
  }
}

TEST(Autocast, CastsAWeightOnceAStep) {
  Tensor w = randn({4, 4}).requires_grad_(), h = randn({4, 4}).to(DType::kBF16);
  Casts casts;
  {
    AutocastScope scope;
    Tensor y = matmul(matmul(h, w), w);
    EXPECT_EQ(casts.count, 1);
    {
      AutocastScope inner;
      y = matmul(y, w);
    }
    EXPECT_EQ(casts.count, 1) << "the outermost scope keeps them";
    {
      NoGrad guard;
      matmul(h, w);
      EXPECT_EQ(casts.count, 2) << "a cast with a history is not handed to code without";
      w.mul_(2);
    }
    Tensor again = matmul(h, w);
    EXPECT_EQ(casts.count, 3) << "written to since";
    EXPECT_EQ(again.detach().to(DType::kF32).to_vector<float>(),
              matmul(h, w.detach().to(DType::kBF16)).to(DType::kF32).to_vector<float>());
  }
  const int before = casts.count;
  {
    AutocastScope scope;
    matmul(h, w);
  }
  EXPECT_EQ(casts.count, before + 1) << "dropped when the scope ended";
}

// Two backwards through one kept cast, and a backward inside of the scope.
TEST(Autocast, ACastServesTwoBackwards) {
  Tensor w = ones({2, 2}).requires_grad_(), x = ones({2, 2});
  AutocastScope scope;
  sum(matmul(x, w)).backward();
  sum(matmul(x, w)).backward();
  EXPECT_EQ(w.grad().dtype(), DType::kF32);
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{4, 4, 4, 4}));
}

TEST(Autocast, CheckpointRunsAgainAsBefore) {
  manual_seed(5);
  nn::Linear a(8, 8), b(8, 8);
  Tensor x = randn({3, 8});
  auto grad = [&](bool kept) {
    a.zero_grad(), b.zero_grad();
    auto body = [&](const Tensor& t) { return b(tanh(a(t))); };
    Tensor loss;
    {
      AutocastScope scope;
      loss = sum(kept ? body(x) : checkpoint(body, x.clone().requires_grad_()));
    }
    loss.backward();
    return a.weight.grad().to_vector<float>();
  };
  EXPECT_EQ(grad(false), grad(true));
}

TEST(Autocast, RecurrentAndNormLayers) {
  nn::LSTM lstm(4, 6);
  nn::BatchNorm1d norm(6);
  AutocastScope scope;
  Tensor y = lstm(randn({3, 2, 4}));
  EXPECT_EQ(y.dtype(), DType::kBF16);
  Tensor z = norm(y.reshape({6, 6}));
  EXPECT_EQ(z.dtype(), DType::kF32);
  EXPECT_EQ(norm.running_mean.dtype(), DType::kF32);
  sum(z).backward();
  for (const Tensor& p : lstm.parameters()) EXPECT_EQ(p.grad().dtype(), DType::kF32);
}

TEST(Autocast, Float16WithoutAScalerIsRefused) {
  nn::Linear a(3, 2);
  optim::SGD sgd(a.parameters(), {.lr = 0.1});
  auto loss = [&](DType t) {
    AutocastScope scope(t);
    return sum(a(ones({4, 3})));
  };
  loss(DType::kBF16).backward();
  sgd.step();
  sgd.zero_grad();
  loss(DType::kF16).backward();
  const std::vector<float> before = a.weight.to_vector<float>();
  EXPECT_THAT(error_of([&] { sgd.step(); }),
              AllOf(HasSubstr("float16 autocast"), HasSubstr("scaler.step(optimizer)")));
  EXPECT_EQ(a.weight.to_vector<float>(), before);
  sgd.zero_grad();
  optim::GradScaler scaler({.init_scale = 1024});  // 65536 is inf in float16: a step skipped
  scaler.scale(loss(DType::kF16)).backward();
  EXPECT_THROW(sgd.step(), Error) << "scaled gradients, not unscaled";
  EXPECT_TRUE(scaler.step(sgd));
  scaler.update();
  sgd.zero_grad();
  {
    NoGrad guard;
    loss(DType::kF16);  // evaluation
  }
  sum(a(ones({4, 3}))).backward();
  sgd.step();
}

// Casts of parameters are parts of the graph that used them, which backward consumed.
TEST(Autocast, CastsAreNoGraphsOfTheirOwn) {
  nn::Linear a(3, 2);
  Tensor loss;
  {
    AutocastScope scope;
    loss = sum(a(ones({4, 3})));
  }
  const int64_t before = live_graphs().graphs;
  loss.backward();
  EXPECT_EQ(live_graphs().graphs, before - 1);
}

// The graph of a model captured under autocast has its casts, and gives the trainer's bits.
TEST(Autocast, ACaptureHasTheCasts) {
  manual_seed(2);
  nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3)};
  net.eval();
  Tensor x = randn({2, 4});
  NoGrad guard;
  AutocastScope scope;
  Tensor y = net(x);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}}, {}}}), optimized = graph;
  int casts = 0;
  for (const ir::Node& node : graph.nodes()) casts += node.op == OpId::kCast ? 1 : 0;
  EXPECT_GE(casts, 2);
  ir::optimize(optimized);
  const std::vector<uint8_t> file = onnx_bytes(graph);
  ir::Graph again = import_onnx_bytes({file.data(), file.size()});
  ir::InterpreterOptions simd;
  simd.kernels = {&kCpuKernels, &kHalfKernels, &kReferenceKernels};
  for (const Tensor& in : {x, randn({5, 4})}) {
    HostTensor given = host_copy(in), want = host_copy(net(in));
    EXPECT_TRUE(same_bits(ir::run(graph, {&given, 1}, simd)[0], want)) << "captured";
    EXPECT_TRUE(same_bits(ir::run(optimized, {&given, 1}, simd)[0], want)) << "optimised";
    EXPECT_TRUE(same_bits(ir::run(again, {&given, 1}, simd)[0], want)) << "ONNX and back";
  }
}

}  // namespace
}  // namespace wick
