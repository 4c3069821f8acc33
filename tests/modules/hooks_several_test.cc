// Hooks of calls with several inputs and outputs, beside PyTorch's.
#include <gmock/gmock.h>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;
using List = std::vector<Tensor>;

nn::Bilinear bilinear_of_numbers() {
  nn::Bilinear m(3, 4, 2);
  m.to(DType::kF64);
  m.load_state_dict({{"weight", number({2, 3, 4}, 44)}, {"bias", number({2}, 45)}});
  return m;
}

// a * b * w and a - b * w
struct Two : nn::Module {
  Two() { w = register_parameter("w", number({3}, 43)); }
  std::pair<Tensor, Tensor> both(const Tensor& a, const Tensor& b) {
    return {a * b * w, a - b * w};
  }
  std::pair<Tensor, Tensor> operator()(const Arg& a, const Arg& b) {
    return hooked([this](const Arg& x, const Arg& y) { return both(x.tensor, y.tensor); }, a, b);
  }
  Tensor w;
};

TEST(HooksOfSeveral, InputsAreReplacedAsInPyTorch) {
  nn::Bilinear m = bilinear_of_numbers();
  m.register_forward_pre_hook([](nn::Module&, const List& in) {
    return List{in[0] * 2, in[1] + 1};
  });
  m.register_forward_hook([](nn::Module&, const List& in, const Tensor& y) {
    EXPECT_EQ(in.size(), 2u);
    return y * 3;
  });
  m.register_full_backward_hook([](nn::Module&, const List& grad_in, const List& grad_out) {
    EXPECT_EQ(grad_in.size(), 2u);
    EXPECT_EQ(grad_out.size(), 1u);
    expect_golden(grad_in[0], "hooks_bilinear_seen.in.0");
    expect_golden(grad_in[1], "hooks_bilinear_seen.in.1");
    expect_golden(grad_out[0], "hooks_bilinear_seen.out");
    return List{grad_in[0] * 10, grad_in[1] * 0.5};
  });
  Tensor a = number({5, 3}, 46).requires_grad_(), b = number({5, 4}, 47).requires_grad_();
  Tensor y = m(a, b);
  sum(y * y).backward();
  expect_golden(y, "hooks_bilinear.0");
  expect_golden(a.grad(), "hooks_bilinear.1");
  expect_golden(b.grad(), "hooks_bilinear.2");
  expect_golden(m.weight.grad(), "hooks_bilinear.3");
  expect_golden(m.bias.grad(), "hooks_bilinear.4");
}

TEST(HooksOfSeveral, OutputsAreSeenTogether) {
  Two m;
  int runs = 0;
  m.register_full_backward_hook([&](nn::Module&, const List& grad_in, const List& grad_out) {
    ++runs;
    for (size_t i = 0; i < 2; ++i) {
      expect_golden(grad_in[i], "hooks_two_seen.in." + std::to_string(i));
      expect_golden(grad_out[i], "hooks_two_seen.out." + std::to_string(i));
    }
    return List{grad_in[0] * 2, grad_in[1] * 3};
  });
  Tensor a = number({2, 3}, 48).requires_grad_(), b = number({2, 3}, 49).requires_grad_();
  auto [p, q] = m(a, b);
  (sum(p * p) + sum(q * p)).backward();
  EXPECT_EQ(runs, 1);
  expect_golden(p, "hooks_two.0");
  expect_golden(q, "hooks_two.1");
  expect_golden(m.w.grad(), "hooks_two.2");
  expect_golden(a.grad(), "hooks_two.3");
  expect_golden(b.grad(), "hooks_two.4");
}

TEST(HooksOfSeveral, WithoutAnInputThatNeedsAGradientTheHookRunsOnceForAllOutputs) {
  Two m;
  int runs = 0;
  m.register_full_backward_hook([&](nn::Module&, const List& grad_in, const List& grad_out) {
    ++runs;
    EXPECT_EQ(grad_in.size(), 2u);
    EXPECT_FALSE(grad_in[0].defined());
    EXPECT_FALSE(grad_in[1].defined());
    expect_golden(grad_out[0], "hooks_two_constant_seen.out.0");
    expect_golden(grad_out[1], "hooks_two_constant_seen.out.1");
  });
  auto [p, q] = m(number({2, 3}, 48), number({2, 3}, 49));
  (sum(p * p) + sum(q * p)).backward();
  EXPECT_EQ(runs, 1);
  expect_golden(m.w.grad(), "hooks_two_constant.2");
}

