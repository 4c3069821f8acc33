// Rows that take the place of a general one for some shapes: TopK of a few, chains of norms,
// resizing for the trainer, and gradients in one pass. Many shapes and special values beside the
// reference.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/kernels/simd.h"
#include "runtime/ops/chain.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr double kInf = INFINITY;

ThreadPool* three_threads() {
  struct Pool {
    Result<ThreadPool*> made = ThreadPool::create(default_allocator(), threads_here(3));
    ~Pool() {
      if (made.ok()) ThreadPool::destroy(*made);
    }
  };
  static Pool pool;
  return pool.made.ok() ? *pool.made : nullptr;
}

// Runs a call on the reference and on each SIMD target with a fused multiply-add, on one thread and
// on three, and expects the same bits of the row `kernel`.
template <class A>
void expect_reference_bits(OpId op, const A& attrs, const std::vector<Value>& in, int outputs,
                           const std::string& kernel) {
  std::vector<Value> want;
  Status status = run_op(op, &attrs, in, outputs, reference_sets(), nullptr, &want);
  ASSERT_TRUE(status.ok()) << status.message();
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), three_threads()}) {
      std::vector<Value> got;
      std::string name;
      status = run_op(op, &attrs, in, outputs, cpu_sets(), threads, &got, &name);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(name, kernel) << simd_target_name(target);
      for (size_t k = 0; k < want.size(); ++k)
        EXPECT_EQ(bits_differ(want[k].view(), got[k].view()), "")
            << simd_target_name(target) << ", output " << k;
    }
  });
}

std::vector<Value> values_of(const std::string& name, std::vector<Input> in) {
  return make_inputs(sample(name, std::move(in)));
}

// Overwrites some elements, far enough from each other that most rows have none.
void set_specials(Value& v) {
  const double specials[] = {0.0, -0.0, NAN, kInf, -kInf, 1e-42, -1e-42};
  const int64_t n = v.view().numel();
  for (int64_t k = 0, i = 0; k < 7; ++k, i += n / 7 + 1) {
    if (i < n) v.set(i, specials[k]);
  }
}

TEST(FastRows, TopKOfAFew) {
  for (const Shape& x : {Shape{3, 8}, Shape{1, 9}, Shape{2, 64}, Shape{5, 65}, Shape{2, 700},
                         Shape{3, 4100}, Shape{40, 1000}, Shape{300, 2, 3}, Shape{2, 130, 5}}) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      for (int64_t k : {int64_t{1}, int64_t{2}, int64_t{7}, x[axis] / 8}) {
        if (k < 1 || k > x[axis] / 8) continue;
        for (int form = 0; form < 6; ++form) {
          SCOPED_TRACE(fmt::format("{} axis {} k {} form {}", to_text(x).text, axis, k, form));
          const bool few = form >= 4;  // numbers, so that most elements have equals
          auto in = values_of("topk", {f32(x, few ? 0 : -2, few ? 3 : 2)});
          for (int64_t i = 0; few && i < in[0].view().numel(); ++i)
            in[0].set(i, std::floor(in[0].at(i)));
          if (form >= 2 && form < 4) set_specials(in[0]);
          expect_reference_bits(OpId::kTopK, TopKAttrs{k, axis, form % 2, 1}, in, 2,
                                "topk.f32.simd");
        }
      }
    }
  }
  // Each element comes before all that were there.
  auto in = values_of("topk", {f32({2, 500})});
  for (int64_t i = 0; i < 1000; ++i) in[0].set(i, static_cast<double>(i < 500 ? i : -i));
  for (int64_t largest : {0, 1})
    expect_reference_bits(OpId::kTopK, TopKAttrs{50, 1, largest, 1}, in, 2, "topk.f32.simd");
}

TEST(FastRows, GridSamplesOfManyPoints) {
  for (int64_t mode = 0; mode < 3; ++mode) {
    for (int64_t padding = 0; padding < 3; ++padding) {
      for (int form = 0; form < 6; ++form) {
        const bool solid = form >= 4;
        if (solid && mode == static_cast<int64_t>(ResizeMode::kCubic)) continue;
        SCOPED_TRACE(fmt::format("mode {} padding {} form {}", mode, padding, form));
        const GridSampleAttrs a{mode, padding, form % 2};
        auto in = solid ? values_of("grid_sample",
                                    {f32({2, 3, 4, 5, 6}, -2, 2), f32({2, 3, 7, 13, 3}, -1.7, 1.7)})
                        : values_of("grid_sample",
                                    {f32({2, 3, 9, 7}, -2, 2), f32({2, 17, 31, 2}, -1.7, 1.7)});
        if (form >= 2) set_specials(in[0]), set_specials(in[1]);
        expect_reference_bits(OpId::kGridSample, a, in, 1, "grid_sample.f32.simd");
      }
    }
  }
}

