// Models, gradients and the queue that runs Vulkan tensors.
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/support/temp_folder.h"
#include "tests/vulkan/tensors.h"

namespace wick::test {
namespace {

using Loss = std::function<Tensor(const Tensor&, const Tensor&)>;

// One step on the CPU and one on the device, from the same weights: loss and every gradient.
void same_step(nn::Module& net, const Tensor& x, const Tensor& target, const Loss& loss) {
  Tensor want = loss(net(x), target);
  want.backward();
  std::vector<Tensor> grads;
  for (const Tensor& p : net.parameters()) {
    grads.push_back(p.grad());
    p.set_grad(Tensor());
  }
  net.to("vulkan");
  Tensor got = loss(net(x.vulkan()), target.vulkan());
  expect_close(want, got);
  got.backward();
  size_t i = 0;
  for (const Tensor& p : net.parameters()) {
    ASSERT_TRUE(p.is_leaf() && p.is_vulkan());
    expect_close(grads[i++], p.grad());
  }
}

TEST_P(VulkanTensors, AnMlpAndItsGradients) {
  nn::Sequential net(nn::Linear(20, 33), nn::ReLU(), nn::Linear(33, 16), nn::Tanh(),
                     nn::LayerNorm({16}), nn::Linear(16, 5), nn::GELU());
  same_step(net, randn({9, 20}), randn({9, 5}),
            [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); });
}

// Targets that are probabilities: what picks a class's number has a gradient that scatters.
TEST_P(VulkanTensors, AClassifierAndItsGradients) {
  nn::Sequential net(nn::Linear(12, 8), nn::Sigmoid(), nn::Linear(8, 4));
  same_step(net, randn({6, 12}), softmax(randn({6, 4}), 1),
            [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); });
}

TEST_P(VulkanTensors, LeNetForward) {
  nn::Sequential net(nn::Conv2d(1, 6, 5), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(6, 16, 5),
                     nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(256, 120), nn::ReLU(),
                     nn::Linear(120, 10));
  net.eval();
  Tensor x = randn({5, 1, 28, 28}), y = randint(0, 10, {5}), want = net(x);
  Tensor loss = cross_entropy(want, y);
  net.to("vulkan");
  expect_close(want, net(x.vulkan()));
  expect_close(loss, cross_entropy(net(x.vulkan()), y.vulkan()));
  net.to("cpu");
  EXPECT_TRUE(equal(net(x), want));
}

// The cache, the positions and the mask are where the model is.
TEST_P(VulkanTensors, AGptWithAKvCache) {
  manual_seed(5);
  nn::GPT gpt(
      {.vocab_size = 23, .embed_dim = 32, .num_layers = 2, .num_heads = 4, .max_seq_len = 12});
  gpt.eval();
  NoGrad guard;
  for (const Tensor& p : gpt.parameters()) p.copy_(randn(p.shape()) * 0.3f);
  const Tensor tokens = tensor<int64_t>({{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}});
  const Tensor want = gpt(tokens);
  gpt.to("vulkan");
  auto cache = nn::create_kv_cache(gpt, 2);
  const Tensor there = tokens.vulkan();
  for (int64_t at : {0, 3, 4}) {
    const int64_t end = at == 0 ? 3 : at + 1;
    expect_close(want.slice(1, at, end), gpt(there.slice(1, at, end), *cache));
  }
  nn::GenerateOptions o;
  o.max_new_tokens = 9;
  o.temperature = 0;
  EXPECT_EQ(gpt.generate(there, o).shape(), (Shape{2, 14}));
}

TEST_P(VulkanTensors, GradientsFlowThroughTransfers) {
  Tensor x = randn({3, 4}).requires_grad_();
  ((x.to("vulkan") * 3).cpu() * 2).sum().backward();
  EXPECT_TRUE(x.grad().is_cpu());
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(12, 6.f));
  x.to("vulkan").sum().backward();  // added
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(12, 7.f));
  EXPECT_TRUE(x.to("vulkan").requires_grad());
  EXPECT_FALSE(x.detach().to("vulkan").requires_grad());
}

