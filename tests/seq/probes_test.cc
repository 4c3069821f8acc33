// The probes of examples/probes.h hold for a small GPT trained on text, and each of them fails for
// a sabotaged copy.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "examples/probes.h"
#include "tests/support/where.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/text/tokenizer.h"

namespace wick {
namespace {

constexpr int64_t kTime = 32, kBatch = 16;

struct Text {
  std::vector<int64_t> train, held;
  int64_t vocab = 0;
};

// Windows of the text that begin at random: [kBatch, kTime] and what follows each token.
std::pair<Tensor, Tensor> windows(const std::vector<int64_t>& text, int64_t count, Generator& g) {
  std::vector<int64_t> x, y;
  const Tensor start = randint(0, static_cast<int64_t>(text.size()) - kTime - 1, {count}, g);
  for (int64_t s : start.to_vector<int64_t>()) {
    x.insert(x.end(), text.begin() + s, text.begin() + s + kTime);
    y.insert(y.end(), text.begin() + s + 1, text.begin() + s + kTime + 1);
  }
  return {from_blob(x.data(), {count, kTime}, DType::kI64),
          from_blob(y.data(), {count, kTime}, DType::kI64)};
}

enum class Sabotage { kNone, kMaskOff, kAttentionZeroed, kPositionsOff };

// Trained as examples are: AdamW, a few hundred steps.
std::unique_ptr<nn::GPT> trained(const Text& text, Sabotage what, int steps) {
  manual_seed(11);
  auto gpt = std::make_unique<nn::GPT>(nn::GptOptions{.vocab_size = text.vocab,
                                                      .embed_dim = 32,
                                                      .num_layers = 2,
                                                      .num_heads = 2,
                                                      .max_seq_len = kTime,
                                                      .causal = what != Sabotage::kMaskOff});
  const auto silence = [&](const std::string& part) {
    NoGrad guard;
    for (const auto& [name, p] : gpt->named_parameters()) {
      if (name.find(part) == std::string::npos) continue;
      p.zero_();
      p.requires_grad_(false);
    }
  };
  if (what == Sabotage::kAttentionZeroed) silence("attn.out_proj");
  if (what == Sabotage::kPositionsOff) silence("position_embedding");
  std::vector<Tensor> trainable;
  for (const Tensor& p : gpt->parameters()) {
    if (p.requires_grad()) trainable.push_back(p);
  }
  optim::AdamWOptions options;
  options.lr = 3e-3;
  optim::AdamW optimizer(trainable, options);
  Generator g{5, 0};
  for (int step = 0; step < steps; ++step) {
    auto [x, y] = windows(text.train, kBatch, g);
    Tensor loss = cross_entropy((*gpt)(x).reshape({-1, text.vocab}), y.reshape({-1}));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  gpt->eval();
  return gpt;
}

class Probes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(source_dir("/tests/data/sets/tinyshakespeare/input.txt"));
    std::ostringstream all;
    all << file.rdbuf();
    const std::string text = all.str();
    ASSERT_EQ(text.size(), 300000u);
    text::CharTokenizer tokenizer;
    tokenizer.build_vocab({text});
    const std::vector<int64_t> tokens = tokenizer.encode(text);
    const auto cut = tokens.begin() + static_cast<int64_t>(tokens.size()) * 9 / 10;
    text_ = new Text{{tokens.begin(), cut}, {cut, tokens.end()}, tokenizer.vocab_size()};
  }
  static void TearDownTestSuite() {
    delete text_;
    text_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(text_, nullptr); }

  static std::vector<probes::Probe> measured(nn::GPT& gpt) {
    const probes::Model model = [&](const Tensor& t) { return gpt(t); };
    Generator g{77, 0};
    auto [x, y] = windows(text_->held, 64, g);
    NoGrad guard;
    const double reported =
        cross_entropy(gpt(x).reshape({-1, text_->vocab}), y.reshape({-1})).item();
    return {probes::causality(model, x, text_->vocab),
            probes::context(model, x, text_->vocab),
            probes::position(model, 5, kTime),
            probes::entropy(gpt.attention_weights(x)),
            probes::loss(model, x, y, reported),
            probes::bigram(model, text_->train, x, y, text_->vocab)};
  }
  static std::string failing(const char* name, const std::vector<probes::Probe>& all) {
    std::string names;
    for (const probes::Probe& p : all) {
      std::printf("  %s: %s\n", name, p.text().c_str());
      if (!p.passed()) names += (names.empty() ? "" : " ") + p.name;
    }
    return names;
  }

  static constexpr int kSteps = 400;
  static Text* text_;
};
Text* Probes::text_ = nullptr;

TEST_F(Probes, AllHoldForATrainedGpt) {
  const auto begin = std::chrono::steady_clock::now();
  auto gpt = trained(*text_, Sabotage::kNone, kSteps);
  std::printf("  %d steps in %.1f s\n", kSteps,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  EXPECT_EQ(failing("whole", measured(*gpt)), "");
}

TEST_F(Probes, MaskOffBreaksCausality) {
  auto gpt = trained(*text_, Sabotage::kMaskOff, kSteps);
  // It reads the answer, so that its loss is far too good.
  EXPECT_EQ(failing("mask off", measured(*gpt)), "causality");
}

TEST_F(Probes, AttentionZeroedBreaksContextEntropyAndBigram) {
  auto gpt = trained(*text_, Sabotage::kAttentionZeroed, kSteps);
  EXPECT_EQ(failing("attention zeroed", measured(*gpt)), "context entropy bigram");
}

TEST_F(Probes, PositionsOffBreaksPosition) {
  auto gpt = trained(*text_, Sabotage::kPositionsOff, kSteps);
  EXPECT_NE(failing("positions off", measured(*gpt)).find("position"), std::string::npos);
}

TEST_F(Probes, LossOfOtherTargetsIsFound) {
  auto gpt = trained(*text_, Sabotage::kNone, 20);
  const probes::Model model = [&](const Tensor& t) { return (*gpt)(t); };
  Generator g{78, 0};
  auto [x, y] = windows(text_->held, 8, g);
  NoGrad guard;
  auto reported = [&](const Tensor& targets) {
    return cross_entropy(model(x).reshape({-1, text_->vocab}), targets.reshape({-1})).item();
  };
  EXPECT_TRUE(probes::loss(model, x, y, reported(y)).passed());
  EXPECT_FALSE(probes::loss(model, x, y, reported(x)).passed());  // not moved by one
  EXPECT_FALSE(probes::loss(model, x, y, std::nan("")).passed());
  EXPECT_FALSE(probes::entropy({}).passed());
}

}  // namespace
}  // namespace wick
