// Sparse gradients of tables: what they hold, SparseAdam, SGD and Adagrad beside PyTorch's, and
// what does not take them.
#include <algorithm>
#include <thread>

#include "tests/optim/every_optimizer.h"

namespace wick {
namespace {

using test::error_of;
using test::numbers;

constexpr DType kD = DType::kF64;

nn::Embedding table_of(const Tensor& weight, bool sparse, std::optional<int64_t> padding = {}) {
  nn::EmbeddingOptions o;
  o.weight = weight.clone();
  o.sparse = sparse;
  o.padding_idx = padding;
  return nn::Embedding(weight.raw_shape()[0], weight.raw_shape()[1], o);
}
Tensor places(std::vector<int64_t> v) {
  return from_blob(v.data(), Shape{static_cast<int64_t>(v.size())}, DType::kI64);
}
// A table with a sparse gradient of rows 3, 1, 3.
nn::Embedding used_table() {
  nn::Embedding e = table_of(numbers({5, 2}, 1), true);
  sum(e(places({3, 1, 3})) * numbers({3, 2}, 2)).backward();
  return e;
}

TEST(SparseSteps, ArePyTorchs) {
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("sparse")) {
    ++cases;
    std::istringstream words(golden.title);
    std::string name;
    words >> name;
    test::Settings settings;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      settings[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
    }
    nn::Embedding table = table_of(numbers({7, 3}, 50), true, 6);
    auto optimizer = test::make_optimizer(name, {{table.weight}}, {settings});
    size_t seen = 0;
    for (int64_t step = 1; step <= 40; ++step) {
      std::vector<int64_t> at;
      for (int64_t j = 0; j < 6; ++j) at.push_back((step * 5 + j * j) % 7);
      const Tensor rows = table(places(at).reshape({2, 3}));
      optimizer->zero_grad();
      (sum(numbers({2, 3, 3}, 7 * step) * rows) + 0.125 * sum(rows * rows)).backward();
      EXPECT_TRUE(has_sparse_grad(table.weight));
      optimizer->step();
      for (const auto& [key, want] : golden.lines) {
        if (key != std::to_string(step)) continue;
        ++seen;
        test::expect_close(test::values_of({table.weight}), want, 1e-12,
                           golden.title + ", step " + key);
      }
    }
    for (const auto& [key, want] : golden.lines) {
      if (std::isdigit(key[0])) continue;
      for (const auto& [of, tensor] : optimizer->state_dict().tensors) {
        if (!of.ends_with("." + key)) continue;
        ++seen;
        test::expect_close(test::values_of({tensor}), want, 1e-12, golden.title + ", " + key);
      }
    }
    EXPECT_EQ(seen, golden.lines.size()) << golden.title;
  }
  EXPECT_EQ(cases, 8U);
}

TEST(SparseGradient, HasTheRowsThatWereUsed) {
  const nn::Embedding e = used_table();
  const SparseGrad g = *sparse_grad(e.weight);
  EXPECT_FALSE(g.is_coalesced());
  EXPECT_EQ(g.indices().to_vector<int64_t>(), (std::vector<int64_t>{3, 1, 3}));
  EXPECT_EQ(g.values().to_vector<double>(), numbers({3, 2}, 2).to_vector<double>());
  EXPECT_EQ(g.shape(), (Shape{5, 2}));
  const SparseGrad once = g.coalesce();
  EXPECT_TRUE(once.is_coalesced());
  EXPECT_EQ(once.indices().to_vector<int64_t>(), (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(equal(once.to_dense(), g.to_dense()));
}

// With repeated rows, a padding row and rows in any order: the bits of the dense gradient; of two
// backwards, which is one sum here and a sum of two there, its numbers.
TEST(SparseGradient, AsATensorIsTheDenseOne) {
  Generator g{4, 0};
  for (std::optional<int64_t> padding : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    for (DType t : {DType::kF32, kD}) {
      const Tensor weight = randn({11, 5}, t, g), at = randint(0, 11, {4, 9}, g);
      const Tensor scale = randn({4, 9, 5}, t, g);
      nn::Embedding dense = table_of(weight, false, padding),
                    rows = table_of(weight, true, padding);
      EXPECT_TRUE(equal(dense(at), rows(at)));
      for (int pass = 0; pass < 2; ++pass) {  // the second is added
        sum(dense(at) * scale).backward();
        sum(rows(at) * scale).backward();
        if (pass == 0) {
          EXPECT_TRUE(equal(dense.weight.grad(), sparse_grad(rows.weight)->to_dense()));
        }
      }
      const Tensor want = dense.weight.grad(), got = sparse_grad(rows.weight)->to_dense();
      EXPECT_LE(amax(abs(want - got)).item(), 32 * finfo(t).eps * amax(abs(want)).item());
      if (padding) {
        EXPECT_EQ(amax(abs(got.select(0, 2))).item(), 0);
      }
    }
  }
}

TEST(SparseGradient, OfASharedTableJoinsTheDenseOne) {
  nn::Embedding e = table_of(numbers({5, 2}, 1), true);
  (sum(e(places({3, 1, 3}))) + sum(square(e.weight))).backward();
  EXPECT_FALSE(has_sparse_grad(e.weight));
  Tensor want = e.weight.detach() * 2;
  want.index_add_(0, places({3, 1, 3}), ones({3, 2}, kD));
  EXPECT_TRUE(allclose(e.weight.grad(), want, 1e-15, 1e-15));
  e.weight.set_grad(Tensor());
  sum(e(places({0}))).backward();  // rows first, then a dense one
  EXPECT_TRUE(has_sparse_grad(e.weight));
  sum(e.weight).backward();
  EXPECT_FALSE(has_sparse_grad(e.weight));
  EXPECT_EQ(e.weight.grad().select(0, 0).to_vector<double>(), (std::vector<double>{2, 2}));
  EXPECT_EQ(e.weight.grad().select(0, 1).to_vector<double>(), (std::vector<double>{1, 1}));
}

// Two threads share the table: one adds rows, the other a tensor.
TEST(SparseGradient, OfSeveralThreadsIsTheirSum) {
  constexpr int kTimes = 300;
  nn::Embedding e = table_of(numbers({5, 2}, 1), true);
  std::thread rows([&] {
    for (int i = 0; i < kTimes; ++i) sum(e(places({1}))).backward();
  });
  for (int i = 0; i < kTimes; ++i) sum(e.weight).backward();
  rows.join();
  ASSERT_FALSE(has_sparse_grad(e.weight));
  EXPECT_EQ(e.weight.grad().select(0, 0).to_vector<double>(), (std::vector<double>{300, 300}));
  EXPECT_EQ(e.weight.grad().select(0, 1).to_vector<double>(), (std::vector<double>{600, 600}));
}

// What takes gradients away and puts them back keeps the rows, and so does a change of the dtype.
TEST(SparseGradient, StaysWithItsTable) {
  nn::Embedding e = used_table();
  auto held = [](const Tensor& table) {
    const std::optional<SparseGrad> g = sparse_grad(table);
    return g ? g->indices().to_vector<int64_t>() : std::vector<int64_t>();
  };
  const std::vector<int64_t> rows = {3, 1, 3};
  explain(e, [&] { return Tensor(sum(square(e(places({0}))))); });
  EXPECT_EQ(held(e.weight), rows);
  EXPECT_EQ(memory_footprint(e).gradients, 3 * 8 + 6 * 8);
  optim::SGD sgd({e.weight}, {.lr = 0.5});
  const TrainingStep step{e, sgd,
                          [](int64_t n) { return std::vector<Tensor>{zeros({n}, DType::kI64)}; },
                          [&](const std::vector<Tensor>& in) { return sum(square(e(in[0]))); }};
  EXPECT_GT(measure_memory(step, 2).total(), 0);
  EXPECT_EQ(held(e.weight), rows);
  e.to(DType::kF32);
  EXPECT_EQ(held(e.weight), rows);
  EXPECT_TRUE(equal(sparse_grad(e.weight)->values(), numbers({3, 2}, 2).to(DType::kF32)));
  const Tensor former =
      e.compute_parameter("weight", [](nn::Module& m) { return m.find_tensor("table") * 1; });
  EXPECT_EQ(held(former), rows);
  EXPECT_FALSE(has_sparse_grad(e.weight));
}

TEST(SparseGradient, IsClearedAsOthersAre) {
  nn::Embedding e = used_table();
  optim::SparseAdam adam({e.weight});
  adam.zero_grad();
  EXPECT_FALSE(has_sparse_grad(e.weight));
  EXPECT_FALSE(e.weight.grad().defined());
  sum(e(places({1}))).backward();
  adam.zero_grad(false);
  EXPECT_EQ(sparse_grad(e.weight)->indices().layout().numel(), 0);
  const std::vector<double> before = test::values_of({e.weight});
  adam.step();
  EXPECT_EQ(test::values_of({e.weight}), before);
  sum(e(places({1}))).backward();
  e.zero_grad();
  EXPECT_FALSE(has_sparse_grad(e.weight));
  sum(e(places({1}))).backward();
  e.weight.set_grad(ones({5, 2}, kD));
  EXPECT_EQ(e.weight.grad().select(0, 0).to_vector<double>(), (std::vector<double>{1, 1}));
  sum(e(places({}))).backward();  // no row at all
  EXPECT_TRUE(e.weight.grad().defined());
}

TEST(SparseGradient, StaysWhereABackwardThrows) {
  nn::Embedding e = used_table();
  const Tensor y = e(places({0}));
  const Tensor fails = y * 2;
  fails.register_hook([](const Tensor&) { throw Error("stop"); });
  // the newer use of the table has delivered its rows when the older one stops
  EXPECT_THROW((sum(fails) + sum(e(places({4})))).backward(), Error);
  EXPECT_EQ(sparse_grad(e.weight)->indices().to_vector<int64_t>(), (std::vector<int64_t>{3, 1, 3}));
}

TEST(SparseGradient, IsNotDifferentiatedNorCollected) {
  auto expect = [](const std::function<void()>& f, const std::string& text) {
    const std::string got = error_of(f);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  nn::Embedding e = table_of(numbers({5, 2}, 1), true);
  const Tensor x = ones({1}, kD).requires_grad_();
  expect([&] { sum(e(places({1}))).backward(Tensor(), false, true); }, "has no history");
  expect([&] { grad({sum(e(places({1})))}, {e.weight}); }, "kept beside the table only");
  EXPECT_EQ(grad({sum(e(places({1})) * x)}, {x})[0].layout().numel(), 1);
  const HookHandle hook = e.weight.register_hook([](const Tensor&) {});
  expect([&] { sum(e(places({1}))).backward(); }, "passes no hook of the table");
  EXPECT_FALSE(has_sparse_grad(e.weight));
  const nn::Embedding used = used_table();
  expect([&] { used.weight.grad(); }, "is sparse: sparse_grad(t) has its rows");
}

TEST(SparseGradient, IsNotMadeWhereNoneIsAsked) {
  nn::Embedding e = table_of(numbers({5, 2}, 1), true);
  {
    NoGrad guard;
    EXPECT_FALSE(e(places({1})).requires_grad());
  }
  e.weight.requires_grad_(false);
  EXPECT_FALSE(e(places({1})).requires_grad());
  nn::EmbeddingOptions o;
  o.sparse = true;
  o.scale_grad_by_freq = true;
  EXPECT_NE(error_of([&] { nn::Embedding(3, 2, o); }).find("sparse does not go with"),
            std::string::npos);
  o.scale_grad_by_freq = false;
  EXPECT_EQ(nn::Embedding(3, 2, o).extra_repr(), "3, 2, sparse=True");
}

TEST(SparseGradient, OfATableWithANormIsTheDenseOne) {
  nn::EmbeddingOptions o;
  o.weight = numbers({5, 3}, 2) * 4;
  o.max_norm = 1;
  nn::EmbeddingOptions s = o;
  s.weight = o.weight.clone();
  s.sparse = true;
  nn::Embedding dense(5, 3, o), rows(5, 3, s);
  sum(square(dense(places({1, 4, 1})))).backward();
  sum(square(rows(places({1, 4, 1})))).backward();
  EXPECT_TRUE(equal(dense.weight, rows.weight));
  EXPECT_TRUE(allclose(dense.weight.grad(), sparse_grad(rows.weight)->to_dense(), 1e-15, 1e-15));
}

// The bags' rows, with a padding row, an empty bag and weights of samples.
TEST(SparseGradient, OfBagsIsTheDenseOne) {
  const Tensor at = places({3, 1, 3, 2, 0}), offsets = places({0, 2, 2});
  for (const char* mode : {"sum", "mean"}) {
    nn::EmbeddingBagOptions o;
    o.mode = mode;
    o.padding_idx = 2;
    o.weight = numbers({5, 3}, 2);
    nn::EmbeddingBagOptions s = o;
    s.weight = o.weight.clone();
    s.sparse = true;
    nn::EmbeddingBag dense(5, 3, o), rows(5, 3, s);
    const Tensor weights = std::string(mode) == "sum" ? numbers({5}, 4) : Tensor();
    const Tensor want = dense(at, offsets, weights), got = rows(at, offsets, weights);
    EXPECT_TRUE(equal(want, got)) << mode;
    sum(square(want)).backward();
    sum(square(got)).backward();
    const SparseGrad g = *sparse_grad(rows.weight);
    EXPECT_EQ(g.indices().to_vector<int64_t>(), (std::vector<int64_t>{3, 1, 3, 0})) << mode;
    EXPECT_TRUE(allclose(dense.weight.grad(), g.to_dense(), 1e-15, 1e-15)) << mode;
  }
  EXPECT_NE(error_of([] {
              nn::EmbeddingBag(5, 2, {.mode = "max", .sparse = true});
            }).find("sparse goes neither with max"),
            std::string::npos);
}

TEST(SparseGradient, RefusesWhatIsNoneOfATable) {
  const Tensor v = ones({2, 3}, kD);
  EXPECT_THROW(SparseGrad({4, 2}, places({0, 1}), v), Error);
  EXPECT_THROW(SparseGrad({4, 3}, places({0}), v), Error);
  EXPECT_THROW(SparseGrad({4, 3}, ones({2}, kD), v), Error);
  EXPECT_NE(error_of([&] {
              SparseGrad({4, 3}, places({0, 4}), v);
            }).find("row 4 is not in a table"),
            std::string::npos);
}

// Each says so by the parameter's name, and leaves the table as it was.
TEST(SparseGradient, IsRefusedByWhatTakesNone) {
  nn::Embedding e = used_table();
  const Tensor named = e.weight.named("words.weight");
  const std::vector<double> before = test::values_of({e.weight});
  size_t refused = 0;
  auto expect = [&](const std::string& what, const std::function<void()>& f) {
    ++refused;
    const std::string got = error_of(f);
    EXPECT_NE(got.find("words.weight"), std::string::npos) << what << ": " << got;
    EXPECT_NE(got.find("sparse"), std::string::npos) << what << ": " << got;
    EXPECT_EQ(test::values_of({e.weight}), before) << what;
    EXPECT_TRUE(has_sparse_grad(e.weight)) << what;
  };
  for (const test::OptimizerCase& each : test::every_optimizer()) {
    if (each.name == "sgd" || each.name == "adagrad" || each.name == "sparse_adam") continue;
    auto optimizer = test::make_optimizer(each.name, {{e.weight}}, {{}});
    expect(each.name, [&] { optimizer->step(); });
  }
  EXPECT_GE(refused, 10U);
  optim::LBFGS lbfgs({e.weight});
  expect("lbfgs", [&] { lbfgs.step([&] { return Tensor(sum(e.weight.detach())); }); });
  optim::SGD with_momentum({e.weight}, {.momentum = 0.9});
  expect("momentum", [&] { with_momentum.step(); });
  optim::SGD decayed({e.weight}, {.weight_decay = 0.1});
  expect("decay", [&] { decayed.step(); });
  optim::Adagrad decayed_too({e.weight}, {.weight_decay = 0.1});
  expect("decay", [&] { decayed_too.step(); });
  expect("clip", [&] { nn::clip_grad_norm_({e.weight}, 1); });
  expect("clip", [&] { nn::clip_grad_value_({e.weight}, 1); });
  optim::SGD sgd({e.weight});
  optim::GradScaler scaler;
  scaler.scale(ones({1}));
  expect("scaler", [&] { scaler.step(sgd); });
}

TEST(SparseSteps, RefuseDenseGradientsWhereTheyTakeNone) {
  const Tensor p = ones({3, 2}, kD).requires_grad_();
  optim::SparseAdam adam({p});
  p.set_grad(ones({3, 2}, kD));
  EXPECT_NE(error_of([&] { adam.step(); }).find("is dense: give the parameter to Adam"),
            std::string::npos);
}

TEST(SparseSteps, AGradientThatWasNotClearedIsReported) {
  nn::Embedding e = used_table();
  optim::SparseAdam adam({e.weight});
  adam.step();
  sum(e(places({0}))).backward();
  EXPECT_EQ(sparse_grad(e.weight)->indices().to_vector<int64_t>(),
            (std::vector<int64_t>{3, 1, 3, 0}));
  testing::internal::CaptureStderr();
  adam.step();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("was already applied in step 1"),
            std::string::npos);
}

TEST(SparseSteps, ContinueFromAStateDict) {
  auto train = [](int64_t stop) {
    nn::Embedding e = table_of(numbers({6, 2}, 3), true);
    auto adam = std::make_unique<optim::SparseAdam>(std::vector<Tensor>{e.weight},
                                                    optim::SparseAdamOptions{.lr = 0.1});
    for (int64_t step = 0; step < 20; ++step) {
      if (step == stop) {
        const optim::OptimizerState state = adam->state_dict();
        adam = std::make_unique<optim::SparseAdam>(std::vector<Tensor>{e.weight});
        adam->load_state_dict(state);
      }
      adam->zero_grad();
      sum(square(e(places({step % 6, step * step % 6})))).backward();
      adam->step();
    }
    return test::values_of({e.weight});
  };
  EXPECT_EQ(train(-1), train(7));
}

TEST(SparseSteps, HaveTheSameBitsForAnyThreads) {
  const int threads = num_threads();
  std::vector<std::vector<double>> all;
  for (int n : {1, 3}) {
    set_num_threads(n);
    Generator g{1, 0};
    nn::Embedding e = table_of(randn({300, 64}, DType::kF32, g), true);
    optim::SparseAdam adam({e.weight}, {.lr = 0.1});
    optim::Adagrad adagrad({e.weight}, {.lr = 0.1});
    for (int step = 0; step < 5; ++step) {
      adam.zero_grad();
      sum(square(e(randint(0, 300, {2000}, g)))).backward();
      adam.step();
      adagrad.step();
    }
    all.push_back(test::values_of({e.weight}));
  }
  set_num_threads(threads);
  EXPECT_EQ(all[0], all[1]);
}

TEST(SparseSteps, OfATableThatIsNotContiguous) {
  const Tensor wide = numbers({2, 5}, 4), table = wide.transpose(0, 1).detach().requires_grad_();
  nn::EmbeddingOptions o;
  o.weight = table;
  o.sparse = true;
  nn::Embedding strided(5, 2, o), plain = table_of(table.detach().contiguous(), true);
  for (nn::Embedding* e : {&strided, &plain}) {
    optim::SGD sgd({e->weight}, {.lr = 0.5});
    sum(square((*e)(places({1, 4, 1})))).backward();
    sgd.step();
  }
  EXPECT_TRUE(equal(strided.weight, plain.weight));
}

}  // namespace
}  // namespace wick
