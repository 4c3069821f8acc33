// float32, float16 with a GradScaler, bfloat16: one MLP, one seed, one set of batches. It compares
// their cost and what they learn.
//
//   precision_study [--data mnist|fashion-mnist|tinydigits] [--train N] [--epochs N] [--hidden N]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "wick/trainer.h"

using namespace wick;

namespace {

// CPU time: there is one thread, and other programs on the machine are not counted.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Options {
  std::string data = "mnist";
  int64_t train = 60000, epochs = 2, hidden = 512;
};

struct Outcome {
  double accuracy, seconds;
  size_t bytes;  // peak of tensors made by the forward and alive after it
  int64_t skipped = 0;
  double scale;
};

// Returns all pixels of a set as one tensor [N, H * W], and its labels.
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
  const double begin = now();
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    for (int64_t at = 0; at + kBatch <= x.size(0); at += kBatch) {
      const size_t before = live_bytes();
      Tensor loss;
      {
        auto scope = amp.begin();
        loss = cross_entropy(net(x.slice(0, at, at + kBatch)), y.slice(0, at, at + kBatch));
        r.bytes = std::max(r.bytes, live_bytes() - before);
      }
      sgd.zero_grad();
      amp.backward(loss);
      r.skipped += amp.step(sgd) ? 0 : 1;
    }
  }
  r.seconds = now() - begin;
  r.scale = amp.scaler().get_scale();
  net.eval();
  NoGrad guard;
  auto scope = amp.begin();
  const auto n = static_cast<double>(test_x.size(0));
  r.accuracy = static_cast<double>(sum(eq(argmax(net(test_x), 1), test_y)).item()) / n;
  return r;
}

// Times one product of 1024 x 1024 x 1024, the best of several.
double product_ms(DType precision) {
  Tensor a = randn({1024, 1024}).to(precision), b = randn({1024, 1024}).to(precision);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    matmul(a, b);
    best = std::min(best, 1e3 * (now() - begin));
  }
  return best;
}

// Times one training step of a small GPT: 4 sequences of 128 tokens, 2 layers of width 256.
double gpt_step_ms(DType precision) {
  manual_seed(2);
  nn::GptOptions o;
  o.vocab_size = 96, o.embed_dim = 256, o.num_layers = 2, o.num_heads = 4, o.max_seq_len = 128;
  nn::GPT gpt(o);
  optim::AdamW adam(gpt.parameters(), {.lr = 1e-3});
  optim::Amp amp({.autocast = precision});
  Tensor tokens = (rand({4, 128}) * 95).to(DType::kI64);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    Tensor loss;
    {
      auto scope = amp.begin();
      loss = cross_entropy(gpt(tokens).flatten(0, 1), tokens.flatten());
    }
    adam.zero_grad();
    amp.backward(loss);
    amp.step(adam);
    best = std::min(best, 1e3 * (now() - begin));
  }
  return best;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    int64_t* number = key == "--train"    ? &o.train
                      : key == "--epochs" ? &o.epochs
                      : key == "--hidden" ? &o.hidden
                                          : nullptr;
    if (number != nullptr) *number = std::atoll(value.c_str());
    if (key == "--data") o.data = value;
    if (value.empty() || (number == nullptr && key != "--data") || (number && *number < 1)) {
      std::fprintf(stderr, "bad argument: %s %s\n", key.c_str(), value.c_str());
      std::exit(2);
    }
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
    std::printf("SKIP: no shared data folder: %s\n", e.what());
    return 77;
  }
  std::printf("%-16s %9s %9s %14s %8s %9s %12s %12s\n", "precision", "accuracy", "seconds",
              "forward bytes", "skipped", "scale", "1024^3 ms", "GPT step ms");
  double float32 = 0, worst = 1;
  for (DType precision : {DType::kNone, DType::kF16, DType::kBF16}) {
    const Outcome r = study(precision, o, images);
    const DType of = precision == DType::kNone ? DType::kF32 : precision;
    std::printf("%-16s %8.2f%% %9.2f %14zu %8lld %9g %12.2f %12.1f\n",
                of == DType::kF16 ? "float16+scaler" : dtype_name(of), 100 * r.accuracy, r.seconds,
                r.bytes, static_cast<long long>(r.skipped), r.scale, product_ms(of),
                gpt_step_ms(precision));
    if (precision == DType::kNone) float32 = r.accuracy;
    worst = std::min(worst, r.accuracy);
  }
  const bool close = worst > float32 - 0.02;
  std::puts(close ? "16 bits are within 2 points of float32" : "16 bits learned less");
  return close ? 0 : 1;
}
