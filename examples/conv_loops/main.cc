// A convolution is seven loops. The innermost line is traced for the first output and counted for
// all of them, and the result is compared with conv2d().
#include <wick/trainer.h>

#include <cmath>
#include <cstdio>

using namespace wick;  // NOLINT: an example

static int64_t multiply_adds = 0;

// x[N,C,H,W], w[O,C,K,K], no padding, stride 1; `trace` prints the sum of output (0,0,0,0) as it
// grows.
static Tensor conv2d_explicit(const Tensor& x, const Tensor& w, bool trace) {
  const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
  const int64_t O = w.size(0), K = w.size(2), P = H - K + 1, Q = W - K + 1;
  Tensor y = zeros({N, O, P, Q});
  const float *px = x.data<float>(), *pw = w.data<float>();
  float* py = y.mutable_data<float>();
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t p = 0; p < P; ++p)
        for (int64_t q = 0; q < Q; ++q)
          for (int64_t c = 0; c < C; ++c)
            for (int64_t i = 0; i < K; ++i)
              for (int64_t j = 0; j < K; ++j) {
                float a = px[((n * C + c) * H + p + i) * W + q + j];
                float b = pw[((o * C + c) * K + i) * K + j];
                float& sum = py[((n * O + o) * P + p) * Q + q];
                sum += a * b;
                ++multiply_adds;
                if (trace && n + o + p + q == 0)
                  std::printf("  x[0,%d,%d,%d] * w[0,%d,%d,%d] = %5.2f, sum %6.2f\n",
                              static_cast<int>(c), static_cast<int>(i), static_cast<int>(j),
                              static_cast<int>(c), static_cast<int>(i), static_cast<int>(j),
                              static_cast<double>(a * b), static_cast<double>(sum));
              }
  return y;
}

int main() {
  // Small numbers, so that every sum is exact and both ways give the same bits.
  Tensor image = arange(64, DType::kI64).to(DType::kF32).view({1, 1, 8, 8}) / 4;
  Tensor edge = (arange(25, DType::kI64).to(DType::kF32).view({1, 1, 5, 5}) - 12) / 4;
  std::puts("one output of a 5x5 kernel is 25 multiply-adds:");
  Tensor slow = conv2d_explicit(image, edge, true);
  Tensor fast = conv2d(image, edge);
  bool same = slow.to_vector<float>() == fast.to_vector<float>();
  std::printf("all of %s: %lld multiply-adds = 4*4 outputs * 25; conv2d() gives %s\n",
              to_text(slow.raw_shape()).text, static_cast<long long>(multiply_adds),
              same ? "the same" : "SOMETHING ELSE");
  std::printf("a CIFAR-10 batch (128,3,32,32) with 32 such kernels: %.1f million\n",
              128 * 32 * 28 * 28 * 3 * 25 / 1e6);
  return same ? 0 : 1;
}
