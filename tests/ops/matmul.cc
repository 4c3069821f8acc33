#include "tests/ops/rows.h"

namespace wick::test {
namespace {

EpilogueAttrs act(Activation a, double alpha = 0, double beta = 0) {
  return {static_cast<int64_t>(a), alpha, beta};
}

}  // namespace

// The bound grows with k: k roundings of partial sums, each at most half an ulp of the running
// magnitude.
WICK_TEST_ROW(
    MatMul,
    [] {
      return std::vector<Sample>{
          sample("MatMul/2x3x4", {f32({2, 3}), f32({3, 4})}),
          sample("MatMul/1x1x1", {f32({1, 1}), f32({1, 1})}),
          sample("MatMul/17x33x65", {f32({17, 33}), f32({33, 65})}),
          sample("MatMul/9x1030x50", {f32({9, 1030}), f32({1030, 50})}),
          sample("MatMul/row", {f32({7}), f32({7, 5})}),
          sample("MatMul/column", {f32({5, 7}), f32({7})}),
          sample("MatMul/dot", {f32({7}), f32({7})}),
          sample("MatMul/batch", {f32({2, 3, 5, 7}), f32({2, 3, 7, 4})}),
          sample("MatMul/batch_broadcast", {f32({2, 1, 5, 7}), f32({3, 7, 4})}),
          sample("MatMul/k0", {f32({2, 0}), f32({0, 3})}),
          sample("MatMul/m0", {f32({0, 4}), f32({4, 3})})};
    },
    nullptr, 64);
WICK_TEST_ROW(
    Linear,
    [] {
      return std::vector<Sample>{
          sample("Linear/2x3x4", {f32({2, 3}), f32({4, 3}), f32({4})}),
          sample("Linear/no_bias", {f32({5, 33}), f32({65, 33})}),
          sample("Linear/batch1", {f32({1, 300}), f32({129, 300}), f32({129})}),
          sample("Linear/rank3", {f32({2, 9, 31}), f32({17, 31}), f32({17})}),
          sample("Linear/rank1", {f32({31}), f32({17, 31}), f32({17})}),
          sample("Linear/empty", {f32({0, 31}), f32({17, 31}), f32({17})})};
    },
    nullptr, 64);
WICK_TEST_ROW(
    FusedLinear,
    [] {
      auto in = [](int parts) {
        std::vector<Input> v = {f32({5, 33}), f32({18, 33}), f32({18}),
                                f32({18}),    f32({18}),     f32({5, 18})};
        if (parts < 5) v[5] = Input::absent();
        if (parts < 3) v[3] = v[4] = Input::absent();
        return v;
      };
      return std::vector<Sample>{
          sample("FusedLinear/relu", in(2), act(Activation::kRelu)),
          sample("FusedLinear/bn", in(3), act(Activation::kNone)),
          sample("FusedLinear/bn_residual_clip", in(5), act(Activation::kClip, 0, 6)),
          sample("FusedLinear/leaky", in(3), act(Activation::kLeakyRelu, 0.1)),
          sample("FusedLinear/sigmoid", in(2), act(Activation::kSigmoid)),
          sample("FusedLinear/tanh", in(2), act(Activation::kTanh)),
          sample("FusedLinear/silu", in(2), act(Activation::kSilu)),
          sample("FusedLinear/hardswish", in(2), act(Activation::kHardSwish)),
          sample("FusedLinear/gelu", in(2), act(Activation::kGeluErf)),
          sample("FusedLinear/gelu_tanh", in(5), act(Activation::kGeluTanh))};
    },
    nullptr, 128);

WICK_TEST_ROW(
    FusedMatMul,
    [] {
      auto in = [](int parts) {
        std::vector<Input> v = {f32({5, 33}), f32({33, 18}), f32({18}),
                                f32({18}),    f32({18}),     f32({5, 18})};
        if (parts < 5) v[5] = Input::absent();
        if (parts < 3) v[3] = v[4] = Input::absent();
        return v;
      };
      return std::vector<Sample>{
          sample("FusedMatMul/bias", in(2), act(Activation::kNone)),
          sample("FusedMatMul/bn_residual_clip", in(5), act(Activation::kClip, 0, 6)),
          sample("FusedMatMul/gelu", in(2), act(Activation::kGeluErf)),
          sample("FusedMatMul/rank3", {f32({2, 9, 31}), f32({31, 70}), f32({70})},
                 act(Activation::kRelu)),
          sample("FusedMatMul/column", {f32({7, 31}), f32({31, 1}), f32({1})},
                 act(Activation::kNone)),
          sample("FusedMatMul/vector", {f32({31}), f32({31, 17}), f32({17})},
                 act(Activation::kTanh)),
          sample("FusedMatMul/k0", {f32({2, 0}), f32({0, 3}), f32({3})}, act(Activation::kRelu))};
    },
    nullptr, 128);

}  // namespace wick::test
