// make_model FOLDER: writes the files of lenet_static and its test, without training: lenet.wick
// (bytes in, seeded weights, the ops of `wick export`), the same model as lenet.onnx, image.npy,
// the trainer's own output for it (logits.txt), and softmax.wick, which needs an op that
// lenet_static lacks.
#include <cstdio>
#include <string>

#include "trainer/data/npy.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace {

struct WithSoftmax : wick::nn::Module {
  explicit WithSoftmax(std::shared_ptr<Module> inner) { register_module("inner", inner); }
  wick::Tensor forward(const wick::Arg& x) override {
    return wick::softmax((*children()[0].second)(x), 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: make_model FOLDER"), 2;
  const std::string folder = std::string(argv[1]) + "/";
  wick::manual_seed(1);
  auto lenet = wick::nn::lenet();
  lenet->eval();
  const wick::InputNormalization normalization{255, {0.2860f}, {0.3530f}};
  wick::CaptureInput input{"image", wick::zeros({2, 1, 28, 28}), {{0, "batch"}}, {normalization}};
  const wick::ir::Graph graph = wick::capture(*lenet, {input}, {"logits", {}});
  wick::export_wick(graph, folder + "lenet.wick");
  wick::export_onnx(graph, folder + "lenet.onnx");
  WithSoftmax softmax(lenet);
  softmax.eval();
  wick::export_wick(wick::capture(softmax, {input}, {"probabilities", {}}),
                    folder + "softmax.wick");

  unsigned char bytes[28 * 28];
  for (int i = 0; i < 28 * 28; ++i) bytes[i] = static_cast<unsigned char>(i * 7 % 256);
  wick::Tensor x = wick::zeros({1, 1, 28, 28});
  for (int i = 0; i < 28 * 28; ++i) {
    x.mutable_data<float>()[i] =
        (static_cast<float>(bytes[i]) / normalization.divisor - normalization.mean[0]) /
        normalization.std[0];
  }
  wick::data::write_npy(folder + "image.npy",
                        wick::TensorView(bytes, wick::DType::kU8, {1, 1, 28, 28}));
  wick::NoGrad no_grad;
  wick::Tensor logits = (*lenet)(x);
  std::FILE* f = std::fopen((folder + "logits.txt").c_str(), "w");
  if (f == nullptr) return std::perror("logits.txt"), 1;
  for (int i = 0; i < 10; ++i) std::fprintf(f, "%.9g\n", logits.data<float>()[i]);
  return std::fclose(f);
}
