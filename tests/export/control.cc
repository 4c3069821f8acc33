// Control flow by data: branches, loops while something holds, loops over time.
#include "tests/export/corpus.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

// A second block for those images that the first is not sure of.
struct EarlyExit : nn::Module {
  nn::Child<nn::Linear> first{this, "first", 8, 8};
  nn::Child<nn::Linear> early{this, "early", 8, 3};
  nn::Child<nn::Sequential> rest{this, "rest", nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 3)};
  Tensor forward(const Arg& x) override {
    const Tensor h = relu(first(x));
    const Tensor sure = amax(softmax(early(h), 1), {1}).min();
    return cond(
        sure > 0.4, [&] { return early(h); }, [&] { return rest(h); });
  }
};

// h = tanh(W x + U h), written as one would write it down.
struct ScanRnn : nn::Module {
  nn::Child<nn::Linear> in{this, "in", 8, 6};
  nn::Child<nn::Linear> hidden{this, "hidden", 6, 6};
  std::pair<Tensor, Tensor> run(const Tensor& x, bool reverse = false) {
    return scan(
        [&](const Tensor& h, const Tensor& x_t) {
          const Tensor next = tanh(in(x_t) + hidden(h));
          return std::pair(next, next);
        },
        zeros({x.size(0), 6}), x, 1, reverse);
  }
  Tensor forward(const Arg& x) override { return run(x.tensor).second.transpose(0, 1); }
};

// Two states, two things given at a time.
struct ScanLstm : nn::Module {
  nn::Child<nn::Linear> gates{this, "gates", 8 + 5, 20};
  Tensor forward(const Arg& x) override {
    const Tensor zero = zeros({x.tensor.size(0), 5});
    auto [last, ys] = scan(
        [&](const std::pair<Tensor, Tensor>& state, const Tensor& x_t) {
          const auto g = chunk(gates(cat({x_t, state.first}, 1)), 4, 1);
          const Tensor c = sigmoid(g[0]) * state.second + sigmoid(g[1]) * tanh(g[2]);
          const Tensor h = sigmoid(g[3]) * tanh(c);
          return std::pair(std::pair(h, c), std::tuple(h, c.sum(1)));
        },
        std::pair(zero, zero), x.tensor, 1);
    return cat(
        {last.first, last.second, std::get<0>(ys).mean(0), std::get<1>(ys).amax(0).unsqueeze(1)},
        1);
  }
};

// Greedy decoding: until the end token or the length is reached.
struct Decoder : nn::Module {
  nn::Child<nn::Embedding> embed{this, "embed", 7, 6};
  nn::Child<nn::Linear> step{this, "step", 6, 6};
  nn::Child<nn::Linear> head{this, "head", 6, 7};
  std::tuple<Tensor, Tensor, Tensor> decode(const Tensor& start) {
    const Tensor i = full({}, 0, DType::kI64);
    const Tensor token = amax(start, {0}).to(DType::kI64).clamp(0, 6);
    const Tensor tokens = zeros({8}, DType::kI64);
    const auto last = while_loop(
        [](const Tensor& i, const Tensor& token, const Tensor&, const Tensor&) {
          return logical_and(i < 8, ne(token, 6));
        },
        [&](const Tensor& i, const Tensor& token, const Tensor& h, const Tensor& tokens) {
          const Tensor next = tanh(step(h) + embed(token));
          const Tensor best = argmax(head(next), 0);
          return std::tuple(i + 1, best, next, where(eq(arange(8), i), best, tokens));
        },
        std::tuple(i, token, start.mean(0).expand({6}) + zeros({6}), tokens));
    return {std::get<0>(last), std::get<2>(last), std::get<3>(last)};
  }
};

// One of two experts, by the gate's mean.
struct Switch : nn::Module {
  nn::Child<nn::Linear> gate{this, "gate", 8, 1};
  nn::Child<nn::Linear> a{this, "a", 8, 8};
  nn::Child<nn::Linear> b{this, "b", 8, 8};
  Tensor forward(const Arg& x) override { return cond(gate(x).mean() > 0, a, b, {x.tensor}); }
};

}  // namespace

