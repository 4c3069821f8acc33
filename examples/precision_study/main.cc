// float32, float16 with a GradScaler, bfloat16: one MLP, one seed, one set of batches. What each
// costs and what it learns.
//
//   precision_study [--data mnist|fashion-mnist|tinydigits] [--train N] [--epochs N] [--hidden N]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "wick/trainer.h"

using namespace wick;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

struct Options {
  std::string data = "mnist";
  int64_t train = 60000, epochs = 2, hidden = 512;
};

struct Outcome {
  double accuracy, seconds;
  size_t bytes;  // of live tensors between forward and backward, at most
  int64_t skipped = 0;
  double scale;
};

// All pixels of a set as one tensor [N, H * W], and its labels.
std::pair<Tensor, Tensor> all_of(const data::Dataset& set, int64_t most) {
  std::vector<int64_t> indices(static_cast<size_t>(std::min(most, set.size())));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  data::Batch batch = set.get_batch(indices);
  return {batch[0].flatten(1), batch[1]};
}

Outcome study(DType precision, const Options& o, const data::ImageData& images) {
  const auto [x, y] = all_of(*images.train, o.train);
  const auto [test_x, test_y] = all_of(*images.test, 10000);
  manual_seed(1);
  nn::Sequential net{nn::Linear(x.size(1), o.hidden), nn::ReLU(), nn::Linear(o.hidden, o.hidden),
                     nn::ReLU(), nn::Linear(o.hidden, 10)};
  optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::Amp amp({.autocast = precision});
  Outcome r{};
  constexpr int64_t kBatch = 128;
  const auto begin = Clock::now();
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    for (int64_t at = 0; at + kBatch <= x.size(0); at += kBatch) {
      const size_t before = live_bytes();
      Tensor loss;
      {
        auto scope = amp.begin();
        loss = cross_entropy(net(x.slice(0, at, at + kBatch)), y.slice(0, at, at + kBatch));
        // The casts of the weights live as long as the graph; what is counted is what is kept.
        r.bytes = std::max(r.bytes, live_bytes() - before);
      }
      sgd.zero_grad();
      amp.backward(loss);
      r.skipped += amp.step(sgd) ? 0 : 1;
    }
  }
  r.seconds = seconds_since(begin);
  r.scale = amp.scaler().get_scale();
  net.eval();
  NoGrad guard;
  auto scope = amp.begin();
  const auto n = static_cast<double>(test_x.size(0));
  r.accuracy = static_cast<double>(sum(eq(argmax(net(test_x), 1), test_y)).item()) / n;
  return r;
}

// One product of 1024 x 1024 x 1024, the best of several.
double product_ms(DType precision) {
  Tensor a = randn({1024, 1024}).to(precision), b = randn({1024, 1024}).to(precision);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    matmul(a, b);
    best = std::min(best, seconds_since(begin) * 1e3);
  }
  return best;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--data") o.data = argv[i + 1];
    if (key == "--train") o.train = std::atoll(argv[i + 1]);
    if (key == "--epochs") o.epochs = std::atoll(argv[i + 1]);
    if (key == "--hidden") o.hidden = std::atoll(argv[i + 1]);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  data::ImageData images;
  try {
    images = data::open_images(o.data);
  } catch (const Error& e) {
    std::printf("skipped: %s\n", e.what());
    return 0;
  }
  std::printf("%-16s %9s %9s %14s %8s %9s %12s\n", "precision", "accuracy", "seconds",
              "forward bytes", "skipped", "scale", "1024^3 ms");
  double float32 = 0, worst = 1;
  for (DType precision : {DType::kNone, DType::kF16, DType::kBF16}) {
    const Outcome r = study(precision, o, images);
    const DType of = precision == DType::kNone ? DType::kF32 : precision;
    std::printf("%-16s %8.2f%% %9.2f %14zu %8lld %9g %12.2f\n",
                of == DType::kF16 ? "float16+scaler" : dtype_name(of), 100 * r.accuracy, r.seconds,
                r.bytes, static_cast<long long>(r.skipped), r.scale, product_ms(of));
    if (precision == DType::kNone) float32 = r.accuracy;
    worst = std::min(worst, r.accuracy);
  }
  // What a test asks: 16 bits learn what 32 do.
  const bool close = worst > float32 - 0.02;
  std::printf("%s\n", close ? "16 bits are within 2 points of float32" : "16 bits learned less");
  return close ? 0 : 1;
}
