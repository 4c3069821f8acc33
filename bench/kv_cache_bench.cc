// Tokens per second of a GPT with and without its KV cache: in the trainer, and as a program whose
// entry point "decode" is compared with one that takes the whole text for each token.
//   kv_cache_bench [threads] [embed_dim] [layers]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/exec/recurrent_state.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace {

using wick::DType;
using wick::TensorView;

constexpr int64_t kLengths[] = {64, 128, 256};
constexpr int64_t kMost = 256;

// Returns the least time of a few runs in seconds: what else the machine does only adds to it.
template <class F>
double seconds(const F& run) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count());
  }
  return least;
}

void print(const char* what, int64_t tokens, double with, double without) {
  const auto n = static_cast<double>(tokens);
  printf("%-8s %4ld tokens: %8.0f tokens/s with the cache, %8.0f without, %5.1f times\n", what,
         tokens, n / with, n / without, without / with);
}

void in_the_trainer(wick::nn::GPT& gpt) {
  const wick::Tensor start = wick::zeros({1, 1}, DType::kI64);
  for (const int64_t tokens : kLengths) {
    wick::nn::GenerateOptions o;
    o.max_new_tokens = tokens;
    o.temperature = 0;
    auto generate = [&](bool use_cache) {
      o.use_cache = use_cache;
      return seconds([&] { gpt.generate(start, o); });
    };
    print("trainer", tokens, generate(true), generate(false));
  }
}

void fail(const wick::Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "%s\n", s.message());
  exit(1);
}

struct Opened {
  Opened(std::vector<uint8_t> file, const char* entry, int threads) : bytes(std::move(file)) {
    auto loaded = wick::Program::load(wick::Span<const uint8_t>(bytes));
    fail(loaded.status());
    program = std::move(*loaded);
    wick::SessionOptions options;
    options.entry = entry;
    options.threads = threads;
    const wick::DimBinding most{"time", kMost};
    if (entry == nullptr) options.max_dims = {&most, 1};
    auto opened = wick::Session::create(*program, options);
    fail(opened.status());
    session = std::move(*opened);
  }
  std::vector<uint8_t> bytes;
  wick::Owned<wick::Program> program;
  wick::Owned<wick::Session> session;
};

void as_a_program(wick::nn::GPT& gpt, int threads) {
  Opened cached(wick::compile_program(wick::capture_decoder(gpt)), "decode", threads);
  Opened whole(wick::compile_program(wick::capture(
                   gpt, {{"tokens", wick::zeros({1, 3}, DType::kI64), {{1, "time", 1, kMost}}}})),
               nullptr, threads);
  auto state = wick::RecurrentState::create(*cached.program);
  fail(state.status());
  printf("state    %zu bytes, program %zu bytes, without the cache %zu\n", (*state)->bytes(),
         cached.bytes.size(), whole.bytes.size());
  std::vector<int64_t> text(kMost, 1);
  for (const int64_t tokens : kLengths) {
    const double with = seconds([&] {
      (*state)->reset();
      wick::RunOptions options;
      options.state = state->get();
      for (int64_t i = 0; i < tokens; ++i) {
        const TensorView in(text.data() + i, DType::kI64, {1, 1});
        TensorView out;
        fail(cached.session->run({&in, 1}, {&out, 1}, options));
      }
    });
    const double without = seconds([&] {
      for (int64_t i = 0; i < tokens; ++i) {
        const TensorView in(text.data(), DType::kI64, {1, i + 1});
        TensorView out;
        fail(whole.session->run({&in, 1}, {&out, 1}));
      }
    });
    print("session", tokens, with, without);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, atoi(argv[1])) : 1;
  wick::nn::GptOptions o;
  o.vocab_size = 256;
  o.max_seq_len = kMost;
  if (argc > 2) o.embed_dim = atoi(argv[2]);
  if (argc > 3) o.num_layers = atoi(argv[3]);
  wick::set_num_threads(threads);
  wick::manual_seed(1);
  wick::nn::GPT gpt(o);
  gpt.eval();
  in_the_trainer(gpt);
  as_a_program(gpt, threads);
}
