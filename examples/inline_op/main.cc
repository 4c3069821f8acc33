// An op of one's own in the middle of a program: a C++ function, bound in while the program runs.
// It adds elementwise with the vectors of the processor that it is compiled for, has a gradient,
// and goes into a file. Times go to stderr.
#include <wick/compile.h>
#include <wick/trainer.h>

#include <chrono>
#include <cstdio>
#include <cstring>

using namespace wick;  // NOLINT: an example

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static InlineOptions native() {
  InlineOptions options;
  options.flags = {"-march=native"};
  return options;
}

static void load() {
  load_inline(R"(
#include <wick/custom_op.h>
#include <hwy/highway.h>
namespace hn = hwy::HWY_NAMESPACE;

wick::Status shape(wick::OpShapes& c) {  // a, b -> a + b; both have one shape
  for (int i = 0; i < c.in[0].rank(); ++i) {
    if (c.in[1].rank() == c.in[0].rank() &&
        equal(c.in[0].shape[i], c.in[1].shape[i]) != wick::Tri::kNo) continue;
    return wick::Status(wick::Code::kShapeMismatch, "a and b must have one shape");
  }
  c.out[0] = c.in[0];
  return {};
}
template <class T>
wick::Status add(const wick::KernelCtx&, wick::Span<const wick::TensorView> in,
                 wick::Span<wick::TensorView> out, const void*) {
  const hn::ScalableTag<T> d;
  const T *a = in[0].as<T>(), *b = in[1].as<T>();
  const size_t n = in[0].numel(), whole = n - n % hn::Lanes(d);
  for (size_t i = 0; i < whole; i += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out[0].as<T>() + i);
  for (size_t i = whole; i < n; ++i) out[0].as<T>()[i] = a[i] + b[i];
  return {};
}
constexpr wick::KernelRow kRows[] = {wick::kernel_row<float, add<float>>("add.f32"),
                                     wick::kernel_row<double, add<double>>("add.f64")};
constexpr wick::CustomOp kAdd = {.domain = "my", .name = "Add", .min_inputs = 2, .max_inputs = 2,
    .shape = shape, .kernels = kRows,
    .gradient = [](wick::Gradient& d) { d.set(0, d.g()), d.set(1, d.g()); }, .saves_in = 0};
WICK_EXPORT_OPS(&kAdd)
)",
              native());
}

struct Net : nn::Module {
  nn::Child<nn::Linear> left{this, "left", 5, 3}, right{this, "right", 5, 3};
  Tensor forward(const Arg& x) override { return custom_op("my::Add", {left(x), right(x)}); }
};

static void run() {
  double begin = seconds();
  load();
  std::fprintf(stderr, "compiled and loaded in %.2f s\n", seconds() - begin);
  begin = seconds();
  load();
  std::fprintf(stderr, "found again in %.4f s\n", seconds() - begin);

  const Tensor a = randn({37, 19}), b = randn({37, 19});
  std::printf("bits of a + b: %s\n",
              equal(custom_op("my::Add", {a, b}), a + b) ? "equal" : "DIFFER");

  GradcheckOptions twice;
  twice.second_order = true;
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{custom_op("my::Add", {in[0] * in[0], in[1]})};
  };
  const Tensor x = tensor({-2., .5, 3.}, DType::kF64).requires_grad_();
  const Tensor y = tensor({1., .25, -1.}, DType::kF64).requires_grad_();
  std::printf("gradients of two orders: %s\n", gradcheck(f, {x, y}, twice).ok ? "pass" : "FAIL");

  Net net;
  net.eval();
  const ir::Graph graph = capture(net, {{"x", zeros({1, 5}), {{0, "batch"}}, {}}});
  const Tensor batch = randn({4, 5});
  const HostTensor in(DType::kF32, Shape{4, 5}, batch.raw().data, batch.raw().nbytes());
  const HostTensor out = ir::run(import_onnx_bytes(onnx_bytes(graph)), {&in, 1})[0];
  const Tensor want = net(batch).detach();
  std::printf("through ONNX: bits %s\n",
              memcmp(out.data(), want.raw().data, out.nbytes()) == 0 ? "equal" : "DIFFER");
  try {
    custom_op("my::Add", {a, b.t()});
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
  }
}

int main() {
  try {
    run();
  } catch (const Error& e) {
    return std::puts(e.what()), 1;
  }
}
