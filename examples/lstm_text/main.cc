// An LSTM reads Shakespeare character by character and predicts the next one. It has to beat the
// pairs of characters counted in the same text, which only know the last character: a state that
// carries information does better. The twin's state is cleared at each character.
#include "examples/language.h"

using namespace wick;  // NOLINT: an example

namespace {

struct Reader : nn::Module {
  nn::Child<nn::Embedding> token;
  nn::Child<nn::LSTM> lstm;
  nn::Child<nn::Linear> head;
  bool forgets;

  Reader(int64_t vocab, int64_t hidden, bool forgetful)
      : token(this, "token", vocab, 32),
        lstm(this, "lstm", 32, hidden, nn::RnnOptions{.batch_first = true}),
        head(this, "head", hidden, vocab),
        forgets(forgetful) {}
  Tensor forward(const Arg& x) override {
    const int64_t batch = x.tensor.size(0), time = x.tensor.size(1);
    Tensor in = token(forgets ? x.tensor.reshape({batch * time, 1}) : x.tensor);
    return head(lstm(in)).reshape({batch, time, -1});
  }
};

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("lstm_text", argc, argv, [](const milestone::Options& o) {
    const std::string all = milestone::read_text(
        o.data.empty() ? milestone::shared_file("tinyshakespeare/input.txt") : o.data);
    const milestone::Corpus text(all.substr(0, 200000), all.substr(200000, 20000));
    const int64_t time = o.short_form ? 24 : 32, steps = o.short_form ? 250 : 1000;
    Reader net(text.vocab, o.short_form ? 48 : 96, o.broken());
    optim::Adam adam(net.parameters(), {.lr = 1e-2});
    optim::CosineAnnealingLR schedule(adam, steps);
    Generator g{o.seed, 1000000};
    for (int64_t step = 0; step < steps; ++step) {
      auto [x, y] = milestone::draw(text.train, 32, time, g);
      Tensor loss = milestone::token_loss(net(x), y);
      adam.zero_grad();
      loss.backward();
      nn::clip_grad_norm_(net.parameters(), 1);
      adam.step();
      schedule.step();
      if (step % 100 == 99) std::fprintf(stderr, "step %4ld  loss %.3f\n", step + 1, loss.item());
    }
    net.eval();
    NoGrad guard;
    Generator held{77, 0};
    auto [x, y] = milestone::draw(text.held, 100, time, held);
    const double loss = probes::counted_loss(net(x), y);
    const double pairs = probes::bigram_loss(text.train, x, y, text.vocab);
    return milestone::Result{{{"held-out loss", loss, o.short_form ? 2.4 : 2.0, false},
                              {"held-out loss over that of pairs", loss / pairs, 0.97, false}},
                             net.state_dict()};
  });
}
