// What may change between the calls of a compiled step: each time the bits are those of eager
// training.
#include "tests/compile/training.h"

namespace wick {
namespace {

using test::expect_same;
using test::Training;
using test::unaudited;
using test::usual;

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 12, 24};
  nn::Child<nn::BatchNorm1d> norm{this, "norm", 24};
  nn::Child<nn::Dropout> drop{this, "drop", 0.25};
  nn::Child<nn::Linear> fc2{this, "fc2", 24, 5};
  Tensor forward(const Arg& x) override { return fc2((*drop)(relu((*norm)((*fc1)(x))))); }
};

Training training(double lr = 0.1) {
  Training t;
  t.net = std::make_shared<Net>();
  t.optimizer = std::make_shared<optim::SGD>(
      t.net->parameters(), optim::SgdOptions{.lr = lr, .momentum = 0.9, .weight_decay = 0.01});
  t.step = usual(t.net, t.optimizer, test::classes);
  t.batch = [](int) { return std::pair(randn({6, 12}), randint(0, 5, {6})); };
  return t;
}

TEST(CompileGuards, ShapesHaveAFormEach) {
  const auto make = [] {
    Training t = training();
    t.batch = [](int i) {
      const int64_t n = i % 3 == 2 ? 3 : 6;
      return std::pair(randn({n, 12}), randint(0, 5, {n}));
    };
    return t;
  };
  EXPECT_EQ(expect_same(make, 18, 10, unaudited()).forms, 2);
  CompileStepOptions one = unaudited();
  one.max_forms = 1;
  const CompileReport r = expect_same(make, 18, 8, one);
  EXPECT_EQ(r.forms, 1);
  ASSERT_EQ(r.breaks.size(), 1u);
  EXPECT_THAT(r.breaks[0].why, testing::HasSubstr("has 1 forms, which is the limit"));
}

TEST(CompileGuards, SlicesOfOneTensorAreOneForm) {
  const auto make = [] {
    Training t = training();
    const Tensor data = randn({60, 12}), labels = randint(0, 5, {60});
    t.batch = [=](int i) {
      return std::pair(data.slice(0, 6 * i, 6 * i + 6), labels.slice(0, 6 * i, 6 * i + 6));
    };
    return t;
  };
  EXPECT_EQ(expect_same(make, 9, 6, unaudited()).forms, 1);
}

// A batch that the function captures, of which the module makes a view: the view's address is that
// of one that was seen before and is gone.
TEST(CompileGuards, CapturedTensorsBehindViews) {
  const auto make = [] {
    Training t;
    t.net = nn::mlp();
    t.optimizer = std::make_shared<optim::SGD>(t.net->parameters(), optim::SgdOptions{.lr = 0.05});
    const Tensor x = randn({4, 1, 28, 28}), y = zeros({4}, DType::kI64);
    t.step = [step = usual(t.net, t.optimizer, test::classes), x, y](const Tensor&, const Tensor&) {
      return step(x, y);
    };
    t.batch = [](int) { return std::pair(ones({1}), ones({1})); };
    return t;
  };
  const CompileReport r = expect_same(make, 9, 6, unaudited());
  EXPECT_EQ(r.forms, 1);
  EXPECT_TRUE(r.breaks.empty()) << r.text();
}

TEST(CompileGuards, FrozenParametersAndTrainingFlags) {
  const auto make = [] {
    Training t = training();
    const auto net = t.net;
    t.before = [net](int i) {
      if (i == 6) std::static_pointer_cast<Net>(net)->fc1->weight.requires_grad_(false);
      if (i == 12) net->eval();
      if (i == 17) net->train();
    };
    return t;
  };
  EXPECT_EQ(expect_same(make, 22, 10, unaudited()).forms, 3);
}

TEST(CompileGuards, LearningRatesOutsideAndSchedulesInside) {
  const auto make = [](bool inside) {
    Training t = training();
    const auto schedule = std::make_shared<optim::StepLR>(*t.optimizer, 2, 0.5);
    if (inside) {
      t.step = [=, step = t.step](const Tensor& x, const Tensor& y) {
        Tensor loss = step(x, y);
        schedule->step();
        return loss;
      };
    } else {
      const auto optimizer = t.optimizer;
      t.before = [=](int i) {
        if (i > 0) schedule->step();
        if (i == 7) optimizer->set_momentum(0, 0.5);
      };
    }
    return t;
  };
  expect_same([&] { return make(true); }, 12, 9, unaudited());
  expect_same([&] { return make(false); }, 12, 9, unaudited());
}

TEST(CompileGuards, Clipping) {
  const auto make = [](int kind) {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad();
      Tensor loss = test::classes((*net)(x), y);
      loss.backward();
      if (kind == 0) nn::clip_grad_norm_(net->parameters(), 0.25);
      if (kind == 1) nn::clip_grad_value_(net->parameters(), 0.01);
      optimizer->step();
      return loss;
    };
    return t;
  };
  expect_same([&] { return make(0); }, 8, 5, unaudited());
  expect_same([&] { return make(1); }, 8, 5, unaudited());
}

