#include "trainer/kernels/conv_grad.h"

#include "runtime/kernels/prepared.h"
#include "runtime/kernels/simd.h"
#include "tests/kernels/kernel_test_util.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using test::NanBuffer;
using test::Random;
using test::random_floats;
using test::same_bits;

struct Case {
  int64_t n, ic, h, w, oc, kernel, stride, pad, dilation = 1, groups = 1;
};

class ConvGradTest {
 public:
  explicit ConvGradTest(const Case& c)
      : random_(static_cast<uint64_t>(c.n + c.ic * 77 + c.h * 3 + c.oc)) {
    s_.n = c.n, s_.ic = c.ic, s_.h = c.h, s_.w = c.w, s_.oc = c.oc, s_.kh = s_.kw = c.kernel;
    s_.stride_h = s_.stride_w = c.stride, s_.dilation_h = s_.dilation_w = c.dilation;
    s_.pad_top = s_.pad_left = c.pad, s_.groups = c.groups;
    s_.oh = (c.h + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
    s_.ow = (c.w + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
    x_ = random_floats(random_, s_.n * s_.ic * s_.h * s_.w);
    dy_ = random_floats(random_, s_.n * s_.oc * s_.oh * s_.ow);
    w_ = random_floats(random_, s_.oc * s_.group_in() * s_.taps());
    attrs_.conv.strides = {c.stride, c.stride};
    attrs_.conv.dilations = {c.dilation, c.dilation};
    attrs_.conv.pads = {c.pad, c.pad, c.pad, c.pad};
    attrs_.conv.group = c.groups;
  }

  void check() {
    const std::vector<float> dx = reference(OpId::kConvInputGrad),
                             dw = reference(OpId::kConvWeightGrad);
    auto pool = ThreadPool::create(default_allocator(), 3);
    ASSERT_TRUE(pool.ok());
    for_each_simd_target([&](int64_t target) {
      const TileKernels& t = tile_kernels();
      for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), pool.value()}) {
        const int threads = p == nullptr ? 1 : p->threads();
        SCOPED_TRACE(::testing::Message()
                     << simd_target_name(target) << " threads " << threads << " x " << s_.n << ","
                     << s_.ic << "," << s_.h << "," << s_.w << " w " << s_.oc << "," << s_.kh
                     << " stride " << s_.stride_h << " pad " << s_.pad_top << " dilation "
                     << s_.dilation_h << " groups " << s_.groups);
        std::vector<float> got(dx.size(), -7.0f);
        NanBuffer scratch(conv_input_grad_scratch_bytes(t, s_, threads));
        conv_input_grad(t, s_, dy_.data(), w_.data(), got.data(), scratch.data(), threads, p);
        compare(target, got, dx, s_.group_out() * s_.taps());
        std::vector<float> got_w(dw.size(), -7.0f);
        NanBuffer scratch_w(conv_weight_grad_scratch_bytes(t, s_, threads));
        conv_weight_grad(t, s_, x_.data(), dy_.data(), got_w.data(), scratch_w.data(), threads, p);
        compare(target, got_w, dw, s_.n * s_.oh * s_.ow);
      }
    });
    ThreadPool::destroy(pool.value());
  }

 private:
  static void compare(int64_t target, const std::vector<float>& got, const std::vector<float>& want,
                      int64_t k) {
    if (simd_target_has_fma(target)) {
      EXPECT_TRUE(same_bits(got, want));
    } else {
      EXPECT_TRUE(test::close_without_fma(got, want, k, 2.0f));
    }
  }

  std::vector<float> reference(OpId op) {
    const Shape x{s_.n, s_.ic, s_.h, s_.w}, w{s_.oc, s_.group_in(), s_.kh, s_.kw},
        y{s_.n, s_.oc, s_.oh, s_.ow};
    const bool input = op == OpId::kConvInputGrad;
    std::vector<float> out(input ? x_.size() : w_.size());
    const TensorView in[2] = {
        input ? TensorView(dy_.data(), DType::kF32, y) : TensorView(x_.data(), DType::kF32, x),
        input ? TensorView(w_.data(), DType::kF32, w) : TensorView(dy_.data(), DType::kF32, y)};
    TensorView result[1] = {TensorView(out.data(), DType::kF32, input ? x : w)};
    KernelQuery q;
    q.op = op, q.attrs = &attrs_, q.in = Span<const TensorView>(in),
    q.out = Span<const TensorView>(result);
    const KernelSet* sets[] = {&kTrainReferenceKernels};
    PreparedKernel kernel;
    EXPECT_TRUE(kernel.prepare(sets, q).ok());
    EXPECT_TRUE(
        kernel.run({}, op, Span<const TensorView>(in), Span<TensorView>(result), &attrs_).ok());
    return out;
  }

  Random random_;
  ConvShape s_;
  ConvGradAttrs attrs_;
  std::vector<float> x_, dy_, w_;
};