std::vector<Program> control_programs() {
  std::vector<Program> all;
  auto add = [&](const char* name, std::function<Tensor(const Tensor&)> f) {
    all.push_back(form(name, {2, 6, 8}, {batch(), time(1, 1)}, std::move(f)));
  };
  all.push_back(layer("control_early_exit", std::make_shared<EarlyExit>(), {3, 8}, {batch()}));
  all.push_back(layer("control_switch", std::make_shared<Switch>(), {3, 5, 8}, batch_time()));
  all.push_back(layer("control_rnn", std::make_shared<ScanRnn>(), {2, 6, 8}, batch_time()));
  all.push_back(layer("control_lstm", std::make_shared<ScanLstm>(), {2, 6, 8}, batch_time()));
  auto rnn = std::make_shared<ScanRnn>();
  all.push_back(program("control_rnn_no_time", rnn,
                        {{"x", some_floats({2, 6, 8}), {batch(), time(1, 0)}}},
                        [rnn](const Tensor& x) { return rnn->run(x); }));
  auto both = std::make_shared<ScanRnn>();
  all.push_back(program("control_rnn_both_ways", both,
                        {{"x", some_floats({2, 6, 8}), batch_time()}}, [both](const Tensor& x) {
                          return cat({both->run(x).second, both->run(x, true).second}, 2);
                        }));
  auto decoder = std::make_shared<Decoder>();
  all.push_back(program("control_decode", decoder, {{"start", some_floats({5}), {{0, "n"}}}},
                        [decoder](const Tensor& x) { return decoder->decode(x); }));
  add("control_cond", [](const Tensor& x) {
    return cond(
        x.sum() > 0, [](const Tensor& x) { return x * 2; }, [](const Tensor& x) { return -x; },
        {x});
  });
  add("control_cond_of_two", [](const Tensor& x) {
    const auto [a, b] = cond(
        x.mean() < 0.05, [&] { return std::pair(relu(x), x.sum(1)); },
        [&] { return std::pair(x, x.mean(1)); });
    return a.sum(1) + b;
  });
  add("control_cond_other_shapes", [](const Tensor& x) {
    return cond(
        x.sum() > 0, [&] { return x.mean(1, true); }, [&] { return x; });
  });
  add("control_cond_constant_branch", [](const Tensor& x) {
    const Tensor other = arange(8).to(DType::kF32);
    return x + cond(
                   any(x > 1.2), [&] { return other; }, [&] { return zeros({8}); });
  });
  add("control_cond_sizes_inside", [](const Tensor& x) {
    return cond(
        x.sum() > 0,
        [&] {
          return x.reshape({x.size(0) * x.size(1), 8}) / x.size(1);
        },
        [&] {
          return cat({zeros({x.size(0), 1, 8}), x.slice(1, 0, x.size(1) - 1)}, 1).flatten(0, 1);
        });
  });
  add("control_cond_same", [](const Tensor& x) {
    return cond(
        x.sum() > 0, [](const Tensor& x) { return x; }, [](const Tensor& x) { return x; }, {x});
  });
  add("control_elif", [](const Tensor& x) {
    const Tensor m = x.mean();
    return cond(
        m > 0.1, [&] { return exp(x); },
        [&] {
          return cond(
              m > 0, [&] { return sin(x); }, [&] { return cos(x); });
        });
  });
  add("control_while_halving", [](const Tensor& x) {
    return while_loop([](const Tensor& x) { return abs(x).amax() > 0.25; },
                      [](const Tensor& x) { return x / 2; }, x);
  });
  add("control_while_no_trip", [](const Tensor& x) {
    return while_loop([](const Tensor& x) { return x.amax() > 1000; },
                      [](const Tensor& x) { return x / 2; }, x * 2);
  });
  add("control_while_bounded", [](const Tensor& x) {
    return while_loop([](const Tensor& x) { return x.amax() < 1000; },
                      [&](const Tensor& y) { return y * 2 + x.slice(1, 0, 1); }, x, 3);
  });
  add("control_while_in_place", [](const Tensor& x) {
    return while_loop([](const Tensor& x) { return abs(x).amax() > 0.5; },
                      [](const Tensor& x) {
                        Tensor y = x.clone();
                        y.select(2, 0).mul_(0.5);
                        return y / 2;
                      },
                      x);
  });
  add("control_scan_sum", [](const Tensor& x) {
    return scan([](const Tensor& sum, const Tensor& x_t) { return std::pair(sum + x_t, sum); },
                zeros({x.size(1), 8}), x)
        .second;
  });
  add("control_scan_of_two", [](const Tensor& x) {
    return scan(
               [](const Tensor& s, const std::pair<Tensor, Tensor>& at) {
                 return std::pair(s * 0.5 + at.first * at.second, s.sum(1));
               },
               zeros({x.size(0), 8}), std::pair(x, flip(x, {1})), 1)
        .first;
  });
  add("control_scan_last_dim_back", [](const Tensor& x) {
    return scan([](const Tensor& s, const Tensor& c) { return std::pair(s + c, s - c); },
                x.select(2, 0), x, -1, true)
        .second;
  });
  add("control_cond_in_scan", [](const Tensor& x) {
    return scan(
               [](const Tensor& s, const Tensor& x_t) {
                 const Tensor next = cond(
                     x_t.sum() > s.sum(), [&] { return s + x_t; }, [&] { return s * 0.5 - x_t; });
                 return std::pair(next, next.amax(1));
               },
               zeros({x.size(0), 8}), x, 1)
        .second;
  });
  add("control_while_in_scan_in_cond", [](const Tensor& x) {
    const Tensor w = some_floats({8, 8});
    return cond(
        x.sum() > 0,
        [&] {
          return scan(
                     [&](const Tensor& s, const Tensor& x_t) {
                       const Tensor small =
                           while_loop([](const Tensor& y) { return abs(y).amax() > 1; },
                                      [&](const Tensor& y) { return y / 2 + 0.5 / x.size(1); },
                                      matmul(x_t + s, w));
                       return std::pair(small, std::tuple<>());
                     },
                     zeros({x.size(0), 8}), x, 1)
              .first;
        },
        [&] { return x.mean(1); });
  });
  add("control_behind_and_before", [](const Tensor& x) {
    const Tensor y = softmax(x, -1);
    const Tensor z = cond(
        y.select(1, 0).amax() > 0.3, [&] { return y * x; }, [&] { return y; });
    return (z + y).reshape({x.size(0), -1});
  });
  return all;
}

}  // namespace wick::test
