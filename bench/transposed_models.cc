// Writes the models of transposed convolutions as ONNX, DIR/dcgan.onnx and DIR/upconv.onnx, for
// tools/scripts/bench_transposed.py: transposed_models DIR.
#include <cstdio>
#include <string>

#include "bench/train_models.h"
#include "wick/compile.h"

namespace wick::bench {
namespace {

void write(nn::Module& module, const Tensor& x, const std::string& path) {
  module.eval();
  export_onnx(capture(module, {{"x", x, {{0, "batch"}}}}), path);
}

}  // namespace
}  // namespace wick::bench

int main(int argc, char** argv) {
  using namespace wick;  // NOLINT
  const std::string folder = argc > 1 ? argv[1] : ".";
  try {
    manual_seed(0);
    bench::Dcgan dcgan;
    bench::write(dcgan, randn({2, 100, 1, 1}), folder + "/dcgan.onnx");
    bench::UpConvs up;
    bench::write(up, randn({2, 256, 16, 16}), folder + "/upconv.onnx");
  } catch (const Error& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
