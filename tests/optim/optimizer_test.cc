// Properties of every optimizer: groups, closures, state to the bit, one flat pass, errors.
#include "runtime/kernels/simd.h"
#include "tests/optim/every_optimizer.h"

namespace wick {
namespace {

using test::error_of;
using test::every_optimizer;
using test::make_optimizer;
using testing::HasSubstr;

// Matrices, so that all optimizers take them; across several chunks, and some that share one.
std::vector<Tensor> weights(DType dtype, bool large = false) {
  std::vector<Shape> shapes = {{3, 4}, {5, 2}, {1, 7}};
  if (large) shapes = {{3, 5}, {130, 257}, {1, 1}, {64, 256}, {2, 9}, {1, 16384}};
  std::vector<Tensor> params;
  for (size_t i = 0; i < shapes.size(); ++i) {
    params.push_back(test::numbers(shapes[i], static_cast<int64_t>(i) + 40, dtype));
    params.back().requires_grad_();
  }
  return params;
}

void give_gradients(const std::vector<Tensor>& params, int64_t step) {
  for (size_t i = 0; i < params.size(); ++i) {
    params[i].set_grad(test::gradient_of(params[i], step, static_cast<int64_t>(i)));
  }
}

TEST(Optimizer, FlatStepIsThePerTensorStepToTheBit) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (const auto& [name, settings, times] : every_optimizer()) {
      if (name == "muon") continue;  // a matrix at a time
      std::vector<Tensor> together = weights(dtype, true), apart = weights(dtype, true);
      auto flat = make_optimizer(name, {together}, {settings});
      std::vector<test::OptimizerPtr> each;
      for (const Tensor& p : apart) each.push_back(make_optimizer(name, {{p}}, {settings}));
      for (int64_t step = 1; step <= 4; ++step) {
        give_gradients(together, step);
        give_gradients(apart, step);
        flat->step();
        for (auto& one : each) one->step();
      }
      EXPECT_EQ(test::values_of(together), test::values_of(apart)) << name;
    }
  }
}

TEST(Optimizer, ThreadsChangeNoBit) {
  for (const auto& [name, settings, times] : every_optimizer()) {
    std::vector<double> want;
    for (int threads : {1, 2, 4}) {
      set_num_threads(threads);
      std::vector<Tensor> params = weights(DType::kF32, name != "muon");
      auto optimizer = make_optimizer(name, {params}, {settings});
      for (int64_t step = 1; step <= 3; ++step) {
        give_gradients(params, step);
        optimizer->step();
      }
      if (threads == 1) want = test::values_of(params);
      EXPECT_EQ(test::values_of(params), want) << name << " " << threads;
    }
    set_num_threads(1);
  }
}

// Each SIMD target that this machine has, down to the baseline.
TEST(Optimizer, SimdTargetsChangeNoBit) {
  std::map<std::string, std::vector<double>> want;
  int targets = 0;
  for_each_simd_target([&](int64_t target) {
    ++targets;
    for (DType dtype : {DType::kF32, DType::kF64}) {
      int number = 0;
      for (const auto& [name, settings, times] : every_optimizer()) {
        if (name == "muon") continue;  // made of ops
        std::vector<Tensor> params = weights(dtype, true);
        auto optimizer = make_optimizer(name, {params}, {settings});
        for (int64_t step = 1; step <= 3; ++step) {
          give_gradients(params, step);
          optimizer->step();
        }
        const std::string key = name + std::to_string(number++) + dtype_name(dtype);
        const std::vector<double> got = test::values_of(params);
        EXPECT_EQ(got, want.emplace(key, got).first->second)
            << key << " " << simd_target_name(target);
      }
    }
  });
  EXPECT_GE(targets, 1);
}

TEST(Optimizer, StateGoesOnToTheBit) {
  for (const auto& [name, settings, times] : every_optimizer()) {
    auto run = [&, &name = name, &settings = settings](bool restart) {
      std::vector<Tensor> params = weights(DType::kF32);
      test::Settings other = settings;
      other["lr"] = 0.003;
      test::Params groups = {{params[0]}, {params[1], params[2]}};
      auto optimizer = make_optimizer(name, groups, {settings, other});
      for (int64_t step = 1; step <= 12; ++step) {
        if (restart && step == 7) {
          optim::OptimizerState state = optimizer->state_dict();
          optimizer = make_optimizer(name, groups, {settings, settings});
          optimizer->load_state_dict(state);
          // The loaded tensors are copies: the saved ones may go on to be written.
          for (auto& [key, tensor] : state.tensors) tensor.fill_(99);
        }
        give_gradients(params, step);
        if (step % 3 == 0) params[1].set_grad(Tensor());  // its own count of steps
        optimizer->step();
      }
      return test::values_of(params);
    };
    EXPECT_EQ(run(true), run(false)) << name;
  }
}