// Ten steps on the CPU and on the device end at the same weights, whatever the optimizer keeps.
template <class Make>
void same_training(const char* name, const Make& make) {
  SCOPED_TRACE(name);
  Tensor x = randn({32, 8}), y = matmul(x, randn({8, 3}));
  nn::Linear here(8, 3), there(8, 3);
  there.load_state_dict(here.state_dict());
  there.to("vulkan");
  auto a = make(here.parameters()), b = make(there.parameters());
  double first = 0, last = 0;
  for (int step = 0; step < 10; ++step) {
    for (nn::Linear* net : {&here, &there}) {
      const bool on = net == &there;
      Tensor loss = mse_loss((*net)(on ? x.vulkan() : x), on ? y.vulkan() : y);
      net->zero_grad();
      loss.backward();
      (on ? b : a).step();
      (step == 0 ? first : last) = loss.item();
    }
  }
  EXPECT_LT(last, first);
  for (const char* p : {"weight", "bias"})
    expect_close(here.get_parameter(p).detach(), there.get_parameter(p).detach(), 1e-4);
}
TEST_P(VulkanTensors, Trains) {
  using List = std::vector<Tensor>;
  same_training("SGD", [](const List& p) { return optim::SGD(p, {.lr = .1}); });
  same_training("momentum", [](const List& p) {
    return optim::SGD(p, {.lr = .05, .momentum = .9, .weight_decay = .01, .nesterov = true});
  });
  same_training("Adam", [](const List& p) {
    return optim::Adam(p, {.lr = .05, .weight_decay = .01, .amsgrad = true});
  });
  same_training("AdamW", [](const List& p) { return optim::AdamW(p, {.lr = .05}); });
}

TEST_P(VulkanTensors, ModulesSaveAndLoad) {
  nn::Linear there(4, 3), here(4, 3);
  there.to("vulkan");
  const std::string path = wick::test::temp_folder() + "vulkan_tensors.safetensors";
  save_safetensors(path, there.state_dict());
  here.load_state_dict(load_safetensors(path).tensors);
  EXPECT_EQ(here.get_parameter("weight").to_vector<float>(),
            there.get_parameter("weight").to_vector<float>());
  nn::Linear other(4, 3);
  there.load_state_dict(other.state_dict());
  EXPECT_TRUE(there.get_parameter("weight").is_vulkan());
  EXPECT_EQ(other.get_parameter("weight").to_vector<float>(),
            there.get_parameter("weight").to_vector<float>());
  std::remove(path.c_str());
}

// Ops return before the device is done; who reads waits.
TEST_P(VulkanTensors, OpsReturnBeforeTheDeviceIsDone) {
  Tensor v = randn({64, 64}).vulkan();
  matmul(v, v) * 2;  // shaders are compiled, and compared with the CPU
  vulkan_synchronize();
  ASSERT_EQ(eager_of(v).in_flight(), 0u);
  set_faults({0, VK_SUCCESS, "WaitForFences"});  // counts them
  Tensor y = v;
  for (int i = 0; i < 20; ++i) y = matmul(y, v) * (1. / 64);
  EXPECT_GT(eager_of(v).in_flight(), 0u);
  EXPECT_EQ(fallible_calls(), 0);
  vulkan_synchronize();
  EXPECT_EQ(eager_of(v).in_flight(), 0u);
  EXPECT_GT(fallible_calls(), 0);
}

// More command buffers than are ever in flight.
TEST_P(VulkanTensors, LongChainsGoThroughInOrder) {
  Tensor v = zeros({1000}).vulkan();
  for (int i = 0; i < 2000; ++i) v = v + 1;
  EXPECT_LE(eager_of(v).in_flight(), 4u);
  EXPECT_EQ(v.to_vector<float>(), std::vector<float>(1000, 2000.f));
  const uint64_t live = eager_of(v).live_bytes();
  EXPECT_LE(live, 64u << 10);  // freed memory was used again
}

TEST_P(VulkanTensors, AnAsynchronousUploadIsWaitedForByWhatUsesIt) {
  Tensor x = randn({300, 1000});
  Tensor busy = x.vulkan();
  { Tensor used = busy + 1; }  // the next upload's memory, which the queue still writes
  set_faults({0, VK_SUCCESS, "WaitForFences"});
  Tensor copy = x.clone(), v = copy.to("vulkan", /*non_blocking=*/true);
  const int64_t waits = fallible_calls();
  if (GetParam()) {
    EXPECT_EQ(waits, 0);
  }
  copy.fill_(7);  // the bytes were read
  EXPECT_TRUE(equal((v + 0).cpu(), x));
  EXPECT_GT(fallible_calls(), waits);
  set_faults({0, VK_SUCCESS, "WaitForFences"});
  Tensor blocking = x.to("vulkan");
  if (GetParam()) {
    EXPECT_GT(fallible_calls(), 0);
    EXPECT_EQ(eager_of(blocking).in_flight(), 0u);
  }
  EXPECT_TRUE(equal(blocking.cpu(), x));
}

