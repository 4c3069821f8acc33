// train: trains Net, writes it as own.wick and own.onnx, and keeps sixteen test images (input.f32)
// with the trainer's answers to them (expected.f32) for the programs that run the files.
#include <cstdio>
#include <fstream>
#include <numeric>

#include "net.h"
#include "wick/compile.h"

struct Data {
  std::string name;
  int64_t classes;
  wick::data::Batch train, test;  // {images [N, 1, 28, 28], labels [N]}
};

// 4,000 images of Fashion-MNIST if Debian's dataset-fashion-mnist (or WICK_DATA) has it; otherwise
// seeded noise with a bright stripe, which is horizontal (class 0) or vertical (class 1).
Data get_data() {
  try {
    auto images = wick::data::open_images("fashion-mnist");
    std::vector<int64_t> first(4000);
    std::iota(first.begin(), first.end(), 0);
    std::vector<int64_t> few(first.begin(), first.begin() + 1000);
    return {"4,000 images of Fashion-MNIST", static_cast<int64_t>(images.classes.size()),
            images.train->get_batch(first), images.test->get_batch(few)};
  } catch (const wick::Error&) {  // not installed
  }
  auto stripes = [](int64_t n) {
    Tensor x = wick::rand({n, 1, 28, 28}), label = wick::randint(0, 2, {n});
    Tensor at = wick::randint(0, 28, {n});
    for (int64_t i = 0; i < n; ++i) {
      bool stands = label.data<int64_t>()[i] == 1;
      for (int64_t k = 0, line = at.data<int64_t>()[i]; k < 28; ++k) {
        x.mutable_data<float>()[i * 784 + (stands ? k * 28 + line : line * 28 + k)] += 1.0f;
      }
    }
    return wick::data::Batch{x, label};
  };
  return {"2,000 seeded synthetic images (dataset-fashion-mnist is not installed)", 2,
          stripes(2000), stripes(1000)};
}

double accuracy(Net& net, const wick::data::Batch& data) {
  wick::NoGrad guard;
  net.eval();
  return static_cast<double>(wick::loop::count_correct(net(data[0]), data[1])) /
         static_cast<double>(data[1].numel());
}

void write_floats(const char* path, const Tensor& t) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(t.data<float>()),
             static_cast<std::streamsize>(t.numel() * 4));
}

int main() try {
  wick::manual_seed(7);
  Data data = get_data();
  std::printf("training on %s\n", data.name.c_str());

  Net net(data.classes);
  wick::optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  wick::data::DataLoader loader(std::make_shared<wick::data::TensorDataset>(data.train),
                                {.batch_size = 50, .shuffle = true, .seed = 7});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    net.train();
    double total = 0;
    for (wick::data::Batch& batch : loader) {
      optimizer.zero_grad();
      Tensor loss = wick::cross_entropy(net(batch[0]), batch[1]);
      loss.backward();
      optimizer.step();
      total += loss.item();
    }
    std::printf("epoch %d: loss %.4f, test accuracy %.1f %%\n", epoch,
                total / static_cast<double>(loader.batches()), accuracy(net, data.test) * 100);
  }
  if (accuracy(net, data.test) < 0.75) return std::puts("it has not learned"), 1;

  net.eval();
  Tensor images = data.test[0].narrow(0, 0, 16);
  wick::ir::Graph graph = wick::capture(net, {{"image", images, {{0, "batch"}}}}, {"scores", {}});
  wick::export_wick(graph, "own.wick");
  wick::export_onnx(graph, "own.onnx");
  wick::NoGrad guard;
  write_floats("input.f32", images);
  write_floats("expected.f32", net(images));
  std::puts("wrote own.wick, own.onnx, input.f32, expected.f32");
  return 0;
} catch (const wick::Error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