TEST(Optimizer, StateThatDoesNotFitIsRefused) {
  std::vector<Tensor> params = weights(DType::kF32);
  optim::Adam adam(params);
  give_gradients(params, 1);
  adam.step();
  const optim::OptimizerState state = adam.state_dict();
  auto says = [&](optim::Optimizer& to, optim::OptimizerState s, const char* what) {
    EXPECT_THAT(error_of([&] { to.load_state_dict(s); }), HasSubstr(what));
  };
  optim::SGD sgd(params);
  says(sgd, state, "[sgd] the state is of adam");
  optim::Adam fewer(std::vector<Tensor>{params[0]});
  says(fewer, state, "the state has 3 parameters in 1 groups, the optimizer 1 in 1");
  optim::OptimizerState broken = state;
  broken.tensors.pop_back();
  says(adam, broken, "the state lacks state.2.exp_avg_sq");
  broken = state;
  broken.tensors[0].second = zeros({2});
  says(adam, broken, "state.0.exp_avg is float32[2], the parameter float32[3,4]");
  broken = state;
  broken.tensors.emplace_back("state.9.exp_avg", zeros({2}));
  says(adam, broken, "tensors no parameter owns");
  broken = state;
  broken.settings = "{";
  says(adam, broken, "damaged optimizer state");
  broken = state;
  const size_t steps = broken.settings.find("\"steps\":[1");
  ASSERT_NE(steps, std::string::npos);
  broken.settings.insert(steps + 9, "-");
  says(adam, broken, "steps[0] is -1; it must be a whole number from 0");
  broken = state;
  const size_t at = broken.settings.find("\"beta1\":0.9");
  ASSERT_NE(at, std::string::npos);
  broken.settings.replace(at, 11, "\"beta1\":7.0");
  says(adam, broken, "beta1 must be in [0, 1), got 7");
}