TEST(HooksOfSeveral, AnOutputThatIsNotUsedHasNoGradient) {
  Two m;
  int runs = 0;
  m.register_full_backward_hook([&](nn::Module&, const List& grad_in, const List& grad_out) {
    ++runs;
    EXPECT_TRUE(grad_in[0].defined());
    EXPECT_FALSE(grad_in[1].defined());  // b needs none
    EXPECT_TRUE(grad_out[0].defined());
    EXPECT_FALSE(grad_out[1].defined());
  });
  Tensor a = number({2, 3}, 48).requires_grad_();
  auto [p, q] = m(a, number({2, 3}, 49));
  sum(p).backward();
  EXPECT_EQ(runs, 1);
  // A gradient that does not come through an output passes without hooks.
  auto [r, s] = m(a, number({2, 3}, 49));
  const Tensor g = grad({sum(r * r)}, {a}, {}, true, true)[0];
  EXPECT_EQ(runs, 2);
  sum(g).backward();
  EXPECT_GE(runs, 2);
}

TEST(HooksOfSeveral, AHookOfOneTensorSeesTheFirst) {
  nn::Bilinear plain = bilinear_of_numbers(), m = bilinear_of_numbers();
  Tensor a = number({5, 3}, 46), b = number({5, 4}, 47), seen;
  m.register_forward_pre_hook([](nn::Module&, const Tensor& x) { return x * 2; });
  m.register_forward_hook([&](nn::Module&, const Tensor& x, const Tensor&) { seen = x; });
  EXPECT_EQ(m(a, b).to_vector<double>(), plain(a * 2, b).to_vector<double>());
  EXPECT_EQ(seen.to_vector<double>(), (a * 2).to_vector<double>());
}

TEST(HooksOfSeveral, LayersOfStatesMasksAndLossesRunThem) {
  manual_seed(2);
  size_t inputs = 0, outputs = 0;
  const auto count = [&](nn::Module&, const List& in, const List& out) {
    inputs = in.size();
    outputs = out.size();
  };
  auto expect = [&](size_t in, size_t out) {
    EXPECT_EQ(inputs, in);
    EXPECT_EQ(outputs, out);
    inputs = outputs = 0;
  };
  nn::LSTM lstm(3, 4);
  lstm.register_forward_hook(count);
  Tensor x = randn({5, 2, 3}), h = randn({1, 2, 4}), c = randn({1, 2, 4});
  lstm.with_state(x);
  expect(1, 3);
  nn::RnnResult r = lstm.with_state(x, h, c);
  expect(3, 3);
  lstm.register_forward_pre_hook([](nn::Module&, const List& in) {
    return List{in[0] * 2, in[1], in[2]};
  });
  EXPECT_NE(lstm.with_state(x, h, c).output.to_vector<float>(), r.output.to_vector<float>());
  expect(3, 3);
  nn::LSTMCell cell(3, 4);
  cell.register_forward_hook(count);
  cell(randn({2, 3}), {randn({2, 4}), randn({2, 4})});
  expect(3, 2);
  nn::MultiheadAttention attention(4, 2);
  attention.register_forward_hook(count);
  Tensor q = randn({3, 2, 4}), k = randn({6, 2, 4});
  attention(q, k, k);
  expect(3, 2);
  attention(q, k, k, {}, false);
  expect(3, 1);  // no weights
  attention(q, k, k, {}, false, zeros({3, 6}, DType::kBool));
  expect(5, 1);  // the padding mask is undefined, the mask behind it is not
  nn::CrossEntropyLoss loss;
  loss.register_forward_hook(count);
  loss(randn({4, 3}), tensor({0, 1, 2, 0}));
  expect(2, 1);
  nn::CTCLoss ctc;
  ctc.register_forward_hook(count);
  ctc(log_softmax(randn({6, 1, 3}), 2), tensor({{1, 2}}), std::vector<int64_t>{6},
      std::vector<int64_t>{2});
  expect(2, 1);
}

TEST(HooksOfSeveral, OfAPackedSequenceSeeItsData) {
  manual_seed(4);
  nn::GRU gru(3, 4);
  Tensor x = randn({5, 2, 3});
  const nn::PackedSequence packed = nn::pack_padded_sequence(x, {5, 3});
  const nn::PackedRnnResult plain = gru.with_state(packed);
  Tensor seen;
  gru.register_forward_hook([&](nn::Module&, const List& in, const List& out) {
    seen = in[0];
    return List{out[0] * 0, out[1]};
  });
  const nn::PackedRnnResult r = gru.with_state(packed);
  EXPECT_TRUE(seen.is_same(packed.data));
  EXPECT_EQ(r.h_n.to_vector<float>(), plain.h_n.to_vector<float>());
  EXPECT_EQ(sum(abs(r.output.data)).item(), 0);
}