// Two reads of the clock time the submission; a Timer waits for the queue.
TEST_P(VulkanTensors, ATimerWaitsForTheQueue) {
  Tensor v = randn({200, 200}).vulkan();
  matmul(v, v);
  Timer timer;
  EXPECT_EQ(eager_of(v).in_flight(), 0u);
  const uint64_t begin = now_ns();
  for (int i = 0; i < 30; ++i) matmul(v, v);
  const double submitted = static_cast<double>(now_ns() - begin) * 1e-9;
  EXPECT_GT(eager_of(v).in_flight(), 0u);
  const double took = timer.seconds();
  EXPECT_EQ(eager_of(v).in_flight(), 0u);
  EXPECT_GT(took, submitted);
  std::printf("30 products: %.2f ms by the clock alone, %.2f ms by a Timer\n", submitted * 1e3,
              took * 1e3);
}

struct CountShaders final : TraceHook {
  void on_op(const TraceEvent& e) override {
    if (std::string(e.backend) == "vulkan") ++ops, nanoseconds += e.end_ns - e.begin_ns;
  }
  int ops = 0;
  uint64_t nanoseconds = 0;
};
TEST_P(VulkanTensors, ATraceTimesTheDevice) {
  Tensor v = randn({100, 100}).vulkan();
  CountShaders count;
  set_trace_hook(&count);
  Tensor y = relu(matmul(v, v));
  set_trace_hook(nullptr);
  EXPECT_EQ(count.ops, 2);
  EXPECT_GT(count.nanoseconds, 0u);
  EXPECT_EQ(eager_of(v).in_flight(), 0u);
}

