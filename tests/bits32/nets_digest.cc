// nets_digest: runs LeNet in f32 and in integers, with weights and images from a seed, on the
// reference kernels and on every target, and prints one digest per net. Targets that promise bits
// (P2) must give it, and the integer net must give it everywhere; other targets (P3) stay within a
// bound. tests/targets/rows.sh compares the lines of two machines.
#include <cmath>
#include <cstdio>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/simd.h"
#include "tests/program/program_builder.h"
#include "tests/support/digest.h"
#include "wick/runtime.h"

namespace wick::test {
namespace {

constexpr int64_t kImages = 13;

// Numbers of a seed: the same on every machine.
class Numbers {
 public:
  int next(int lo, int hi) {
    state_ = state_ * 1664525u + 1013904223u;
    return lo + static_cast<int>((state_ >> 8) % static_cast<uint32_t>(hi - lo + 1));
  }
  template <class T>
  std::vector<T> some(int64_t n, int lo, int hi, T unit = T{1}) {
    std::vector<T> v(static_cast<size_t>(n));
    for (T& x : v) x = static_cast<T>(static_cast<T>(next(lo, hi)) * unit);
    return v;
  }

 private:
  uint32_t state_ = 7;
};

PoolAttrs pool() {
  PoolAttrs a;
  a.kernel_shape = {2, 2};
  a.strides = {2, 2};
  return a;
}
ConvAttrs padded() {
  ConvAttrs a;
  a.pads = {2, 2, 2, 2};
  return a;
}

std::vector<uint8_t> lenet() {
  Numbers r;
  ProgramBuilder p;
  p.symbol("n", 1, 64);
  const float unit = 1.0f / 1024;
  auto weight = [&](const char* name, std::vector<int64_t> dims, int most) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return p.constant<float>(name, dims, r.some<float>(n, -most, most, unit));
  };
  auto value = [&](const char* name, std::vector<int64_t> rest) {
    rest.insert(rest.begin(), kSym);
    return p.value(name, DType::kF32, rest);
  };
  const auto x = value("x", {1, 28, 28});
  const auto w1 = weight("w1", {6, 1, 5, 5}, 300), b1 = weight("b1", {6}, 100);
  const auto w2 = weight("w2", {16, 6, 5, 5}, 120), b2 = weight("b2", {16}, 100);
  const auto w3 = weight("w3", {120, 400}, 90), b3 = weight("b3", {120}, 100);
  const auto w4 = weight("w4", {84, 120}, 140), b4 = weight("b4", {84}, 100);
  const auto w5 = weight("w5", {10, 84}, 160), b5 = weight("b5", {10}, 100);
  const auto flat = p.constant<int64_t>("flat", {2}, {-1, 400});
  const auto c1 = value("c1", {6, 28, 28}), t1 = value("t1", {6, 28, 28});
  const auto p1 = value("p1", {6, 14, 14}), c2 = value("c2", {16, 10, 10});
  const auto t2 = value("t2", {16, 10, 10}), p2 = value("p2", {16, 5, 5});
  const auto f = p.value("f", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  const auto open = [&](const char* name) {
    return p.value(name, DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  };
  const auto l3 = open("l3"), t3 = open("t3"), l4 = open("l4"), t4 = open("t4"), l5 = open("l5"),
             y = open("y");
  AxisAttrs last;
  last.axis = 1;
  p.node(OpId::kConv, {x, w1, b1}, {c1}, padded());
  p.node(OpId::kRelu, {c1}, {t1});
  p.node(OpId::kMaxPool, {t1}, {p1}, pool());
  p.node(OpId::kConv, {p1, w2, b2}, {c2}, ConvAttrs{});
  p.node(OpId::kTanh, {c2}, {t2});
  p.node(OpId::kAveragePool, {t2}, {p2}, pool());
  p.node(OpId::kReshape, {p2, flat}, {f}, ReshapeAttrs{});
  p.node(OpId::kLinear, {f, w3, b3}, {l3});
  p.node(OpId::kRelu, {l3}, {t3});
  p.node(OpId::kLinear, {t3, w4, b4}, {l4});
  p.node(OpId::kSigmoid, {l4}, {t4});
  p.node(OpId::kLinear, {t4, w5, b5}, {l5});
  p.node(OpId::kSoftmax, {l5}, {y}, last);
  p.entry("main", {x}, {y});
  return p.finish();
}

// Bytes in, logits out: what dynamic ranges a real one has is not asked here.
std::vector<uint8_t> integer_lenet() {
  Numbers r;
  ProgramBuilder p;
  p.symbol("n", 1, 64);
  auto scale = [&](float v) { return p.constant<float>("s", {}, {v}); };
  auto zero = [&](uint8_t v) { return p.constant<uint8_t>("z", {}, {v}); };
  const auto z8 = p.constant<int8_t>("z8", {}, {0});
  auto value = [&](const char* name, std::vector<int64_t> rest, DType t = DType::kU8) {
    rest.insert(rest.begin(), kSym);
    return p.value(name, t, rest);
  };
  const auto x = value("x", {1, 28, 28});
  const auto w1 = p.constant<int8_t>("w1", {6, 1, 5, 5}, r.some<int8_t>(150, -127, 127));
  const auto b1 = p.constant<int32_t>("b1", {6}, r.some<int32_t>(6, -4000, 4000));
  const auto s1 = p.constant<float>("s1", {6}, r.some<float>(6, 20, 80, 1.0f / 16384));
  const auto z1 = p.constant<int8_t>("z1", {6}, std::vector<int8_t>(6, 0));
  const auto w2 = p.constant<int8_t>("w2", {16, 6, 5, 5}, r.some<int8_t>(2400, -127, 127));
  const auto b2 = p.constant<int32_t>("b2", {16}, r.some<int32_t>(16, -4000, 4000));
  const auto w3 = p.constant<int8_t>("w3", {120, 400}, r.some<int8_t>(48000, -127, 127));
  const auto b3 = p.constant<int32_t>("b3", {120}, r.some<int32_t>(120, -4000, 4000));
  const auto w4 = p.constant<int8_t>("w4", {10, 120}, r.some<int8_t>(1200, -127, 127));
  const auto b4 = p.constant<int32_t>("b4", {10}, r.some<int32_t>(10, -4000, 4000));
  const auto flat = p.constant<int64_t>("flat", {2}, {-1, 400});
  const auto c1 = value("c1", {6, 28, 28}), p1 = value("p1", {6, 14, 14});
  const auto c2 = value("c2", {16, 10, 10}), p2 = value("p2", {16, 5, 5});
  auto open = [&](const char* name, DType t) {
    return p.value(name, t, {}, kNoIndex, kNoIndex, 0, true);
  };
  const auto f = open("f", DType::kU8), l3 = open("l3", DType::kU8), y = open("y", DType::kF32);
  const auto sx = scale(0.0078125f), sc1 = scale(0.0625f), sc2 = scale(0.5f), sl3 = scale(4.0f),
             sw = scale(0.0101f);
  const auto zx = zero(128), zc = zero(97), zl = zero(130);
  p.node(OpId::kQLinearConv, {x, sx, zx, w1, s1, z1, sc1, zc, b1}, {c1}, padded());
  p.node(OpId::kMaxPool, {c1}, {p1}, pool());
  p.node(OpId::kQLinearConv, {p1, sc1, zc, w2, sw, z8, sc2, zl, b2}, {c2}, ConvAttrs{});
  p.node(OpId::kMaxPool, {c2}, {p2}, pool());
  p.node(OpId::kReshape, {p2, flat}, {f}, ReshapeAttrs{});
  p.node(OpId::kQGemm, {f, sc2, zl, w3, sw, z8, b3, sl3, zc}, {l3});
  p.node(OpId::kQGemm, {l3, sl3, zc, w4, sw, z8, b4}, {y});
  p.entry("main", {x}, {y});
  return p.finish();
}

template <class T>
bool answers(const Program& program, DType dtype, Span<const KernelSet* const> kernels,
             std::vector<float>* out) {
  Numbers r;
  std::vector<T> images = sizeof(T) == 1 ? r.some<T>(kImages * 784, 0, 255)
                                         : r.some<T>(kImages * 784, -400, 600, T(1) / T(512));
  out->clear();
  SessionOptions options;
  options.threads = 1;
  options.kernels = kernels;
  auto session = Session::create(program, options);
  if (!session.ok()) return std::printf("%s\n", session.status().message()), false;
  for (int64_t from = 0, batch = 1; from < kImages; from += batch, batch = 4) {
    const TensorView in(images.data() + from * 784, dtype, {batch, 1, 28, 28});
    TensorView logits;
    const Status s = (*session)->run({&in, 1}, {&logits, 1});
    if (!s.ok()) return std::printf("%s\n", s.message()), false;
    out->insert(out->end(), logits.as<float>(), logits.as<float>() + logits.numel());
  }
  return true;
}

template <class T>
bool tell(const char* name, const std::vector<uint8_t>& file, DType dtype) {
  const AlignedBytes bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  if (!program.ok()) return std::printf("%s: %s\n", name, program.status().message()), false;
  const KernelSet* const reference[] = {&kReferenceKernels};
  std::vector<float> want, got;
  bool same = answers<T>(**program, dtype, reference, &want);
  auto hash = [](const std::vector<float>& v) {
    return digest(v.data(), static_cast<int64_t>(v.size()));
  };
  float largest = 0;
  for (float v : want) largest = std::max(largest, std::fabs(v));
  for_each_simd_target([&](int64_t target) {
    same = answers<T>(**program, dtype, {}, &got) && same;
    float off = 0;
    for (size_t i = 0; i < want.size() && i < got.size(); ++i)
      off = std::max(off, std::fabs(got[i] - want[i]));
    const bool bits = simd_target_has_fma(target) || sizeof(T) == 1;
    std::fprintf(stderr, "%s on %s: off by %g of %g\n", name, simd_target_name(target),
                 static_cast<double>(off), static_cast<double>(largest));
    if (bits ? hash(got) == hash(want) : off <= 1e-5f * largest) return;
    std::printf("%s gives other answers on %s\n", name, simd_target_name(target));
    same = false;
  });
  print_digest(name, hash(want));
  return same;
}

}  // namespace
}  // namespace wick::test

int main() {
  using namespace wick::test;
  const bool floats = tell<float>("lenet", lenet(), wick::DType::kF32);
  return tell<uint8_t>("integer_lenet", integer_lenet(), wick::DType::kU8) && floats ? 0 : 1;
}