TEST(FastRows, SumsOfShortRows) {
  for (int64_t n = 1; n <= 18; ++n) {
    for (OpId op : {OpId::kReduceSum, OpId::kReduceMean}) {
      auto in = values_of("sum", {f32({7, 11, n}, -2, 2)});
      set_specials(in[0]);
      for (int64_t i = 0; i < 3 * n; ++i) in[0].set(i, -0.0);
      expect_reference_bits(
          op, ReduceAttrs{{2}, 0, 0}, in, 1,
          op == OpId::kReduceSum ? "reduce_sum.f32.simd" : "reduce_mean.f32.simd");
    }
  }
}

constexpr int kC = kChainFirstConstant, kS = kChainFirstStep;

// The chain of a layer norm, as formulas record it or (by_power) as files spell it; `rms`: without
// the mean; `inverted`: times the reciprocal of the root, as ONNX's LayerNormalization is defined.
ChainAttrs norm_chain(int64_t row_dims, bool weight, bool bias, bool by_power, bool rms = false,
                      bool inverted = false) {
  ChainAttrs a;
  const auto step = [&](OpId op, int x, int y = 0) {
    a.steps.values[a.steps.count++] = chain_word(op, x, y);
    return kS + static_cast<int>(a.steps.count) - 1;
  };
  for (double v : {1e-5, 2.0}) a.constants.values[a.constants.count++] = std::bit_cast<int64_t>(v);
  a.row_dims = row_dims;
  const int centred = rms ? 0 : step(OpId::kSub, 0, step(OpId::kReduceMean, 0));
  const int square =
      by_power ? step(OpId::kPow, centred, kC + 1) : step(OpId::kMul, centred, centred);
  const int var = step(OpId::kReduceMean, square);
  const int root = step(OpId::kSqrt, step(OpId::kAdd, var, kC));
  int last = inverted ? step(OpId::kMul, centred, step(OpId::kReciprocal, root))
                      : step(OpId::kDiv, centred, root);
  if (weight) last = by_power ? step(OpId::kMul, 1, last) : step(OpId::kMul, last, 1);
  if (bias) step(OpId::kAdd, last, weight ? 2 : 1);
  if (!by_power) a.constants.count = 1;
  return a;
}

TEST(FastRows, ChainsOfNorms) {
  for (int64_t n : {1, 2, 15, 16, 17, 50, 256, 4096, 4097, 12544, 20000}) {
    for (int64_t rows : {1, 3, 4, 9}) {
      for (int form = 0; form < 32; ++form) {
        SCOPED_TRACE(fmt::format("{} rows of {}, form {}", rows, n, form));
        const bool by_power = (form & 4) != 0;
        const bool weight = (form & 1) != 0, bias = (form & 2) != 0;
        std::vector<Input> all = {f32({rows, n})};
        if (weight) all.push_back(f32({n}));
        if (bias) all.push_back(f32({1, n}));
        auto in = values_of("norm", all);
        if (by_power && rows > 1) set_specials(in[0]);
        expect_reference_bits(
            OpId::kFusedElementwise,
            norm_chain(1, weight, bias, by_power, (form & 8) != 0, (form & 16) != 0), in, 1,
            "fused_elementwise.f32.norm");
      }
    }
  }
}

TEST(FastRows, ChainsOfGroupNorms) {
  for (int64_t n : {1, 2, 3, 16, 49, 3136, 5000}) {
    for (int form = 0; form < 4; ++form) {
      SCOPED_TRACE(fmt::format("{} elements, form {}", n, form));
      const Shape w = form % 2 == 0 ? Shape{1, 2, 3, 1} : Shape{3, 1};
      std::vector<Input> all = {f32({3, 2, 3, n}), f32(w)};
      if (form >= 2) all.push_back(f32(w));
      expect_reference_bits(OpId::kFusedElementwise, norm_chain(2, true, form >= 2, false),
                            values_of("group", all), 1, "fused_elementwise.f32.norm");
    }
  }
}

