// A user's op from its own library in all stages: eager, backward, gradcheck, capture, ONNX export
// and import, .wick, and the runtime alone, with the same bits.
//   custom_op LIBRARY.so FOLDER
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include <wick/compile.h>
#include <wick/runtime.h>
#include <wick/trainer.h>

using namespace wick;  // NOLINT: an example

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 3, 8};
  nn::Child<nn::Linear> fc2{this, "fc2", 8, 2};
  Tensor forward(const Arg& x) override {
    return fc2(custom_op("example::Swish", {fc1(x)}, {{"beta", 1.5}}));
  }
};

static bool same_bits(const HostTensor& a, const Tensor& b) {
  return a.nbytes() == b.raw().nbytes() && memcmp(a.data(), b.raw().data, a.nbytes()) == 0;
}

static int run(const std::string& library, const std::string& folder) {
  for (const CustomOp* op : load_ops(library)) {
    std::printf("loaded %s::%s, version %u\n", op->domain, op->name, op->version);
  }
  // 1. Eager and backward: y'(0) is 1/2 whatever beta is.
  Tensor x = tensor({-1.f, 0.f, 2.f}).requires_grad_();
  Tensor y = custom_op("example::Swish", {x}, {{"beta", 1.5}});
  sum(y).backward();
  std::printf("swish    %s\ngradient %s\n", y.detach().to_string().c_str(),
              x.grad().to_string().c_str());

  // 2. The first and second gradient against finite differences in float64.
  GradcheckOptions twice;
  twice.second_order = true;
  auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{custom_op("example::Swish", {in[0]}, {{"beta", 1.5}})};
  };
  GradcheckResult checked =
      gradcheck(f, {tensor({-2., -.5, .25, 3.}, DType::kF64).requires_grad_()}, twice);
  std::printf("gradcheck and gradgradcheck: %s\n", checked.ok ? "pass" : checked.message.c_str());

  // 3. In a model: capture, a dynamic batch, ONNX and .wick.
  manual_seed(1);
  Net net;
  net.eval();
  ir::Graph graph = capture(net, {{"x", zeros({1, 3}), {{0, "batch"}}, {}}});
  export_onnx(graph, folder + "/swish.onnx");
  export_wick(graph, folder + "/swish.wick");
  Tensor batch = randn({5, 3});
  Tensor want = net(batch).detach();
  HostTensor in(DType::kF32, Shape{5, 3}, batch.raw().data, batch.raw().nbytes());
  ir::Graph back = import_onnx(folder + "/swish.onnx");
  std::printf("graph: %s\nfrom ONNX: %s\n",
              same_bits(ir::run(graph, {&in, 1})[0], want) ? "bits equal" : "DIFFERS",
              same_bits(ir::run(back, {&in, 1})[0], want) ? "bits equal" : "DIFFERS");

  // 4. The runtime, which is independent of the trainer: the ops are passed when the program is
  // loaded.
  auto ops = OpLibrary::open(library.c_str());
  LoadOptions options;
  if (ops.ok()) options.custom_ops = (*ops)->ops();
  auto program = Program::load((folder + "/swish.wick").c_str(), options);
  if (!program.ok()) return std::puts(program.status().message()), 1;
  auto session = Session::create(**program);
  if (!session.ok()) return std::puts(session.status().message()), 1;
  HostTensor out(DType::kF32, Shape{5, 2});
  TensorView from = in.view(), to = out.view();
  Status s = (*session)->run(Span<const TensorView>(&from, 1), Span<TensorView>(&to, 1));
  if (!s.ok()) return std::puts(s.message()), 1;
  std::printf(".wick: %s\n", same_bits(out, want) ? "bits equal" : "DIFFERS");

  // 5. Without the library the runtime says what is missing.
  auto without = Program::load((folder + "/swish.wick").c_str());
  std::printf("without its library: %s\n", Session::create(**without).status().message());
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: custom_op LIBRARY.so FOLDER"), 2;
  try {
    return run(argv[1], argv[2]);
  } catch (const Error& e) {
    return std::puts(e.what()), 1;
  }
}
