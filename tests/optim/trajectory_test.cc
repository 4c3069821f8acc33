// Fifty steps of every optimizer and its flags, two groups of different options: PyTorch's numbers
// (Lion, Muon: their papers' in NumPy) to 1e-12.
#include <cctype>
#include <set>

#include "tests/optim/every_optimizer.h"

namespace wick {
namespace {

using test::Settings;

void follow(const std::string& name, size_t at_least) {
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("optimizer")) {
    std::istringstream words(golden.title);
    std::string word;
    words >> word;
    if (word != name) continue;
    ++cases;
    std::vector<Settings> settings;
    while (words >> word) {
      if (word == "|") {
        settings.emplace_back();
      } else {
        const size_t equals = word.find('=');
        settings.back()[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
      }
    }
    const bool matrices = name == "muon";
    std::vector<Tensor> params = {test::numbers(matrices ? Shape{3, 2} : Shape{2, 2}, 50),
                                  test::numbers(matrices ? Shape{2, 4} : Shape{3}, 51)};
    for (const Tensor& p : params) p.requires_grad_();
    auto optimizer = test::make_optimizer(name, {{params[0]}, {params[1]}}, settings);
    size_t seen = 0;
    for (int64_t step = 1; step <= 50; ++step) {
      for (size_t k = 0; k < 2; ++k) {
        params[k].set_grad(test::gradient_of(params[k], step, static_cast<int64_t>(k)));
      }
      optimizer->step();
      for (const auto& [key, want] : golden.lines) {
        if (key != std::to_string(step)) continue;
        ++seen;
        test::expect_close(test::values_of(params), want, 1e-12,
                           golden.title + ", step " + std::to_string(step));
      }
    }
    const nn::NamedTensors state = optimizer->state_dict().tensors;
    for (const auto& [key, want] : golden.lines) {
      if (std::isdigit(key[0])) continue;
      ++seen;
      std::vector<Tensor> found;
      for (const auto& [of, tensor] : state) {
        if (of.ends_with("." + key)) found.push_back(tensor);
      }
      test::expect_close(test::values_of(found), want, 1e-12, golden.title + ", " + key);
    }
    EXPECT_EQ(seen, golden.lines.size());
  }
  EXPECT_GE(cases, at_least) << name;
}

TEST(Trajectory, Sgd) { follow("sgd", 12); }
TEST(Trajectory, Adam) { follow("adam", 9); }
TEST(Trajectory, AdamW) { follow("adamw", 9); }
TEST(Trajectory, NAdam) { follow("nadam", 4); }
TEST(Trajectory, RAdam) { follow("radam", 3); }
TEST(Trajectory, Adamax) { follow("adamax", 4); }
TEST(Trajectory, Adagrad) { follow("adagrad", 5); }
TEST(Trajectory, Adadelta) { follow("adadelta", 4); }
TEST(Trajectory, RMSprop) { follow("rmsprop", 8); }
TEST(Trajectory, Rprop) { follow("rprop", 4); }
TEST(Trajectory, Asgd) { follow("asgd", 4); }
TEST(Trajectory, Lion) { follow("lion", 3); }
TEST(Trajectory, Muon) { follow("muon", 3); }

// Also those that have no line above.
TEST(Trajectory, EveryOptimizerHasGoldens) {
  std::set<std::string> names;
  for (const test::OptimizerCase& each : test::every_optimizer()) names.insert(each.name);
  for (const std::string& name : names) follow(name, 1);
}

// Muon's direction: singular values near 1 whatever the momentum's were, its singular vectors kept.
TEST(Trajectory, MuonOrthogonalises) {
  for (const Shape& shape : {Shape{6, 4}, Shape{3, 9}, Shape{5, 5}}) {
    manual_seed(3);
    Tensor g = randn(shape).to(DType::kF64);
    Tensor o = optim::newton_schulz(g);
    ASSERT_EQ(o.raw_shape(), shape);
    Tensor singular = linalg::svdvals(o);
    for (double s : singular.to_vector<double>()) {
      EXPECT_GT(s, 0.6);
      EXPECT_LT(s, 1.3);
    }
    EXPECT_GT(sum(o * g).item(), 0);
  }
}

}  // namespace
}  // namespace wick