void check(const Case& c) { ConvGradTest(c).check(); }

TEST(ConvGrad, LeNet) {
  check({.n = 3, .ic = 1, .h = 28, .w = 28, .oc = 32, .kernel = 3, .stride = 1, .pad = 1});
  check({.n = 5, .ic = 9, .h = 14, .w = 14, .oc = 20, .kernel = 3, .stride = 1, .pad = 1});
}

// Several images share a pass over the taps: one block of them all, and some blocks of a slice.
TEST(ConvGrad, SmallMapsTakeImagesTogether) {
  check({.n = 37, .ic = 6, .h = 1, .w = 1, .oc = 19, .kernel = 3, .stride = 1, .pad = 1});
  check({.n = 9, .ic = 5, .h = 2, .w = 2, .oc = 33, .kernel = 3, .stride = 1, .pad = 1});
  check({.n = 70, .ic = 4, .h = 5, .w = 4, .oc = 50, .kernel = 3, .stride = 2, .pad = 1});
  check({.n = 300, .ic = 3, .h = 3, .w = 3, .oc = 20, .kernel = 2, .stride = 1, .pad = 0});
  check({.n = 21,
         .ic = 6,
         .h = 4,
         .w = 4,
         .oc = 24,
         .kernel = 3,
         .stride = 1,
         .pad = 1,
         .groups = 2});
}

TEST(ConvGrad, MoreImagesThanSlices) {
  check({.n = 37, .ic = 2, .h = 5, .w = 6, .oc = 3, .kernel = 3, .stride = 1, .pad = 1});
}

TEST(ConvGrad, StridesPadsDilations) {
  for (int64_t kernel : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 1, 2}) {
        for (int64_t dilation : {1, 2}) {
          check({.n = 2,
                 .ic = 3,
                 .h = 11,
                 .w = 13,
                 .oc = 5,
                 .kernel = kernel,
                 .stride = stride,
                 .pad = pad,
                 .dilation = dilation});
        }
      }
    }
  }
  check({.n = 1, .ic = 40, .h = 9, .w = 9, .oc = 50, .kernel = 1, .stride = 2, .pad = 0});
  check({.n = 1, .ic = 3, .h = 9, .w = 9, .oc = 4, .kernel = 2, .stride = 3, .pad = 0});
}

TEST(ConvGrad, Groups) {
  check(
      {.n = 2, .ic = 6, .h = 9, .w = 9, .oc = 8, .kernel = 3, .stride = 1, .pad = 1, .groups = 2});
  check(
      {.n = 2, .ic = 6, .h = 9, .w = 8, .oc = 6, .kernel = 3, .stride = 2, .pad = 1, .groups = 6});
}

// A channel a group: other kernels, whose lanes are channels (trainer/kernels/depthwise.h).
TEST(ConvGrad, Depthwise) {
  for (int64_t kernel : {1, 2, 3, 5, 7}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 1, 3}) {
        for (int64_t dilation : {1, 2}) {
          if ((kernel - 1) * dilation >= 9 + 2 * pad) continue;
          check({.n = 2,
                 .ic = 19,
                 .h = 9,
                 .w = 11,
                 .oc = 19,
                 .kernel = kernel,
                 .stride = stride,
                 .pad = pad,
                 .dilation = dilation,
                 .groups = 19});
        }
      }
    }
  }
  const Case tiny{.n = 37, .ic = 40, .h = 2, .w = 2, .oc = 40, .kernel = 3, .stride = 1, .pad = 1};
  for (int64_t stride : {1, 2, 3}) {  // with stride 3 a phase is outside the image
    Case c = tiny;
    c.stride = stride, c.groups = 40;
    check(c);
  }
  for (int64_t stride : {1, 2}) {  // rows beyond one chunk
    check({.n = 3,
           .ic = 3,
           .h = 90,
           .w = 70,
           .oc = 3,
           .kernel = 3,
           .stride = stride,
           .pad = 1,
           .groups = 3});
  }
  check(
      {.n = 2, .ic = 3, .h = 3, .w = 70, .oc = 3, .kernel = 3, .stride = 2, .pad = 9, .groups = 3});
  check(
      {.n = 0, .ic = 3, .h = 3, .w = 7, .oc = 3, .kernel = 3, .stride = 2, .pad = 1, .groups = 3});
}

