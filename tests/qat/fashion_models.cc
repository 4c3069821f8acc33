// fashion_models FOLDER: writes lenet8.wick and resnet8.wick, integer programs of nets that were
// trained briefly, and images.bin, the test images that they classify: for another machine's
// runtime. Exit 77 without Fashion-MNIST.
#include <cstdio>

#include "tests/qat/fashion.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: fashion_models FOLDER"), 2;
  const std::string folder = std::string(argv[1]) + "/";
  const auto images = wick::test::fashion_mnist();
  if (!images) return std::puts("SKIP: Fashion-MNIST not installed"), 77;
  for (const char* model : {"lenet", "resnet8"}) {
    const auto net = wick::test::short_trained(model, *images);
    net->freeze();
    const std::string name = model == std::string("lenet") ? "lenet8" : model;
    wick::export_wick(net->integer()->graph(), folder + name + ".wick");
  }
  std::FILE* file = std::fopen((folder + "images.bin").c_str(), "wb");
  if (file == nullptr) return std::perror("images.bin"), 1;
  const wick::data::HostArray& bytes = images->test->images();
  const auto count = static_cast<size_t>(bytes.numel());
  const bool written = std::fwrite(bytes.as<uint8_t>(), 1, count, file) == count;
  return std::fclose(file) == 0 && written ? 0 : 1;
}
