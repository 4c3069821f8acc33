// Instruction tuning with a masked loss: a small GPT learns to follow "copy", "reverse" and
// "double" from pairs of an instruction and its answer. The instruction is context, not a thing to
// predict: its targets are -100, which cross_entropy ignores, so that no gradient comes from it. It
// is asked for words that it has not seen. The twin's mask is the wrong way round: it learns to
// predict instructions and never sees an answer's loss.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

constexpr int64_t kWord = 4, kIgnored = -100;
constexpr const char* kTasks[] = {"c:", "r:", "d:"};  // copy, reverse, double each letter
const std::string kSigns = "abcdefghijcrd:>.";
constexpr int64_t kTime = 2 + kWord + 1 + 2 * kWord + 1;

struct Example {
  std::string instruction, answer;  // "r:abcd>", "dcba."
};

// Words whose letters sum up to a multiple of four are held out.
Example draw_pair(Generator& g, bool held) {
  while (true) {
    std::string word;
    int sum = 0;
    for (int64_t letter : randint(0, 10, {kWord}, g).to_vector<int64_t>()) {
      word += kSigns[static_cast<size_t>(letter)];
      sum += static_cast<int>(letter);
    }
    const auto task = randint(0, 3, {1}, g).to_vector<int64_t>()[0];
    if ((sum % 4 == 0) != held) continue;
    Example p{kTasks[task] + word + ">", ""};
    if (task == 1) std::reverse(word.begin(), word.end());
    for (char c : word) p.answer += task == 2 ? std::string(2, c) : std::string(1, c);
    p.answer += ".";
    return p;
  }
}

struct Batch {
  Tensor tokens, targets;  // [n, kTime - 1]
};
// `mask`: which part's targets are ignored; padding's always are.
enum class Mask { kInstruction, kAnswer };
Batch batch_of(const std::vector<Example>& pairs, Mask mask) {
  std::vector<int64_t> x, y;
  for (const Example& p : pairs) {
    const std::string all = p.instruction + p.answer;
    for (size_t i = 0; i + 1 < static_cast<size_t>(kTime); ++i) {
      const bool there = i + 1 < all.size(), answer = i + 1 >= p.instruction.size();
      x.push_back(static_cast<int64_t>(i < all.size() ? kSigns.find(all[i]) : 0));
      const bool counts = there && answer == (mask == Mask::kInstruction);
      y.push_back(counts ? static_cast<int64_t>(kSigns.find(all[i + 1])) : kIgnored);
    }
  }
  const auto n = static_cast<int64_t>(pairs.size());
  return {from_blob(x.data(), {n, kTime - 1}, DType::kI64).clone(),
          from_blob(y.data(), {n, kTime - 1}, DType::kI64).clone()};
}
Tensor loss_of(nn::GPT& gpt, const Batch& b) {
  const Tensor logits = gpt(b.tokens);
  return cross_entropy(logits.reshape({-1, logits.size(-1)}), b.targets.reshape({-1}));
}

// The largest gradient that reaches a position whose target is ignored, over that of the others.
double leaked(nn::GPT& gpt, const Batch& b) {
  const Tensor logits = gpt(b.tokens).detach().requires_grad_();
  cross_entropy(logits.reshape({-1, logits.size(-1)}), b.targets.reshape({-1})).backward();
  const Tensor g = abs(logits.grad());
  const Tensor ignored = eq(b.targets, kIgnored).unsqueeze(-1).to(DType::kF32);
  return max(g * ignored).item() / max(g).item();
}

bool follows(nn::GPT& gpt, const Example& p) {
  std::vector<int64_t> said;
  for (char c : p.instruction) said.push_back(static_cast<int64_t>(kSigns.find(c)));
  const Tensor prompt = tensor(said).reshape({1, -1});
  const auto count = static_cast<int64_t>(p.answer.size());
  const Tensor all = gpt.generate(prompt, {.max_new_tokens = count, .temperature = 0});
  std::string answer;
  for (int64_t t : all.slice(1, prompt.size(1), all.size(1)).reshape({-1}).to_vector<int64_t>())
    answer += kSigns[static_cast<size_t>(t)];
  return answer == p.answer;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("instruction_tuning", argc, argv, [](const milestone::Options& o) {
    nn::GPT gpt({.vocab_size = static_cast<int64_t>(kSigns.size()),
                 .embed_dim = 48,
                 .num_layers = 2,
                 .num_heads = 4,
                 .max_seq_len = kTime});
    optim::AdamWOptions options;
    options.lr = 3e-3;
    optim::AdamW adam(gpt.parameters(), options);
    const int64_t steps = o.short_form ? 500 : 2500;
    optim::CosineAnnealingLR schedule(adam, steps, 0, steps / 20);
    const Mask mask = o.broken() ? Mask::kAnswer : Mask::kInstruction;
    Generator g{o.seed, 0};
    const auto pairs = [](int64_t n, Generator& from, bool held) {
      std::vector<Example> list;
      for (int64_t i = 0; i < n; ++i) list.push_back(draw_pair(from, held));
      return list;
    };
    Batch last;
    for (int64_t step = 0; step < steps; ++step) {
      last = batch_of(pairs(32, g, false), mask);
      Tensor loss = loss_of(gpt, last);
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      if (step % 100 == 99) std::fprintf(stderr, "step %4ld  loss %.3f\n", step + 1, loss.item());
    }
    gpt.eval();
    Generator asked{o.seed, 1'000'000};
    int right = 0;
    const int questions = 60;
    for (const Example& p : pairs(questions, asked, true)) right += follows(gpt, p) ? 1 : 0;
    return milestone::Result{{{"instructions followed, words not seen",
                               static_cast<double>(right) / questions, o.short_form ? 0.6 : 0.95},
                              {"gradient of ignored targets", leaked(gpt, last), 0, false}},
                             gpt.state_dict()};
  });
}
