// Properties of a Vulkan tensor: transfers, views, errors, text.
#include "tests/vulkan/tensors.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "trainer/course/course.h"
#include "trainer/nn/flash_attention.h"

namespace wick::test {
namespace {

TEST_P(VulkanTensors, ThereAndBackOfEveryDtypeAndShape) {
  for (DType t :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
        DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8, DType::kBool}) {
    for (const Shape& s : {Shape{}, Shape{1}, Shape{3}, Shape{0, 4}, Shape{5, 7, 3}}) {
      Tensor x = arange(numel(s)).reshape(s).to(t), there = x.to("vulkan");
      EXPECT_TRUE(there.is_vulkan());
      EXPECT_FALSE(there.is_cpu());
      EXPECT_EQ(there.dtype(), t);
      Tensor back = there.cpu();
      EXPECT_TRUE(back.is_cpu());
      ASSERT_EQ(back.raw_shape(), s);
      EXPECT_EQ(std::memcmp(back.raw().data, x.raw().data, x.nbytes()), 0)
          << dtype_name(t) << to_text(s).text;
    }
  }
  Tensor large = randn({3, 1 << 20});  // more than one staging buffer
  EXPECT_TRUE(equal(large.vulkan().cpu(), large));
}

TEST_P(VulkanTensors, ItsDevice) {
  Tensor x = ones({2, 3}), v = x.to("vulkan");
  EXPECT_EQ(v.device().type(), DeviceType::kVulkan);
  EXPECT_TRUE(v.device().has_index());
  EXPECT_EQ(v.device().to_string(), "vulkan:" + std::to_string(v.device().index()));
  EXPECT_TRUE(v.to("vulkan").is_same(v));
  EXPECT_TRUE(v.to(v.device()).is_same(v));
  EXPECT_TRUE(x.to("cpu").is_same(x));
  EXPECT_TRUE(x.cpu().is_same(x));
  EXPECT_GE(vulkan_device_count(), 1);
  EXPECT_FALSE(vulkan_device_name().empty());
  EXPECT_EQ(why_no_vulkan(), "");
  EXPECT_NE(describe(v).find(v.device().to_string()), std::string::npos);
  EXPECT_EQ(zeros_like(v).device(), v.device());
  EXPECT_EQ(full_like(v, 3).cpu().to_string(), full({2, 3}, 3).to_string());
  EXPECT_EQ(full_like(v, 3, DType::kI64).cpu().to_string(),
            full_like(x, 3, DType::kI64).to_string());
  EXPECT_EQ(full_like(v, .1, DType::kF64).cpu().to_string(),
            full_like(x, .1, DType::kF64).to_string());
  const std::string none = error_of([&] { x.to("vulkan:99"); });
  EXPECT_EQ(none.substr(0, 5), "[to] ") << none;
}

TEST_P(VulkanTensors, ReadingWaitsAndCopies) {
  Tensor x = tensor({{1.f, -2.5f}, {3.f, 4.f}}), v = x.to("vulkan");
  const std::string at = ", device='" + v.device().to_string() + "')";
  EXPECT_EQ(v.to_string(), x.to_string().substr(0, x.to_string().size() - 1) + at);
  std::ostringstream out;
  out << v.t();
  EXPECT_EQ(out.str(), x.t().to_string().substr(0, x.t().to_string().size() - 1) + at);
  EXPECT_EQ(v.to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(v.select(0, 1).select(0, 1).item(), 4);
  EXPECT_EQ((v * 2).sum().item<float>(), 11);
  EXPECT_EQ(tensor<int64_t>({1, int64_t{1} << 60}).vulkan().select(0, 1).item<int64_t>(),
            int64_t{1} << 60);
}

TEST_P(VulkanTensors, ItsBytesAreNoneOfTheHosts) {
  Tensor v = ones({2}).to("vulkan");
  const std::string on = v.device().to_string();
  auto refused = [&](const std::string& text) {
    EXPECT_NE(text.find(on), std::string::npos) << text;
    EXPECT_NE(text.find("use .cpu()"), std::string::npos) << text;
  };
#line 300 "train.cpp"
  EXPECT_EQ(error_of([&] { v.data<float>(); }),
            "[data] the bytes of a tensor on " + on +
                " are no memory of the host: use .cpu() (train.cpp:300)");
#line 79 "tensors_test.cc"
  refused(error_of([&] { v.mutable_data<float>(); }));
  refused(error_of([&] { v.data_ptr(); }));
  refused(error_of([&] { v.unsafe_data(); }));
  refused(error_of([&] { static_cast<void>(v.raw()); }));
  EXPECT_EQ(v.version(), 0u);  // nothing was written
  Tensor p = ones({2}).vulkan().requires_grad_();
  p.sum().backward();
  optim::RMSprop rms({p}, {.lr = .1});
  EXPECT_NE(error_of([&] { rms.step(); }).find("a parameter is on " + on), std::string::npos);
}

TEST_P(VulkanTensors, MixedDevicesAreOneErrorThatNamesBoth) {
  Tensor x = ones({2, 3}), v = x.to("vulkan");
  const std::string on = v.device().to_string();
#line 310 "train.cpp"
  EXPECT_EQ(error_of([&] { v + ones({3}); }),
            "[add] tensors of two devices, " + on +
                " float32[2,3] and cpu float32[3]: move one with .to(\"" + on +
                "\") or .cpu() (train.cpp:310)");
#line 99 "tensors_test.cc"
  EXPECT_NE(error_of([&] { matmul(x, v.t()); }).find("cpu float32[2,3]"), std::string::npos);
  EXPECT_NE(error_of([&] { v.detach().add_(x); }).find("two devices"), std::string::npos);
  nn::Linear fc(3, 2);
  EXPECT_NE(error_of([&] { fc(v); }).find("two devices"), std::string::npos);
  // Numbers join; not those that want a gradient.
  EXPECT_EQ((v * full({}, 2)).sum().item(), 12);
  EXPECT_EQ((2 - v).sum().item(), 6);
  Tensor scale = full({}, 2).requires_grad_();
  EXPECT_NE(error_of([&] { v* scale; }).find("two devices"), std::string::npos);
}

// Words are written whole: what is beside a slice of 16 or 8 bits stays, whatever writes there.
TEST_P(VulkanTensors, ASliceLeavesItsNeighbours) {
  for (DType t : {DType::kF32, DType::kF16, DType::kBF16, DType::kI16, DType::kU8, DType::kI8,
                  DType::kI64, DType::kF64}) {
    for (const auto& [begin, n] : {std::pair{0, 3}, {2, 4}, {1, 1}, {3, 4}, {5, 2}}) {
      Tensor x = remainder(arange(9), 5).to(t), v = x.to("vulkan");
      auto written = [&](const char* what, auto f) {
        f(x.narrow(0, begin, n)), f(v.narrow(0, begin, n));
        EXPECT_EQ(v.cpu().to_string(), x.to_string())
            << what << " " << dtype_name(t) << " " << begin << " " << n;
      };
      const Tensor three = full({n}, 3, t), there = three.to("vulkan");
      auto like = [&](const Tensor& s) { return s.is_vulkan() ? there : three; };
      written("add_", [&](const Tensor& s) { s.add_(like(s)); });
      written("mul_", [&](const Tensor& s) { s.mul_(2); });
      written("sub_", [&](const Tensor& s) { s.sub_(1); });
      written("copy_", [&](const Tensor& s) { s.copy_(like(s)); });
      written("fill_", [&](const Tensor& s) { s.fill_(4); });
      written("add_out", [&](const Tensor& s) {
        Tensor out = s;  // NOLINT: what is written to
        add_out(out, like(s), like(s));
      });
      written("zero_", [](const Tensor& s) { s.zero_(); });
    }
  }
}

TEST_P(VulkanTensors, ASliceOfBoolsLeavesItsNeighbours) {
  for (const auto& [begin, n] : {std::pair{0, 3}, {2, 4}, {1, 1}, {3, 4}}) {
    Tensor x = remainder(arange(9), 2).to(DType::kBool), v = x.to("vulkan");
    const Tensor a = arange(n), b = full({n}, 1, a.dtype());
    for (const Tensor& t : {x, v}) {
      const Tensor s = t.narrow(0, begin, n);
      s.copy_(t.is_vulkan() ? gt(a.vulkan(), b.vulkan()) : gt(a, b));
    }
    EXPECT_EQ(v.cpu().to_string(), x.to_string()) << begin << " " << n;
    for (const Tensor& t : {x, v}) t.narrow(0, begin, n).fill_(1);
    EXPECT_EQ(v.cpu().to_string(), x.to_string()) << begin << " " << n;
  }
}

TEST_P(VulkanTensors, AnOutOfAnotherDeviceIsRefused) {
  Tensor a = ones({3}), v = a.to("vulkan"), out = zeros({3}), there = zeros({3}).to("vulkan");
  EXPECT_NE(error_of([&] { add_out(out, v, v); }), "no error");
  EXPECT_NE(error_of([&] { add_out(there, a, a); }), "no error");
  add_out(there, v, v);
  EXPECT_EQ(there.cpu().to_string(), full({3}, 2).to_string());
}

TEST_P(VulkanTensors, WithoutAShaderIsAnErrorThatSaysWhatToDo) {
  Tensor v = ones({2, 3}, DType::kF64).to("vulkan");
#line 320 "train.cpp"
  EXPECT_EQ(
      error_of([&] { sin(v); }),
      "[sin] no Vulkan kernel for (float64[2,3]): no shader for this op of float64; run it on "
      "the CPU: .cpu() its inputs (train.cpp:320)");
#line 117 "tensors_test.cc"
  EXPECT_NE(error_of([&] {
              linalg::inv(ones({2, 2}).vulkan());
            }).find(".cpu()"),
            std::string::npos);
  EXPECT_EQ(exp(v.cpu()).numel(), 6);
}

// Views share the bytes; what reads one that is not in one piece is given a copy made on the
// device.
TEST_P(VulkanTensors, ViewsOfEveryElementSize) {
  for (DType t : {DType::kF32, DType::kI64, DType::kF16, DType::kI8, DType::kBool}) {
    Tensor x = remainder(arange(2 * 5 * 7).reshape({2, 5, 7}), 100).to(t), v = x.to("vulkan");
    auto same = [&](const char* what, auto f) {
      Tensor want = f(x).contiguous(), got = f(v);
      ASSERT_TRUE(&got.storage() == &v.storage()) << what;
      EXPECT_TRUE(equal(want, got.cpu())) << what << dtype_name(t);
      EXPECT_TRUE(equal(want, got.contiguous().cpu())) << what << dtype_name(t);
    };
    same("permute", [](const Tensor& a) { return a.permute({2, 0, 1}); });
    same("select", [](const Tensor& a) { return a.select(1, 3); });
    same("steps", [](const Tensor& a) { return a.slice(2, 1, 7, 2).slice(1, 3, 5); });
    same("backwards", [](const Tensor& a) { return a.slice(1, 4, -6, -1); });
    same("expand", [](const Tensor& a) { return a.slice(2, 2, 3).expand({2, 5, 4}); });
    same("reshape", [](const Tensor& a) { return a.slice(0, 1, 2).reshape({7, 5}); });
  }
}

TEST_P(VulkanTensors, OpsReadViews) {
  Tensor x = randn({6, 10}), v = x.to("vulkan");
  EXPECT_TRUE(equal(add(x.t(), x.t().slice(0, 0, 10)), add(v.t(), v.t().slice(0, 0, 10)).cpu()));
  expect_close(matmul(x.slice(1, 1, 9, 2), x.slice(1, 0, 4).t()),
               matmul(v.slice(1, 1, 9, 2), v.slice(1, 0, 4).t()));
  EXPECT_TRUE(equal(cat({x.select(0, 2), x.select(0, 5)}, 0),
                    cat({v.select(0, 2), v.select(0, 5)}, 0).cpu()));
}

TEST_P(VulkanTensors, WritesGoThroughViews) {
  Tensor x = randn({6, 10}), v = x.to("vulkan");
  for (const Tensor& t : {x, v}) {
    t.slice(0, 1, 3).fill_(5);
    t.t().slice(0, 0, 2).mul_(2);
    t.transpose(0, 1).slice(0, 1, 9, 2).add_(1);
    t.select(1, 4).copy_(t.select(1, 7));
    t.slice(1, 8, 10).zero_();
    t.select(0, 5).sub_(t.select(0, 4), 2);
  }
  EXPECT_TRUE(equal(x, v.cpu()));
  EXPECT_GT(v.version(), 0u);
  // Between devices by copy_, which is a transfer that was asked for.
  v.slice(0, 0, 2).copy_(zeros({2, 10}));
  EXPECT_EQ(v.slice(0, 0, 2).abs().sum().item(), 0);
  Tensor host = zeros({6, 10});
  host.copy_(v);
  EXPECT_TRUE(equal(host, v.cpu()));
}

TEST_P(VulkanTensors, AnIndexOutOfRangeIsToldWhereSomebodyWaits) {
  Tensor v = randn({6, 4}).vulkan(), at = tensor<int64_t>({3, 6}).vulkan();
#line 330 "train.cpp"
  Tensor y = index_select(v, 0, at);
#line 178 "tensors_test.cc"
  const std::string text = error_of([&] { vulkan_synchronize(); });
  EXPECT_NE(text.find("an index is out of range in the Gather of train.cpp:330"), std::string::npos)
      << text;
  vulkan_synchronize();  // once
  Tensor good = index_select(v, 0, tensor<int64_t>({5, -6}).vulkan());
  EXPECT_EQ(good.select(0, 1).to_vector<float>(), v.select(0, 0).to_vector<float>());
}

TEST_P(VulkanTensors, RandomNumbersAreTheCpus) {
  auto both = [&](auto f) {
    manual_seed(3);
    Tensor want = f(ones({4, 5}));
    manual_seed(3);
    Tensor got = f(ones({4, 5}).vulkan());
    ASSERT_TRUE(got.is_vulkan());
    EXPECT_EQ(want.to_vector<float>(), got.to_vector<float>());
  };
  both([](const Tensor& x) { return dropout(x, .5, true); });
  both([](const Tensor& x) { return randn_like(x); });
  both([](const Tensor& x) { return bernoulli(x * .5); });
  both([](const Tensor& x) { return normal_(x); });
}

// The causal mask, and what tiles are summed in, are made where the operands are.
// Index lists, windows and zeros that a function makes by itself are where its input is: nobody
// else could move them there.
TEST_P(VulkanTensors, WhatAFunctionMakesForItselfIsBesideItsInput) {
  struct Inputs {
    Tensor x, m, v, i;  // [2, 3, 6, 6], [4, 5], [6], and indices [4] below 4
  };
  nn::LSTMCell cell(5, 4);
  nn::LSTM projected(5, 4, {.proj_size = 2});
  nn::MultiheadAttention attention(6, 2, {.add_bias_kv = true, .add_zero_attn = true});
  const std::vector<std::function<Tensor(const Inputs&)>> functions = {
      [](auto& t) {
        return interpolate(t.x, {.size = {4, 9}, .mode = "bilinear"});
      },
      [](auto& t) {
        return interpolate(t.x, {.size = {4, 9}, .mode = "nearest"});
      },
      [](auto& t) {
        return interpolate(t.x, {.size = {9, 4}, .mode = "bicubic", .antialias = true});
      },
      [](auto& t) { return unfold(t.x, Pair(3), 1, 1); },
      [](auto& t) { return fold(unfold(t.x, Pair(3), 1, 1), Pair(6), Pair(3), 1, 1); },
      [](auto& t) { return diag(t.v); },
      [](auto& t) { return diag(t.m); },
      [](auto& t) { return diag_embed(t.m, 1); },
      [](auto& t) { return one_hot(t.i, 5).to(DType::kF32); },
      [](auto& t) { return repeat_interleave(t.m, t.i, 0); },
      [](auto& t) { return combinations(t.v); },
      [](auto& t) { return scatter(t.m, 1, t.i.unsqueeze(1), 2.0); },
      [](auto& t) { return index_fill(t.m, 0, t.i, 3); },
      [](auto& t) { return select_scatter(t.m, t.m.select(0, 0), 0, 1); },
      [](auto& t) { return slice_scatter(t.m, t.m.slice(0, 0, 2), 0, 1, 3); },
      [](auto& t) { return diagonal_scatter(t.m, t.v.slice(0, 0, 4)); },
      [](auto& t) { return cummax(t.m, 0).values; },
      [](auto& t) { return mode(t.m).values; },
      [](auto& t) { return quantile(t.m, 0.3); },
      [](auto& t) { return bincount(t.i).to(DType::kF32); },
      [](auto& t) { return histc(t.m, 4, 0, 1); },
      [](auto& t) { return bucketize(t.m, sort(t.v).values).to(DType::kF32); },
      [](auto& t) { return multi_margin_loss(t.m, t.i); },
      [](auto& t) {
        return stft(t.m.reshape({1, 20}), {.n_fft = 8});
      },
      [](auto& t) {
        auto [values, places] = max_pool2d_with_indices(t.x, 2);
        return max_unpool2d(values, places, 2);
      },
      [&](auto& t) { return cell(t.m); },
      [&](auto& t) { return projected(t.m.unsqueeze(0)); },
      [&](auto& t) { return attention(t.x.select(1, 0)); },
  };
  const Inputs here{rand({2, 3, 6, 6}), rand({4, 5}), rand({6}), tensor<int64_t>({0, 2, 1, 3})};
  const Inputs there{here.x.vulkan(), here.m.vulkan(), here.v.vulkan(), here.i.vulkan()};
  const NoGrad guard;
  std::vector<Tensor> want;
  for (const auto& f : functions) want.push_back(f(here));
  cell.to("vulkan"), projected.to("vulkan"), attention.to("vulkan");
  for (size_t k = 0; k < functions.size(); ++k) {
    SCOPED_TRACE(k);
    expect_close(want[k], functions[k](there));
  }
}

TEST_P(VulkanTensors, CausalAttentionAndTiles) {
  const std::vector<Tensor> values = {randn({2, 9, 8}), randn({2, 9, 8}), randn({2, 9, 8})};
  const Tensor g = randn({2, 9, 8});
  const auto same = [&](const char* name, const auto& f) {
    SCOPED_TRACE(name);
    std::vector<Tensor> here, there;
    for (const Tensor& t : values) {
      here.push_back(t.clone().requires_grad_());
      there.push_back(t.vulkan().requires_grad_());
    }
    const Tensor want = f(here[0], here[1], here[2]), got = f(there[0], there[1], there[2]);
    expect_close(want.detach(), got.detach(), 1e-4);
    want.backward(g);
    got.backward(g.vulkan());
    for (size_t i = 0; i < 3; ++i) expect_close(here[i].grad(), there[i].grad(), 1e-4);
  };
  same("exact", [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, Tensor(), 0, true);
  });
  same("with weights", [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return nn::attention_with_weights(q, k, v, Tensor(), 0, true).output;
  });
  same("tiles", [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return nn::flash_attention(q, k, v, {.is_causal = true, .tile = 4});
  });
  const Tensor a = randn({7, 5}), b = randn({5, 6});
  expect_close(matmul(a, b), course::tiled_matmul(a.vulkan(), b.vulkan(), 3));
}

}  // namespace
}  // namespace wick::test