TEST_P(VulkanTensors, ThreadsShareADevice) {
  Tensor v = randn({50, 50}).vulkan(), want = matmul(v, v).cpu();
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (int& r : right) {
    threads.emplace_back([&v, &want, &r] {
      for (int i = 0; i < 30; ++i) r += equal(matmul(v, v).cpu(), want) ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, std::vector<int>(4, 30));
}

TEST_P(VulkanTensors, NoMemoryIsOneErrorAndTheRestGoesOn) {
  Tensor v = ones({300, 1000}).vulkan();
  { Tensor kept = v + 1; }
  EXPECT_GT(eager_of(v).kept_bytes(), 0u);
  set_faults({1, VK_ERROR_OUT_OF_DEVICE_MEMORY, "AllocateMemory"});
#line 400 "train.cpp"
  const std::string text = error_of([&] { cat({v, v}, 0); });
#line 241 "tensors_run_test.cc"
  EXPECT_EQ(text.find("[empty] vulkan:"), 0u) << text;
  EXPECT_NE(text.find("bytes are live on the Vulkan device; "), std::string::npos) << text;
  EXPECT_NE(text.find("(train.cpp:400)"), std::string::npos) << text;
  EXPECT_EQ(eager_of(v).kept_bytes(), 0u);  // memory kept for reuse was given back first
  set_faults({});
  EXPECT_EQ((v + 1).sum().item(), 600000);
}

// A step on a Vulkan of which every n-th call fails: an Error or the right numbers, and afterwards
// a device that works.
TEST_P(VulkanTensors, WhateverFailsIsOneErrorAndTheNextTransferStartsAnew) {
  nn::Linear fc(6, 4);
  Tensor x = randn({5, 6}), want = relu(fc(x)).sum();
  auto step = [&] {
    nn::Linear there(6, 4);
    there.load_state_dict(fc.state_dict());
    there.to("vulkan");
    Tensor y = relu(there(x.vulkan())).sum();
    y.backward();
    const double got = y.item();
    there.get_parameter("weight").grad().cpu();
    return got;
  };
  step();
  set_faults({});
  step();
  const int64_t calls = fallible_calls();
  ASSERT_GT(calls, 10);
  int failed = 0;
  for (VkResult error : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
    for (int64_t n = 1; n <= calls; n += 1 + n / 8) {
      set_faults({n, error, nullptr});
      const std::string text = error_of([&] { EXPECT_NEAR(step(), want.item(), 1e-4); });
      failed += text == "no error" ? 0 : 1;
      set_faults({});
      EXPECT_NEAR(step(), want.item(), 1e-4) << "after " << text;
    }
  }
  EXPECT_GT(failed, 10);
}

TEST_P(VulkanTensors, TensorsOfALostDeviceSaySo) {
  Tensor v = ones({4}).vulkan();
  v + 1;  // compared with the CPU
  set_faults({1, VK_ERROR_DEVICE_LOST, "QueueSubmit"});
  const std::string first = error_of([&] { (v + 1).cpu(); });
  EXPECT_NE(first.find("DEVICE_LOST"), std::string::npos) << first;
  set_faults({});
  const std::string later = error_of([&] { v + 1; });
  EXPECT_NE(later.find("failed before"), std::string::npos) << later;
  Tensor anew = ones({4}).vulkan();
  EXPECT_EQ(anew.sum().item(), 4);
  EXPECT_NE(error_of([&] { v.cpu(); }), "no error");
}

// Whoever meets it, now or later, is told of the same error, whole.
TEST_P(VulkanTensors, ThreadsMeetALostDevice) {
  Tensor v = ones({4}).vulkan();
  v + 1;  // compared with the CPU
  set_faults({1, VK_ERROR_DEVICE_LOST, "QueueSubmit"});
  std::vector<std::string> texts(4);
  std::string watched;
  std::vector<std::thread> threads;
  threads.emplace_back([&eager = eager_of(v), &watched] {  // a thread that only reads
    while (eager.broken()[0] == 0) std::this_thread::yield();
    watched = eager.broken();
  });
  for (std::string& text : texts) {
    threads.emplace_back([&v, &text] {
      for (int i = 0; i < 20; ++i) text = error_of([&] { (v + 1).cpu(); });
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(watched, "vkQueueSubmit: VK_ERROR_DEVICE_LOST (-4)");
  for (const std::string& text : texts) {
    EXPECT_NE(text.find("VK_ERROR_DEVICE_LOST (-4)"), std::string::npos) << text;
    EXPECT_NE(text.find("opens it anew"), std::string::npos) << text;
  }
}

// More than a shader sees, of what only float32 has shaders for: cast and cut.
TEST_P(VulkanTensors, LargeTensorsOf16Bits) {
  const Tensor x = randn({6, 32, 64}).to(DType::kBF16);
  const Tensor want = softmax(x.vulkan(), -1).cpu();
  VulkanOptions narrow;
  narrow.force_staging = GetParam();
  narrow.max_range = 1 << 13;
  set_vulkan_options(narrow);
  EXPECT_TRUE(equal(softmax(x.vulkan(), -1).cpu(), want));
}

TEST_P(VulkanTensors, WhatIsDroppedGoesBack) {
  Tensor v = ones({10}).vulkan();
  VulkanEager& eager = eager_of(v);
  const uint64_t before = eager.live_bytes();
  {
    Tensor a = randn({700, 300}).vulkan().requires_grad_();
    relu(a * 2).sum().backward();
    EXPECT_GT(eager.live_bytes(), before);
  }
  EXPECT_EQ(eager.live_bytes(), before);
  const size_t host = live_bytes();
  Tensor w = ones({100000}).vulkan();
  EXPECT_EQ(live_bytes(), host);  // it is none of the host's
}

INSTANTIATE_TEST_SUITE_P(Memory, VulkanTensors, testing::Bool(),
                         [](const auto& p) { return p.param ? "Staged" : "Mapped"; });

// A machine without a driver: one line why, and the CPU goes on.
TEST(VulkanTensorsWithout, OneLineWhy) {
  set_vulkan_options({});
  const char* kVariables[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"};
  std::string old[2];
  for (int i = 0; i < 2; ++i) {
    if (const char* v = getenv(kVariables[i])) old[i] = v;
    setenv(kVariables[i], "/nowhere.json", 1);
  }
  EXPECT_FALSE(vulkan_is_available());
  const std::string why = why_no_vulkan();
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(why.find('\n'), std::string::npos);
  const std::string text = error_of([] { ones({2}).to("vulkan"); });
  EXPECT_EQ(text.find("[to] " + why), 0u) << text;
  EXPECT_EQ(ones({2}).sum().item(), 2);
  for (int i = 0; i < 2; ++i) {
    if (old[i].empty()) {
      unsetenv(kVariables[i]);
    } else {
      setenv(kVariables[i], old[i].c_str(), 1);
    }
  }
}

}  // namespace
}  // namespace wick::test