TEST(Optimizer, RefuseBadArguments) {
  using namespace optim;  // NOLINT: a list
  Tensor w = zeros({2, 2}).named("w");
  w.requires_grad_();
  auto says = [&](auto f, const char* text) { EXPECT_THAT(error_of(f), HasSubstr(text)); };
  const double nan = std::nan(""), inf = HUGE_VAL;
  says([&] { SGD({w}, {.lr = -1}); }, "[sgd] lr must be finite and >= 0, got -1");
  says([&] { SGD({w}, {.lr = nan}); }, "lr must be finite and >= 0, got nan");
  says([&] { SGD({w}, {.lr = inf}); }, "lr must be finite and >= 0, got inf");
  says([&] { SGD({w}, {.momentum = -0.1}); }, "momentum must be finite and >= 0, got -0.1");
  says([&] { SGD({w}, {.weight_decay = -1}); }, "weight_decay must be finite and >= 0");
  says([&] { SGD({w}, {.nesterov = true}); }, "nesterov needs a momentum and no dampening");
  says([&] { SGD({w}, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}); },
       "nesterov needs a momentum and no dampening");
  // Every field that has a range, of every optimizer.
  for (const auto& [name, settings, times] : every_optimizer()) {
    for (const auto& [field, value] :
         std::vector<std::pair<std::string, double>>{{"lr", nan},
                                                     {"beta1", 1},
                                                     {"beta2", -0.1},
                                                     {"eps", -1},
                                                     {"weight_decay", nan},
                                                     {"momentum", -1},
                                                     {"rho", 1.5},
                                                     {"alpha", -1},
                                                     {"momentum_decay", -1},
                                                     {"lr_decay", nan},
                                                     {"lambd", -1},
                                                     {"t0", -1},
                                                     {"initial_accumulator_value", -1},
                                                     {"ns_steps", -1}}) {
      std::string error;
      try {
        error = error_of([&, &name = name, &field = field, &value = value] {
          make_optimizer(name, {{w}}, {{{field, value}}});
        });
      } catch (const std::runtime_error&) {
        continue;  // no such field
      }
      EXPECT_THAT(error, HasSubstr("[" + name + "] " + field + " must be")) << field;
    }
  }
  says([&] { Rprop({w}, {.etas = {0, 1.2}}); }, "[rprop] etas must be 0 < minus < 1 < plus, got 0");
  says([&] { Rprop({w}, {.etas = {0.5, 1}}); }, "[rprop] etas must be 0 < minus < 1 < plus");
  says([&] { Rprop({w}, {.etas = {nan, 1.2}}); }, "[rprop] etas must be 0 < minus < 1 < plus");
  says(
      [&] {
        Rprop({w}, {.step_sizes = {1, 0.5}});
      },
      "[rprop] step_sizes must be 0 <= least <= largest, got 1, 0.5");
  says([&] { Rprop({w}, {.step_sizes = {-1, 0.5}}); }, "[rprop] step_sizes must be");
  says([&] { Adam(std::vector<Tensor>{}); }, "[adam] no parameters");
  says([&] { Adam({w, w}); }, "parameter 'w': a parameter appears twice");
  says([&] { Adam({w, Tensor()}); }, "parameter 1 is undefined");
  says([&] { Adam({w, w * 2}); }, "can only optimize leaf tensors");
  says([&] { Adam({zeros({2}, DType::kI64)}); },
       "parameter 0 is int64: parameters must be float32");
  for (DType half : {DType::kF16, DType::kBF16}) {
    says([&] { Adam({zeros({2}, half).named("h")}); }, "small updates would round to nothing");
  }
  says(
      [&] {
        Muon({w, zeros({3}).named("fc.bias")});
      },
      "[muon] parameter 'fc.bias' is [3], no matrix: give vectors, convolutions, embeddings and "
      "the last layer to AdamW");
  says([&] { Muon({zeros({3, 2, 1, 1})}); }, "no matrix");
  SGD sgd({w});
  says([&] { sgd.set_lr(1, 0.1); }, "[sgd] group 1 of 1");
  says([&] { sgd.set_lr(0, std::nan("")); }, "[sgd] lr must be finite, got nan");
  says([&] { LambdaLR(sgd, [](int64_t) { return HUGE_VAL; }); }, "[sgd] lr must be finite");
  EXPECT_EQ(sgd.lr(), 1e-3);
  says([&] { sgd.lr(-1); }, "[sgd] group -1 of 1");
  Adagrad adagrad({w});
  says([&] { adagrad.momentum(); }, "[adagrad] has no momentum");
}

// module.to() between steps: the state is of the old bytes. Nothing is stepped then.
// {.lr = x} leaves every other option at PyTorch's default, weight_decay too.
TEST(Optimizer, NamedOptionsLeaveTheOtherDefaults) {
  optim::Adam adam(weights(DType::kF32), {.lr = 0.5});
  EXPECT_EQ(adam.options().lr, 0.5);
  EXPECT_EQ(adam.options().weight_decay, 0);
  optim::AdamW decayed(weights(DType::kF32), {.lr = 0.5});
  EXPECT_EQ(decayed.options().lr, 0.5);
  EXPECT_EQ(decayed.options().weight_decay, 0.01);
  const std::vector<Tensor> p = weights(DType::kF32);
  optim::AdamW groups({{{p[0]}, {.lr = 0.5}}, {{p[1]}, {.lr = 0.5, .weight_decay = 0}}});
  EXPECT_EQ(groups.options(0).weight_decay, 0.01);
  EXPECT_EQ(groups.options(1).weight_decay, 0);
}

// A gradient that is NaN is seen in the weight: one that stays as it is would hide it, and with it
// a state that is NaN for good.
TEST(Optimizer, NanGradientsReachTheWeights) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (const auto& [name, settings, times] : every_optimizer()) {
      std::vector<Tensor> params = weights(dtype);
      auto optimizer = make_optimizer(name, {params}, {settings});
      give_gradients(params, 1);
      optimizer->step();
      params[0].set_grad(full(params[0].raw_shape(), std::nan(""), dtype));
      optimizer->step();
      for (double v : test::values_of({params[0]})) EXPECT_TRUE(std::isnan(v)) << name;
      for (double v : test::values_of({params[1]})) EXPECT_TRUE(std::isfinite(v)) << name;
    }
  }
}