TEST(HooksOfSeveral, AHookThatReturnsNothingChangesNoBit) {
  Two plain, watched;
  watched.register_full_backward_hook([](nn::Module&, const List&, const List&) {});
  std::vector<double> of_a[2], of_b[2];
  for (Two* m : {&plain, &watched}) {
    Tensor a = number({2, 3}, 48).requires_grad_(), b = number({2, 3}, 49).requires_grad_();
    auto [p, q] = (*m)(a, b);
    (sum(p * p) + sum(q)).backward();
    of_a[m == &watched] = a.grad().to_vector<double>();
    of_b[m == &watched] = b.grad().to_vector<double>();
  }
  EXPECT_EQ(of_a[0], of_a[1]);
  EXPECT_EQ(of_b[0], of_b[1]);
  EXPECT_EQ(plain.w.grad().to_vector<double>(), watched.w.grad().to_vector<double>());
}

TEST(HooksOfSeveral, OneTensorAtTwoPlacesHasAGradientOfEach) {
  Two m;
  Tensor a = number({2, 3}, 48).requires_grad_();
  m.register_full_backward_hook([](nn::Module&, const List& grad_in, const List&) {
    return List{grad_in[0] * 0, grad_in[1]};
  });
  auto [p, q] = m(a, a);
  (sum(p) + sum(q)).backward();
  // d/db of a b w and of a - b w
  const Tensor want = a.detach() * m.w.detach() - m.w.detach();
  EXPECT_TRUE(allclose(a.grad(), want, 1e-12, 1e-12));
}

TEST(HooksOfSeveral, AWriteIntoAnInputIsRecordedForTheCallersTensor) {
  struct InPlace : nn::Module {
    Tensor operator()(const Arg& x, const Arg& y) {
      return hooked([](const Arg& a, const Arg& b) { return a.tensor.mul_(3.0) * b.tensor; }, x, y);
    }
  } m;
  m.register_full_backward_hook([](nn::Module&, const List&, const List&) {});
  Tensor x = full({2}, 5., DType::kF64).requires_grad_(), h = x * 1.0;
  Tensor z = m(h, full({2}, 2., DType::kF64));
  (sum(z) + sum(h)).backward();  // 6 x + 3 x
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{9, 9}));
}

TEST(HooksOfSeveral, MistakesAreOneErrorWithTheNumbers) {
  Tensor a = number({5, 3}, 46).requires_grad_(), b = number({5, 4}, 47);
  nn::Bilinear m = bilinear_of_numbers();
  HookHandle h =
      m.register_forward_pre_hook([](nn::Module&, const List& in) { return List{in[0]}; });
  EXPECT_THAT(error_of([&] { m(a, b); }),
              HasSubstr("a forward pre-hook of a module returned 1 tensors, the call has 2 inputs "
                        "(hooks_several_test.cc:"));
  h.remove();
  h = m.register_forward_hook([](nn::Module&, const List&, const Tensor& y) { return List{y, y}; });
  EXPECT_THAT(error_of([&] { m(a, b); }),
              HasSubstr("a forward hook of a module returned 2 tensors, the call has 1 outputs"));
  h.remove();
  h = m.register_full_backward_hook(
      [](nn::Module&, const List& g, const List&) { return List{g[0]}; });
  EXPECT_THAT(error_of([&] { sum(m(a, b)).backward(); }),
              HasSubstr("returned 1 gradients for 2 inputs"));
  h.remove();
  h = m.register_full_backward_hook(
      [](nn::Module&, const List& g, const List&) { return sum(g[0]); });
  EXPECT_THAT(error_of([&] { sum(m(a, b)).backward(); }),
              HasSubstr("returned float64[] for the gradient of input 0, which is float64[5,3]"));
  h.remove();
  h = m.register_full_backward_hook([](nn::Module&, const List&, const List& g) { return g; });
  EXPECT_THAT(error_of([&] { sum(m(a.detach(), b)).backward(); }),
              HasSubstr("returned 1 gradients for 2 inputs"));
  h.remove();
  m.register_full_backward_hook([](nn::Module&, const List&, const List& g) {
    return List{g[0], g[0]};
  });
  EXPECT_THAT(error_of([&] { sum(m(a.detach(), b)).backward(); }),
              HasSubstr("must return nothing, because no input requires a gradient"));
  EXPECT_FALSE(m.weight.grad().defined());
}

}  // namespace
}  // namespace wick