// Chains that only look like a norm keep the general row.
TEST(FastRows, OtherChainsAreNoNorms) {
  const auto in = values_of("norm", {f32({4, 9}), f32({9}), f32({9})});
  const auto general = [&](const ChainAttrs& a, const std::vector<Value>& of) {
    expect_reference_bits(OpId::kFusedElementwise, a, of, 1, "fused_elementwise.f32.simd");
  };
  ChainAttrs cube = norm_chain(1, true, true, true);
  cube.constants.values[1] = std::bit_cast<int64_t>(3.0);
  general(cube, in);
  ChainAttrs difference = norm_chain(1, true, true, false);
  difference.steps.values[8] = chain_word(OpId::kSub, kS + 7, 2);
  general(difference, in);
  ChainAttrs turned = norm_chain(1, true, true, false);
  turned.steps.values[1] = chain_word(OpId::kSub, kS, 0);
  general(turned, in);
  // a weight for each row, and a weight and a bias of two forms
  general(norm_chain(1, true, true, false),
          values_of("norm", {f32({4, 9}), f32({4, 1}), f32({9})}));
  general(norm_chain(2, true, true, false),
          values_of("norm", {f32({2, 4, 9}), f32({4, 9}), f32({4, 1})}));
}

ResizeAttrs interpolation(ResizeMode mode, bool corners) {
  ResizeAttrs a;
  a.mode = static_cast<int64_t>(mode);
  a.coordinates = static_cast<int64_t>(corners ? ResizeCoordinates::kAlignCorners
                                               : ResizeCoordinates::kHalfPixel);
  a.interpolate = 1;
  return a;
}

TEST(FastRows, InterpolationAndItsGradient) {
  constexpr int64_t kSizes[] = {1, 2, 5, 16, 17, 33, 64, 100};
  const Input none = Input::absent();
  for (int64_t from : kSizes) {
    for (int64_t to : kSizes) {
      for (int form = 0; form < 8; ++form) {
        SCOPED_TRACE(fmt::format("{} to {}, form {}", from, to, form));
        const ResizeAttrs a = interpolation(
            (form & 1) != 0 ? ResizeMode::kCubic : ResizeMode::kLinear, (form & 2) != 0);
        const bool line = (form & 4) != 0;
        const Shape x = line ? Shape{2, 3, from} : Shape{1, 2, 1 + to % 7, from};
        const Shape y = line ? Shape{2, 3, to} : Shape{1, 2, 1 + from % 9, to};
        const Input sizes = ints(std::vector<double>(y.begin(), y.end()));
        auto in = values_of("x", {f32(x), none, none, sizes});
        set_specials(in[0]);
        expect_reference_bits(OpId::kResize, a, in, 1, "resize.f32.simd");
        auto back = values_of("g", {f32(x), f32(y), none, sizes});
        if (from != 2) set_specials(back[1]);
        for (int outputs : {1, (form & 1) != 0 ? 4 : 2})
          expect_reference_bits(OpId::kResizeGrad, a, back, outputs, "resize_grad.f32.simd");
      }
    }
  }
}

// The gradient of a sum has strides of 0; that of a transposed result has its rows apart.
TEST(FastRows, GradientsOfInterpolationMayBeStrided) {
  const ResizeAttrs a = interpolation(ResizeMode::kLinear, false);
  const Input none = Input::absent();
  const auto in =
      values_of("g", {f32({1, 2, 5, 20}), f32({1, 2, 10, 40}), none, ints({1, 2, 10, 40})});
  for (const Strides& strides :
       {Strides{0, 0, 0, 0}, Strides{0, 1, 2, 20}, Strides{0, 400, 40, 1}}) {
    std::vector<Value> dense = in, strided = in;
    TensorView v = in[1].view();
    v.strides = strides;
    strided[1].set_view(v, nullptr);
    std::vector<Value> copy = values_of("g", {f32({1, 2, 10, 40})});
    int64_t i = 0;
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t h = 0; h < 10; ++h) {
        for (int64_t w = 0; w < 40; ++w, ++i)
          copy[0].view().as<float>()[i] =
              v.as<float>()[c * strides[1] + h * strides[2] + w * strides[3]];
      }
    }
    dense[1] = copy[0];
    std::vector<Value> want, got;
    ASSERT_TRUE(run_op(OpId::kResizeGrad, &a, dense, 1, reference_sets(), nullptr, &want).ok());
    for (Span<const KernelSet* const> sets : {reference_sets(), cpu_sets()}) {
      ASSERT_TRUE(run_op(OpId::kResizeGrad, &a, strided, 1, sets, nullptr, &got).ok());
      EXPECT_EQ(bits_differ(want[0].view(), got[0].view()), "");
    }
  }
}