TEST(Optimizer, ParametersOfAnotherTypeSinceAreRefused) {
  for (DType dtype : {DType::kF64, DType::kF16}) {
    nn::Linear net(2, 2), other(2, 2);
    std::vector<Tensor> params = other.parameters();
    for (const Tensor& p : net.parameters()) params.push_back(p);
    optim::Adam adam(params);
    for (const Tensor& p : params) p.set_grad(ones_like(p));
    adam.step();
    net.to(dtype);
    for (const Tensor& p : params) p.set_grad(ones_like(p));
    const std::vector<double> before = test::values_of(params);
    EXPECT_THAT(
        error_of([&] { adam.step(); }),
        HasSubstr(dtype == DType::kF64
                      ? "[adam] parameter 'weight' is now float64[2,2], its state "
                        "float32[2,2]: make the optimizer after module.to()"
                      : "[adam] parameter 'weight' is now float16[2,2]: parameters must be"));
    EXPECT_EQ(test::values_of(params), before);
  }
}

TEST(Optimizer, GroupsAndThoseAddedLater) {
  Tensor a = full({2}, 1), b = full({3}, 1), c = full({1}, 1);
  for (const Tensor& t : {a, b, c}) t.requires_grad_();
  optim::SGD sgd({a}, {.lr = 0.5});
  sgd.add_param_group({b});  // the options it was made with
  sgd.add_param_group({{c}, {.lr = 0.25, .momentum = 0.5}});
  ASSERT_EQ(sgd.groups(), 3);
  EXPECT_EQ(sgd.lr(1), 0.5);
  EXPECT_EQ(sgd.params(2).size(), 1u);
  for (int step = 0; step < 2; ++step) {
    for (const Tensor& t : {a, b, c}) t.set_grad(ones_like(t));
    sgd.step();
  }
  EXPECT_EQ(a.to_vector<float>()[1], 0.0f);
  EXPECT_EQ(b.to_vector<float>()[2], 0.0f);
  EXPECT_EQ(c.to_vector<float>()[0], 1 - 0.25f - 0.25f * 1.5f);
  EXPECT_THAT(error_of([&] { sgd.add_param_group({b}); }), HasSubstr("appears twice"));
  EXPECT_THAT(error_of([&] { sgd.add_param_group(std::vector<Tensor>{}); }),
              HasSubstr("a group without parameters"));
  EXPECT_THAT(error_of([&] {
                sgd.add_param_group({{zeros({1})}, {.lr = -1}});
              }),
              HasSubstr("lr must be"));
  EXPECT_EQ(sgd.groups(), 3);
}

// Parameters without a gradient are left alone, and so is what they remember.
TEST(Optimizer, NoGradientNoStep) {
  for (const auto& [name, settings, times] : every_optimizer()) {
    std::vector<Tensor> params = weights(DType::kF32);
    auto optimizer = make_optimizer(name, {params}, {settings});
    give_gradients(params, 1);
    params[1].set_grad(Tensor());
    const std::vector<double> before = test::values_of({params[1]});
    optimizer->step();
    EXPECT_EQ(test::values_of({params[1]}), before) << name;
    for (const auto& [key, tensor] : optimizer->state_dict().tensors) {
      EXPECT_FALSE(key.starts_with("state.1.")) << name;
    }
  }
}

TEST(Optimizer, ClosureGivesTheLoss) {
  Tensor w = full({1}, 3.0f);
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.25});
  NoGrad guard;  // the closure records all the same
  Tensor loss = sgd.step([&] {
    sgd.zero_grad();
    Tensor l = sum(w * w);
    l.backward();
    return l;
  });
  EXPECT_EQ(loss.item(), 9);
  EXPECT_EQ(w.item(), 1.5);
  EXPECT_EQ(sgd.step([] { return 4.5; }), 4.5);
  EXPECT_EQ(w.item(), 0);
}

// A strided parameter is stepped in place, its neighbours in memory are not.
TEST(Optimizer, StridedParameters) {
  Tensor base = test::numbers({4, 6}, 5);
  Tensor view = base.t().slice(0, 1, 3);
  Tensor copy = view.clone();
  ASSERT_FALSE(view.is_contiguous());
  view.requires_grad_(), copy.requires_grad_();
  const std::vector<double> whole = base.to_vector<double>();
  optim::Adam a({view}), b({copy});
  for (int step = 1; step <= 3; ++step) {
    view.set_grad(test::gradient_of(view, step, 0));
    copy.set_grad(test::gradient_of(copy, step, 0));
    a.step(), b.step();
  }
  EXPECT_EQ(test::values_of({view}), test::values_of({copy}));
  const std::vector<double> now = base.to_vector<double>();
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(now[i] != whole[i], i % 6 == 1 || i % 6 == 2) << i;
  }
}