TEST(ConvGrad, PixelsBeyondOneChunk) {
  check({.n = 2, .ic = 3, .h = 40, .w = 30, .oc = 60, .kernel = 3, .stride = 1, .pad = 1});
}

TEST(ConvGrad, EmptyBatch) {
  check({.n = 0, .ic = 2, .h = 4, .w = 4, .oc = 3, .kernel = 3, .stride = 1, .pad = 1});
}

// Three spatial dims: what the trainer's rows make of a call, beside the plain loops.
TEST(ConvGrad, Volumes) {
  Random random(5);
  auto pool = ThreadPool::create(default_allocator(), 3);
  ASSERT_TRUE(pool.ok());
  auto pick = [&](int64_t least, int64_t most) { return least + random.below(most - least + 1); };
  int taken = 0;
  for (int turn = 0; turn < 60; ++turn) {
    ConvGradAttrs a;
    const int64_t groups = pick(1, 3), n = turn == 0 ? 0 : turn == 1 ? 70 : pick(1, 4);
    Shape x{n, groups * pick(1, 5), 0, 0, 0}, w{groups * pick(1, 9), x[1] / groups, 0, 0, 0},
        y{n, w[0], 0, 0, 0};
    a.conv.group = groups;
    for (int d = 2; d < 5; ++d) {
      const int64_t kernel = pick(1, 3), stride = pick(1, 3), dilation = pick(1, 2),
                    front = pick(0, 2), back = pick(0, 2),
                    size = std::max(pick(1, 9), (kernel - 1) * dilation + 1);
      x[d] = size, w[d] = kernel;
      y[d] = (size + front + back - dilation * (kernel - 1) - 1) / stride + 1;
      a.conv.strides.values[a.conv.strides.count++] = stride;
      a.conv.dilations.values[a.conv.dilations.count++] = dilation;
      a.conv.pads.values[d - 2] = front, a.conv.pads.values[d + 1] = back;
    }
    a.conv.pads.count = 6;
    std::copy(w.begin() + 2, w.end(), a.spatial.values);
    a.spatial.count = 3;
    const std::vector<float> xs = random_floats(random, numel(x)),
                             dys = random_floats(random, numel(y));
    const TensorView in[2] = {TensorView(const_cast<float*>(xs.data()), DType::kF32, x),
                              TensorView(const_cast<float*>(dys.data()), DType::kF32, y)};
    auto run = [&](const KernelSet& set, ThreadPool* p, const char** name) {
      std::vector<float> out(static_cast<size_t>(numel(w)), -7.0f);
      TensorView result[1] = {TensorView(out.data(), DType::kF32, w)};
      KernelQuery q;
      q.op = OpId::kConvWeightGrad, q.attrs = &a, q.in = Span<const TensorView>(in),
      q.out = Span<const TensorView>(result), q.threads = p == nullptr ? 1 : p->threads();
      const KernelSet* sets[] = {&set};
      PreparedKernel kernel;
      EXPECT_TRUE(kernel.prepare(sets, q).ok());
      *name = kernel.row().name;
      NanBuffer scratch(kernel.scratch_bytes());
      EXPECT_TRUE(kernel
                      .run({p, scratch.data(), nullptr}, q.op, Span<const TensorView>(in),
                           Span<TensorView>(result), &a)
                      .ok());
      return out;
    };
    const char* name = nullptr;
    const std::vector<float> want = run(kTrainReferenceKernels, nullptr, &name);
    for_each_simd_target([&](int64_t target) {
      for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), pool.value()}) {
        SCOPED_TRACE(::testing::Message() << simd_target_name(target) << " turn " << turn);
        const std::vector<float> got = run(kTrainKernels, p, &name);
        taken += std::string_view(name) == "conv_weight_grad.f32.simd" ? 1 : 0;
        if (simd_target_has_fma(target)) {
          EXPECT_TRUE(same_bits(got, want));
        } else {
          EXPECT_TRUE(test::close_without_fma(got, want, n * y[2] * y[3] * y[4], 2.0f));
        }
      }
    });
  }
  EXPECT_GT(taken, 100);
  ThreadPool::destroy(pool.value());
}

}  // namespace
}  // namespace wick