TEST(FastRows, GradientsOfLayerNorm) {
  for (int64_t n : {1, 2, 15, 16, 17, 50, 256, 4096, 4100, 9000}) {
    for (int64_t rows : {1, 3, 4, 15, 16, 17, 40}) {
      for (bool special : {false, true}) {
        SCOPED_TRACE(fmt::format("{} rows of {}, special {}", rows, n, special));
        auto in = values_of("layer", {f32({rows, n}), f32({rows, n}), f32({n})});
        if (special) set_specials(in[0]), set_specials(in[1]);
        expect_reference_bits(OpId::kLayerNormGrad, LayerNormGradAttrs{1, 1e-5}, in, 3,
                              "layer_norm_grad.f32.simd");
      }
    }
  }
  const auto blocks =
      values_of("layer", {f32({4096 * 2 + 5, 3}), f32({4096 * 2 + 5, 3}), f32({3})});
  expect_reference_bits(OpId::kLayerNormGrad, LayerNormGradAttrs{1, 1e-5}, blocks, 3,
                        "layer_norm_grad.f32.simd");
  for (const Shape& x : {Shape{0, 4}, Shape{3, 0}}) {
    const auto empty = values_of("layer", {f32(x), f32(x), f32({x[1]})});
    expect_reference_bits(OpId::kLayerNormGrad, LayerNormGradAttrs{1, 1e-5}, empty, 3,
                          "layer_norm_grad.f32.ref");
  }
}

TEST(FastRows, GradientsOfGroupNorm) {
  for (int64_t run : {1, 2, 7, 16, 49, 1100, 4100}) {
    for (int64_t images : {1, 2, 5}) {
      for (int64_t groups : {1, 2, 6}) {
        for (bool special : {false, true}) {
          SCOPED_TRACE(fmt::format("{} images of 6 x {} in {} groups, special {}", images, run,
                                   groups, special));
          const Shape x = run == 1 ? Shape{images, 6} : Shape{images, 6, run};
          auto in = values_of("group", {f32(x), f32(x), f32({6})});
          if (special) set_specials(in[0]), set_specials(in[1]);
          expect_reference_bits(OpId::kGroupNormGrad, GroupNormGradAttrs{groups, 1e-5}, in, 3,
                                "group_norm_grad.f32.simd");
        }
      }
    }
  }
  for (const Shape& x : {Shape{0, 4, 3}, Shape{2, 4, 0}, Shape{2, 0, 3}}) {
    const auto empty = values_of("group", {f32(x), f32(x), f32({x[1]})});
    expect_reference_bits(OpId::kGroupNormGrad, GroupNormGradAttrs{2, 1e-5}, empty, 3,
                          "group_norm_grad.f32.ref");
  }
}

// The gradient of a sum is one number for all elements.
TEST(FastRows, GradientsOfNormsMayBeConstant) {
  const auto expect_same = [&](OpId op, const auto& attrs, const Shape& x, const Shape& w,
                               const char* kernel) {
    const auto in = values_of("norm", {f32(x), f32(x), f32(w)});
    std::vector<Value> dense = in, constant = in;
    TensorView v = in[0].view();
    const float one = v.as<float>()[1];
    std::vector<Value> whole = values_of("norm", {f32(x)});
    for (int64_t i = 0; i < numel(x); ++i) whole[0].view().as<float>()[i] = one;
    dense[0] = whole[0];
    v.data = v.as<float>() + 1;
    for (int d = 0; d < v.rank(); ++d) v.strides[d] = 0;
    constant[0].set_view(v, nullptr);
    std::vector<Value> want, got;
    std::string name;
    ASSERT_TRUE(run_op(op, &attrs, dense, 3, reference_sets(), nullptr, &want).ok());
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), three_threads()}) {
      ASSERT_TRUE(run_op(op, &attrs, constant, 3, cpu_sets(), threads, &got, &name).ok());
      EXPECT_EQ(name, kernel);
      for (size_t k = 0; k < 3; ++k) EXPECT_EQ(bits_differ(want[k].view(), got[k].view()), "");
    }
  };
  for (const Shape& x : {Shape{5, 33}, Shape{40, 256}, Shape{3, 5000}})
    expect_same(OpId::kLayerNormGrad, LayerNormGradAttrs{1, 1e-5}, x, {x[1]},
                "layer_norm_grad.f32.constant");
  for (const Shape& x : {Shape{3, 4, 7}, Shape{2, 6, 16, 16}, Shape{2, 2, 5000}})
    expect_same(OpId::kGroupNormGrad, GroupNormGradAttrs{2, 1e-5}, x, {x[1]},
                "group_norm_grad.f32.constant");
}

}  // namespace
}  // namespace wick::test