// T07: an optimizer that is made later takes the gradients that are there.
TEST(Optimizer, KeepsTheGradientsThereAre) {
  for (const auto& [name, settings, times] : every_optimizer()) {
    std::vector<Tensor> params = weights(DType::kF32);
    give_gradients(params, 1);
    std::vector<Tensor> before;
    for (const Tensor& p : params) before.push_back(p.grad());
    const auto optimizer = make_optimizer(name, {params}, {settings});
    for (size_t i = 0; i < params.size(); ++i)
      EXPECT_TRUE(params[i].grad().is_same(before[i])) << name << " " << i;
  }
}

// T07: beside the parameters' bytes.
TEST(Optimizer, FootprintOfState) {
  for (const auto& [name, settings, times] : every_optimizer()) {
    std::vector<Tensor> params = weights(DType::kF32);
    auto optimizer = make_optimizer(name, {params}, {settings});
    EXPECT_EQ(optimizer->memory_footprint().state, 0);  // made by the first step
    give_gradients(params, 1);
    optimizer->step();
    const optim::OptimizerFootprint bytes = optimizer->memory_footprint();
    EXPECT_EQ(bytes.parameters, (12 + 10 + 7) * 4);
    EXPECT_EQ(bytes.state, times * bytes.parameters) << name;
    if (name == "adamw") {
      EXPECT_EQ(bytes.text(), "parameters 116 bytes, optimizer state 232 bytes (2.0x)");
    }
  }
}

// P3-02: running statistics are buffers: forward moves them, no optimizer does.
TEST(Optimizer, BuffersAreNotStepped) {
  manual_seed(1);
  nn::Sequential net(nn::Conv2d(1, 3, 2), nn::BatchNorm2d(3), nn::Flatten(), nn::Linear(12, 2));
  optim::AdamW adam(net.parameters(), {.lr = 0.1, .weight_decay = 0.5});
  net.train();
  sum(net(randn({4, 1, 3, 3})).pow(2)).backward();
  std::vector<Tensor> buffers;
  for (const auto& [name, t] : net.named_buffers()) {
    EXPECT_TRUE(name == "1.running_mean" || name == "1.running_var" ||
                name == "1.num_batches_tracked");
    EXPECT_FALSE(t.requires_grad());
    for (const Tensor& p : adam.params()) EXPECT_NE(p.id(), t.id());
    buffers.push_back(t);
  }
  ASSERT_EQ(buffers.size(), 3u);
  const std::vector<double> before = test::values_of(buffers);
  const std::vector<double> weights = test::values_of(net.parameters());
  adam.step();
  EXPECT_EQ(test::values_of(buffers), before);
  EXPECT_NE(test::values_of(net.parameters()), weights);
}

// P5-08: four parts of a batch, their losses divided by four, make the whole batch's step. The sums
// are of the same numbers in another order: in float64 equal to 1e-12; in float32 they may differ
// in the last bits, and every run and number of threads gives the same ones.
TEST(Optimizer, AccumulationIsTheLargeBatch) {
  auto train = [](DType dtype, int64_t parts, bool declared) {
    manual_seed(2);
    nn::Sequential net(nn::Linear(5, 8), nn::Tanh(), nn::Linear(8, 3));
    net.to(dtype);
    optim::AdamW adam(net.parameters(), {.lr = 0.02});
    if (declared) adam.accumulate(parts);
    for (int64_t step = 0; step < 20; ++step) {
      Tensor x = test::numbers({16, 5}, step, dtype), y = test::numbers({16, 3}, step + 9, dtype);
      if (!declared) adam.zero_grad();
      const int64_t n = 16 / parts;
      for (int64_t i = 0; i < parts; ++i) {
        Tensor out = net(x.slice(0, i * n, (i + 1) * n));
        (mse_loss(out, y.slice(0, i * n, (i + 1) * n)) / static_cast<double>(parts)).backward();
        if (declared) adam.step();
      }
      if (!declared) adam.step();
    }
    return test::values_of(net.parameters());
  };
  test::expect_close(train(DType::kF64, 4, false), train(DType::kF64, 1, false), 1e-12, "f64");
  EXPECT_EQ(train(DType::kF64, 4, true), train(DType::kF64, 4, false));
  const std::vector<double> f32 = train(DType::kF32, 4, false);
  test::expect_close(f32, train(DType::kF32, 1, false), 1e-4, "f32");
  set_num_threads(3);
  EXPECT_EQ(train(DType::kF32, 4, false), f32);
  set_num_threads(1);
}

}  // namespace
}  // namespace wick