TEST(CompileGuards, Accumulation) {
  const auto make = [](bool declared) {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    if (declared) optimizer->accumulate(3);
    t.step = [=](const Tensor& x, const Tensor& y) {
      Tensor loss = test::classes((*net)(x), y) / 3;
      loss.backward();
      if (declared) optimizer->step();
      return loss;
    };
    if (!declared) {  // the update is outside, every third time
      t.before = [=](int i) {
        if (i == 0 || i % 3 != 0) return;
        optimizer->step();
        optimizer->zero_grad();
      };
    }
    return t;
  };
  expect_same([&] { return make(true); }, 18, 8, unaudited());
  expect_same([&] { return make(false); }, 18, 8, unaudited());
}

TEST(CompileGuards, ZeroGradToZerosKeepsTheSum) {
  const auto make = [] {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad(false);
      Tensor loss = test::classes((*net)(x), y);
      loss.backward();
      optimizer->step();
      return loss;
    };
    return t;
  };
  expect_same(make, 8, 4, unaudited());
}

TEST(CompileGuards, IgnoredTargetsAreAPathOfTheirOwn) {
  const auto make = [] {
    Training t = training();
    t.batch = [](int i) {
      Tensor y = randint(0, 5, {6});
      if (i % 4 == 3) y.mutable_data<int64_t>()[i % 6] = -100;
      return std::pair(randn({6, 12}), y);
    };
    return t;
  };
  EXPECT_EQ(expect_same(make, 20, 10, unaudited()).forms, 2);
}

// A target that is no class is found where the step looks at it, behind the update of the running
// statistics: the repetition takes that back, and the step itself gives its usual error.
TEST(CompileGuards, ErrorsAreEagers) {
  const auto run = [](bool compiled) {
    manual_seed(1);
    Training t = training();
    auto step = compile_step(t.step, unaudited());
    for (int i = 0; i < 12; ++i) {
      auto [x, y] = t.batch(i);
      if (i % 4 == 3) y.mutable_data<int64_t>()[2] = 5;
      try {
        compiled ? step(x, y) : t.step(x, y);
        EXPECT_NE(i % 4, 3);
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("target 5 at [2] is no class"));
      }
    }
    EXPECT_THROW(step(randn({6, 11}), zeros({6}, DType::kI64)), Error);
    if (compiled) {
      EXPECT_GE(step.report().repeated, 4) << step.report().text();
    }
    return test::digest(test::all_of(t));
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(CompileGuards, GradientsOfGradients) {
  const auto make = [] {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad();
      Tensor in = x.detach();
      in.requires_grad_();
      const Tensor loss = test::classes((*net)(in), y);
      const Tensor g = grad({loss}, {in}, {}, true, true)[0];
      Tensor all = loss + sum(g * g) * 0.1;
      all.backward();
      optimizer->step();
      return all;
    };
    return t;
  };
  expect_same(make, 7, 4, unaudited());
}

TEST(CompileGuards, ResultsThatAreHeldStay) {
  manual_seed(1);
  Training t = training();
  auto step = compile_step(t.step, unaudited());
  std::vector<Tensor> losses, grads;
  std::vector<float> values;
  std::vector<std::string> grad_bits;
  const auto weight = std::static_pointer_cast<Net>(t.net)->fc1->weight;
  for (int i = 0; i < 12; ++i) {
    const auto [x, y] = t.batch(i);
    losses.push_back(step(x, y));
    values.push_back(losses.back().to_vector<float>()[0]);
    grads.push_back(weight.grad());
    grad_bits.push_back(test::digest({grads.back()}));
  }
  EXPECT_GT(step.report().repeated, 5);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_EQ(losses[i].item(), static_cast<double>(values[i])) << i;
    EXPECT_EQ(test::digest({grads[i]}), grad_bits[i]) << i;
  }
}

TEST(CompileGuards, ResultThatIsFedBackIsRead) {
  const auto make = [](bool compiled) {
    manual_seed(5);
    const Tensor w = randn({4, 4}) * 0.3;
    const auto f = [w](const Tensor& h, const Tensor& x) { return tanh(matmul(h, w) + x); };
    auto step = compile_step(f, unaudited());
    Tensor h = zeros({3, 4});
    for (int i = 0; i < 9; ++i) {
      const Tensor x = randn({3, 4});
      h = compiled ? step(h, x) : f(h, x);
    }
    if (compiled) {
      EXPECT_GE(step.report().repeated, 6) << step.report().text();
    }
    return test::digest({h});
  };
  EXPECT_EQ(make(true), make(false));
}

