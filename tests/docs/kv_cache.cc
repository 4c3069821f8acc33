#include <cstdio>
#include <cstring>

#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

using namespace wick;

// Runs an entry point on some tokens of one text; returns the logits of the last one.
Result<Span<const float>> last_logits(Session& session, Span<int64_t> tokens,
                                      RecurrentState& state) {
  const auto count = static_cast<int64_t>(tokens.size());
  const TensorView in(tokens.data(), DType::kI64, {1, count});
  TensorView logits;
  WICK_TRY(session.run({&in, 1}, {&logits, 1}, {.state = &state}));
  const int64_t vocab = logits.shape[2];
  return Span<const float>(logits.as<float>() + (count - 1) * vocab, static_cast<size_t>(vocab));
}

int main() {
  nn::GPT gpt({.vocab_size = 64, .max_seq_len = 32});  // train it first
  gpt.eval();
  export_wick(capture_decoder(gpt), "gpt.wick");

  auto program = Program::load("gpt.wick");
  auto prefill = Session::create(**program, {.entry = "prefill"});
  auto decode = Session::create(**program, {.entry = "decode"});
  auto state = RecurrentState::create(**program);
  std::vector<int64_t> text = {7, 3, 21, 9};
  auto logits = last_logits(**prefill, text, **state);
  while (logits.ok() && text.size() < 20) {
    int64_t best = 0;
    for (int64_t i = 1; i < 64; ++i) {
      if ((*logits)[static_cast<size_t>(i)] > (*logits)[static_cast<size_t>(best)]) best = i;
    }
    text.push_back(best);
    logits = last_logits(**decode, {&best, 1}, **state);
  }

  // The model without a cache, on the whole text.
  NoGrad guard;
  const Tensor whole = gpt(tensor(text).unsqueeze(0)).select(1, -1);
  const bool same = memcmp(logits->data(), whole.to_vector<float>().data(), 64 * 4) == 0;
  std::printf("%s\n", same ? "the same bits" : "other bits");
}
