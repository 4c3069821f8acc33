// Shared by the language milestones: a text as tokens, windows of it, a GPT with one part broken,
// and the probes of probes.h as figures.
#pragma once

#include "examples/milestone.h"
#include "examples/probes.h"

namespace wick::milestone {

struct Corpus {
  text::CharTokenizer tokenizer;
  std::vector<int64_t> train, held;
  int64_t vocab = 0;

  Corpus(const std::string& train_text, const std::string& held_text) {
    tokenizer.build_vocab({train_text});
    train = tokenizer.encode(train_text), held = tokenizer.encode(held_text);
    vocab = tokenizer.vocab_size();
  }
};

// Returns tokens[n, time] that begin at `starts`, and the next token of each.
inline std::pair<Tensor, Tensor> windows(const std::vector<int64_t>& text,
                                         const std::vector<int64_t>& starts, int64_t time) {
  std::vector<int64_t> x, y;
  for (int64_t s : starts) {
    x.insert(x.end(), text.begin() + s, text.begin() + s + time);
    y.insert(y.end(), text.begin() + s + 1, text.begin() + s + time + 1);
  }
  const auto n = static_cast<int64_t>(starts.size());
  return {from_blob(x.data(), {n, time}, DType::kI64), from_blob(y.data(), {n, time}, DType::kI64)};
}
// Returns n windows that begin at random places.
inline std::pair<Tensor, Tensor> draw(const std::vector<int64_t>& text, int64_t n, int64_t time,
                                      Generator& g) {
  const auto last = static_cast<int64_t>(text.size()) - time;
  return windows(text, randint(0, last, {n}, g).to_vector<int64_t>(), time);
}

inline Tensor token_loss(const Tensor& logits, const Tensor& targets) {
  return cross_entropy(logits.reshape({-1, logits.size(-1)}), targets.reshape({-1}));
}

// Makes a GPT, or one without its mask ("mask" or "yes"), its attention or its positions.
inline std::unique_ptr<nn::GPT> make_gpt(nn::GptOptions options, const std::string& sabotage) {
  options.causal = sabotage != "mask" && sabotage != "yes";
  auto gpt = std::make_unique<nn::GPT>(options);
  const std::string silent = sabotage == "attention"   ? "attn.out_proj"
                             : sabotage == "positions" ? "position_embedding"
                                                       : "";
  for (const auto& [name, p] : gpt->named_parameters()) {
    if (silent.empty() || name.find(silent) == std::string::npos) continue;
    p.requires_grad_(false).zero_();
  }
  return gpt;
}
inline std::vector<Tensor> trainable(const nn::Module& model) {
  std::vector<Tensor> all;
  for (const Tensor& p : model.parameters()) {
    if (p.requires_grad()) all.push_back(p);
  }
  return all;
}

// Runs all six on `asked`, text that the model has not seen or, if it learns by heart, its own: a
// model that only knows the last character cannot beat the pairs counted there. All have to pass.
inline void add_probes(nn::GPT& gpt, const Corpus& text, const std::vector<int64_t>& asked,
                       std::vector<Figure>* figures) {
  gpt.eval();
  const int64_t time = gpt.options().max_seq_len;
  const probes::Model model = [&](const Tensor& t) { return gpt(t); };
  Generator g{77, 0};
  auto [x, y] = draw(asked, 32, time, g);
  NoGrad guard;
  for (const probes::Probe& p :
       {probes::causality(model, x, text.vocab), probes::context(model, x, text.vocab),
        probes::position(model, x.select(0, 0).select(0, 0).item<int64_t>(), time),
        probes::entropy(gpt.attention_weights(x)),
        probes::loss(model, x, y, token_loss(gpt(x), y).item()),
        probes::bigram(model, text.train, x, y, text.vocab)}) {
    figures->push_back({"probe " + p.name, p.value, p.bound, !p.at_most});
  }
}

}  // namespace wick::milestone
