// A small GPT on 35,000 characters of Shakespeare: windows of 32 every 8 characters, AdamW. A good
// loss does not prove that it is a GPT, so all six probes have to pass on text it has not seen. Its
// twins have no mask (--sabotage), no attention (=attention) or no positions (=positions).
#include "examples/language.h"

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  return milestone::run("gpt_shakespeare", argc, argv, [](const milestone::Options& o) {
    const std::string all = milestone::read_text(
        o.data.empty() ? milestone::shared_file("tinyshakespeare/input.txt") : o.data);
    const milestone::Corpus text(all.substr(0, 35000), all.substr(35000, 20000));
    const int64_t time = 32, batch = 32, epochs = o.short_form ? 2 : 12;
    auto gpt = milestone::make_gpt({.vocab_size = text.vocab,
                                    .embed_dim = o.short_form ? 32 : 64,
                                    .num_layers = 2,
                                    .num_heads = 4,
                                    .max_seq_len = time},
                                   o.sabotage);
    optim::AdamWOptions options;
    options.lr = o.short_form ? 4e-3 : 1e-3;
    optim::AdamW adam(milestone::trainable(*gpt), options);

    std::vector<int64_t> starts;
    for (int64_t s = 0; s + time < static_cast<int64_t>(text.train.size()); s += 8) {
      starts.push_back(s);
    }
    const auto steps = static_cast<int64_t>(starts.size()) / batch;
    double mean_loss = 0;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto order = randperm(static_cast<int64_t>(starts.size())).to_vector<int64_t>();
      mean_loss = 0;
      for (int64_t step = 0; step < steps; ++step) {
        std::vector<int64_t> rows;
        for (int64_t i = step * batch; i < (step + 1) * batch; ++i) {
          rows.push_back(starts[static_cast<size_t>(order[static_cast<size_t>(i)])]);
        }
        auto [x, y] = milestone::windows(text.train, rows, time);
        Tensor loss = milestone::token_loss((*gpt)(x), y);
        adam.zero_grad();
        loss.backward();
        adam.step();
        mean_loss += loss.item() / static_cast<double>(steps);
      }
      std::fprintf(stderr, "epoch %2ld  loss %.3f\n", epoch + 1, mean_loss);
    }
    milestone::Result r{{{"loss", mean_loss, 2.5, false}}, gpt->state_dict()};
    milestone::add_probes(*gpt, text, text.held, &r.figures);
    Tensor prompt = text.tokenizer.encode_tensor("ROMEO:\n").reshape({1, -1});
    Tensor more =
        gpt->generate(prompt, {.max_new_tokens = 200, .temperature = 0.8, .seed = o.seed});
    std::fprintf(stderr, "%s\n", text.tokenizer.decode(more.reshape({-1})).c_str());
    return r;
  });
}
