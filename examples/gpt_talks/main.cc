// A GPT that answers: TinyTalks, 210 questions and answers, one character per token. It measures
// the loss, the share of 50 of its questions that it answers word for word, and all six probes of
// examples/probes.h. It knows the answers by heart, as it is meant to: of pairs that it has not
// seen it only reproduces the form. Twins as in gpt_shakespeare.
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

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("gpt_talks", argc, argv, [](const milestone::Options& o) {
    auto part = [](const char* name) {
      return milestone::read_text(
          milestone::shared_file("tinytalks/splits/" + std::string(name) + ".txt"));
    };
    const std::string train = part("train");
    const milestone::Corpus text(train, part("val") + "\n" + part("test"));
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
    Generator g{o.seed, 1000000};
    for (int64_t step = 0; step < steps; ++step) {
      auto [x, y] = milestone::draw(text.train, 16, time, g);
      Tensor loss = milestone::token_loss((*gpt)(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      loss_now = step == 0 ? loss.item() : loss_now + (loss.item() - loss_now) / 20;
      if (step % 100 == 99) std::fprintf(stderr, "step %4ld  loss %.3f\n", step + 1, loss_now);
    }
    milestone::Result r{{{"loss", loss_now, o.short_form ? 1.9 : 1.5, false}}, gpt->state_dict()};
    milestone::add_probes(*gpt, text, o.short_form ? text.held : text.train, &r.figures);
    if (o.short_form) return r;

    std::istringstream lines(train);
    std::string question, expected;
    double asked = 0, right = 0;
    while (asked < 50 && std::getline(lines, question)) {
      if (question.rfind("Q:", 0) != 0 || !std::getline(lines, expected)) continue;
      const std::string said = answer(*gpt, text, question);
      right += "A:" + said == expected;
      if (++asked <= 5) std::fprintf(stderr, "%s\nA:%s\n", question.c_str(), said.c_str());
    }
    r.figures.push_back({"answers", right / asked, 0.8});
    return r;
  });
}