TEST(CompileGuards, EvaluationWithoutGradients) {
  manual_seed(2);
  Training t = training();
  t.net->eval();
  auto step =
      compile_step([&](const Tensor& x, const Tensor&) { return (*t.net)(x); }, unaudited());
  for (int i = 0; i < 6; ++i) {
    NoGrad guard;
    const auto [x, y] = t.batch(i);
    EXPECT_EQ(test::digest({step(x, y)}), test::digest({(*t.net)(x)})) << i;
  }
  EXPECT_EQ(step.report().repeated, 3) << step.report().text();
  const auto [x, y] = t.batch(0);
  EXPECT_FALSE(step(x, y).requires_grad());  // another mode, another form; without a history too
}

TEST(CompileGuards, AutocastAndCheckpointsWithinTheStep) {
  const auto make = [](bool half) {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad();
      Tensor logits;
      if (half) {
        const AutocastScope scope(DType::kBF16);
        logits = (*net)(x);
      } else {
        logits = checkpoint([&](const Tensor& in) { return (*net)(in); }, x);
      }
      Tensor loss = test::classes(logits.to(DType::kF32), y);
      loss.backward();
      optimizer->step();
      return loss;
    };
    return t;
  };
  expect_same([&] { return make(true); }, 7, 4, unaudited());
  expect_same([&] { return make(false); }, 7, 4, unaudited());
}

TEST(CompileGuards, ThreadsAndKernelSets) {
  const auto make = [] {
    Training t = training();
    t.before = [](int i) { set_num_threads(i < 5 ? 1 : 2); };
    return t;
  };
  expect_same(make, 10, 3, unaudited());
  set_num_threads(1);
}

TEST(CompileGuards, ModulesOfOneCallAreNotHeld) {
  const auto make = [] {
    Training t = training();
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad();
      nn::Dropout drop(0.5);  // its flag is read, and it is gone with the call
      Tensor loss = nn::CrossEntropyLoss()(drop((*net)(x)), y);
      loss.backward();
      optimizer->step();
      return loss;
    };
    t.before = [](int) { nn::MSELoss()(zeros({2}), zeros({2})); };
    return t;
  };
  expect_same(make, 9, 6, unaudited());
}

TEST(CompileGuards, ANetThatIsReplacedIsNotTouched) {
  const auto run = [](bool compiled) {
    manual_seed(3);
    auto net = std::make_shared<Net>();
    auto sgd = std::make_unique<optim::SGD>(net->parameters(), optim::SgdOptions{.lr = 0.1});
    const auto f = [&](const Tensor& x, const Tensor& y) {
      sgd->zero_grad();
      Tensor loss = test::classes((*net)(x), y);
      loss.backward();
      sgd->step();
      return loss;
    };
    auto step = compile_step(f, unaudited());
    std::vector<Tensor> seen;
    for (int i = 0; i < 14; ++i) {
      if (i == 7) {
        net = std::make_shared<Net>();
        sgd = std::make_unique<optim::SGD>(net->parameters(), optim::SgdOptions{.lr = 0.05});
      }
      const Tensor x = randn({6, 12}), y = randint(0, 5, {6});
      seen.push_back((compiled ? step(x, y) : f(x, y)).clone());
    }
    if (compiled) {
      EXPECT_GE(step.report().repeated, 8) << step.report().text();
    }
    for (const Tensor& p : net->parameters()) seen.push_back(p);
    return test::digest(seen);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(CompileGuards, GeneratorsOfOneSeedAreTwo) {
  const auto run = [](bool compiled) {
    manual_seed(9);
    Generator own;
    own.manual_seed(9);
    const auto f = [&](const Tensor& x) {
      return x + rand({4}) + rand({4}, DType::kF32, own) * randn({4});
    };
    auto step = compile_step(f, unaudited());
    std::vector<Tensor> seen;
    for (int i = 0; i < 8; ++i) {
      const Tensor x = rand({4});
      seen.push_back((compiled ? step(x) : f(x)).clone());
    }
    if (compiled) {
      EXPECT_EQ(step.report().repeated, 5) << step.report().text();
    }
    seen.push_back(full({2}, static_cast<int64_t>(own.stream), DType::kI64));
    return test::digest(seen);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(CompileGuards, ReseedingBetweenStepsIsSeen) {
  const auto make = [] {
    Training t = training();
    t.before = [](int i) {
      if (i % 4 == 0) manual_seed(static_cast<uint64_t>(100 + i));
    };
    return t;
  };
  expect_same(make, 12, 9, unaudited());
}

TEST(CompileGuards, OtherBytesOfAParameterAreAnotherForm) {
  const auto make = [] {
    Training t = training();
    const auto net = t.net;
    t.before = [net](int i) {
      if (i != 6) return;
      const Tensor w = std::static_pointer_cast<Net>(net)->fc2->weight;
      NoGrad guard;
      w.set_data(w.detach() * 0.5);
    };
    return t;
  };
  expect_same(make, 12, 5, unaudited());
}

}  // namespace
}  // namespace wick
