// A GPT that answers: TinyTalks, 210 questions and answers, one character per token. It learns the
// answers by heart, as it is meant to, and then knows little about other text. So it is measured
// twice: the weights of the step at which text set aside (the validation split) was predicted best
// face all six probes of examples/probes.h on a third text, the test split, which neither training
// nor that choice has seen; the last weights answer 50 of the questions that they learned, and all
// of those that they never saw. Twins as in gpt_shakespeare.
#include "examples/language.h"

using namespace wick;  // NOLINT: an example

namespace {

// Returns the greedy continuation, up to the end of the line.
std::string answer(nn::GPT& gpt, const milestone::Corpus& text, const std::string& question) {
  std::string line = question + "\nA:";
  const size_t begin = line.size();
  while (line.size() - begin < 80) {
    Tensor tokens = text.tokenizer.encode_tensor(line).reshape({1, -1});
    const Tensor next = gpt.generate(tokens, {.max_new_tokens = 1, .temperature = 0}).select(1, -1);
    const std::string c = text.tokenizer.decode(next);
    if (c == "\n") break;
    line += c;
  }
  return line.substr(begin);
}

// Returns the share of the first `most` questions of a text that are answered word for word.
double answered(nn::GPT& gpt, const milestone::Corpus& text, const std::string& pairs, int most) {
  std::istringstream lines(pairs);
  std::string question, expected;
  int asked = 0, right = 0;
  while (asked < most && std::getline(lines, question)) {
    if (question.rfind("Q:", 0) != 0 || !std::getline(lines, expected)) continue;
    const std::string said = answer(gpt, text, question);
    right += "A:" + said == expected ? 1 : 0;
    if (++asked <= 5) std::fprintf(stderr, "%s\nA:%s\n", question.c_str(), said.c_str());
  }
  return static_cast<double>(right) / asked;
}

// The loss on 64 windows of a text, the same each time, and that of the pairs counted in training.
struct Losses {
  double model, pairs;
};
Losses losses_on(nn::GPT& gpt, const milestone::Corpus& text, const std::vector<int64_t>& tokens) {
  gpt.eval();
  NoGrad guard;
  Generator g{78, 0};
  auto [x, y] = milestone::draw(tokens, 64, gpt.options().max_seq_len, g);
  const Losses l{probes::counted_loss(gpt(x), y),
                 probes::bigram_loss(text.train, x, y, text.vocab)};
  gpt.train();
  return l;
}

nn::NamedTensors copy_of(const nn::GPT& gpt) {
  nn::NamedTensors state = gpt.state_dict();
  for (auto& [name, value] : state) value = value.detach().clone();
  return state;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("gpt_talks", argc, argv, [](const milestone::Options& o) {
    auto part = [](const char* name) {
      return milestone::read_text(
          milestone::shared_file("tinytalks/splits/" + std::string(name) + ".txt"));
    };
    const std::string train = part("train"), test = part("test");
    const milestone::Corpus text(train, test);
    const std::vector<int64_t> aside = text.tokenizer.encode(part("val"));
    const int64_t time = o.short_form ? 32 : 64, steps = o.short_form ? 400 : 3000;
    auto gpt = milestone::make_gpt({.vocab_size = text.vocab,
                                    .embed_dim = o.short_form ? 32 : 64,
                                    .num_layers = 2,
                                    .num_heads = 4,
                                    .max_seq_len = time},
                                   o.sabotage);
    optim::AdamWOptions options;
    options.lr = 5e-3;
    optim::AdamW adam(milestone::trainable(*gpt), options);
    optim::CosineAnnealingLR schedule(adam, steps, 0, steps / 20);
    double loss_now = 0;  // average over the last steps, each with weight 1/20
    double best_loss = INFINITY;
    nn::NamedTensors best;
    Generator g{o.seed, 1000000};
    for (int64_t step = 0; step < steps; ++step) {
      auto [x, y] = milestone::draw(text.train, 16, time, g);
      Tensor loss = milestone::token_loss((*gpt)(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      loss_now = step == 0 ? loss.item() : loss_now + (loss.item() - loss_now) / 20;
      if (step % 100 != 99) continue;
      const Losses now = losses_on(*gpt, text, aside);
      std::fprintf(stderr, "step %4ld  loss %.3f, of the text set aside %.3f (pairs %.3f)\n",
                   step + 1, loss_now, now.model, now.pairs);
      if (now.model < best_loss) best_loss = now.model, best = copy_of(*gpt);
    }
    const nn::NamedTensors last = copy_of(*gpt);
    milestone::Result r{{{"loss", loss_now, o.short_form ? 1.9 : 1.5, false}}, last};
    const Losses seen = losses_on(*gpt, text, text.train),
                 unseen = losses_on(*gpt, text, text.held);
    r.figures.push_back(
        {"last weights: loss over that of pairs, text seen", seen.model / seen.pairs, 1, false});
    r.figures.push_back({.name = "last weights: loss over that of pairs, text not seen",
                         .value = unseen.model / unseen.pairs,
                         .told = true});
    if (!o.short_form) {
      r.figures.push_back({"answers", answered(*gpt, text, train, 50), 0.8});
      r.figures.push_back({.name = "answers to questions not seen",
                           .value = answered(*gpt, text, test, 46),
                           .told = true});
    }
    if (!best.empty()) gpt->load_state_dict(best);
    milestone::add_probes(*gpt, text, text.held, &r.figures);
    return r;
  });
}
