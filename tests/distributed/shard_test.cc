// FullyShard: the bits of DataParallel with a part of its state, and checkpoints for any number of
// ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/distributed/parallel/exact_sum.h"

namespace wick::distributed {
namespace {

using namespace testing;  // NOLINT: a test
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// All ranks' results, which must be one.
Trained results_of(int ranks, const std::function<Trained(Group)>& f) {
  std::vector<Trained> results(static_cast<size_t>(ranks));
  EXPECT_THAT(run_ranks(ranks, [&](Group w) { results[static_cast<size_t>(w.rank())] = f(w); }),
              Each(IsEmpty()));
  for (const Trained& r : results) EXPECT_EQ(r.digest, results[0].digest);
  return results[0];
}

TEST(FullyShard, HasTheBitsOfDataParallel) {
  for (const char* net : {"mlp", "norm", "gpt"}) {
    const Trained plain = results_of(1, [&](Group w) { return train(w, net, 8, true); });
    for (int stage : {1, 2, 3}) {
      for (int ranks : {1, 2, 3, 4}) {
        const Trained t = results_of(ranks, [&](Group w) { return train_sharded(w, net, stage); });
        EXPECT_EQ(t.digest, plain.digest) << net << ", stage " << stage << ", ranks " << ranks;
        EXPECT_EQ(t.loss, plain.loss);
      }
    }
  }
}

TEST(FullyShard, KeepsAndSendsItsShare) {
  EXPECT_THAT(run_ranks(4,
                        [](Group w) {
                          nn::Linear net(64, 64, false);
                          FullyShard fs(net, w, {.shards = 4, .stage = 2});
                          optim::Adam adam(fs.segments(), {.lr = 0.01});
                          ASSERT_EQ(fs.segments().size(), 1u);
                          constexpr int64_t kBytes = 64 * 64 * 4;
                          EXPECT_EQ(fs.segments()[0].nbytes(), kBytes / 4);
                          const Tensor x = ones({4, 64});
                          auto step = [&] {
                            fs.step(data::Batch{x}, [&](Part& p) { return mean(square(fs(p.x))); });
                            adam.step();
                            adam.zero_grad();
                          };
                          step();
                          EXPECT_EQ(adam.memory_footprint().state, 2 * kBytes / 4);
                          EXPECT_FALSE(net.weight.grad().defined());
                          const int64_t before = w.traffic().payload_bytes;
                          step();  // gathers, then scatters, and exchanges the losses
                          EXPECT_EQ(w.traffic().payload_bytes - before, 2 * 3 * kBytes / 4 + 3 * 8);
                        }),
              Each(IsEmpty()));
}

// A layer's parameters outside of its call are not there.
struct Peeks : nn::Module {
  nn::Child<nn::Linear> a{this, "a", 12, 12};
  nn::Child<nn::Linear> b{this, "b", 12, 5};
  Tensor forward(const Arg& x) override { return b(linear(x, a->weight, a->bias)); }
};

TEST(FullyShard, StageThreeRefusesWhatItCannotGather) {
  auto step = [](Group w, nn::Module& net) {
    FullyShard fs(net, w, {.shards = 4, .stage = 3});
    const auto batch = samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
    fs.step(batch, [&](Part& p) { return cross_entropy(fs(p.x), p.y); });
  };
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          Peeks net;
                          step(w, net);
                        }),
              Each(HasSubstr("the parameters of 'a' were read outside of a call of that layer")));
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          Mlp net;
                          net.fc2->register_parameter("tied", net.fc1->weight);
                          step(w, net);
                        }),
              Each(HasSubstr("stage 3 does not take a parameter of two layers: 'tied'")));
}

TEST(FullyShard, StageThreeHasTheWeightsOnlyWhileALayerRuns) {
  EXPECT_THAT(run_ranks(3,
                        [](Group w) {
                          Mlp net;
                          const std::vector<float> before = net.fc1->weight.to_vector<float>();
                          FullyShard fs(net, w, {.shards = 4, .stage = 3});
                          EXPECT_TRUE(std::isnan(net.fc1->weight.to_vector<float>()[0]));
                          EXPECT_EQ(net.fc1->weight.storage().bytes(), 4u);
                          fs.gather();
                          EXPECT_EQ(net.fc1->weight.to_vector<float>(), before);
                          // Evaluation outside of a batch: every rank calls it.
                          net.eval();
                          NoGrad guard;
                          const Tensor x = samples("mlp", 2)->get(0)[0].unsqueeze(0);
                          const std::vector<float> y = net(x).to_vector<float>();
                          EXPECT_EQ(fs(x).to_vector<float>(), y);
                        }),
              Each(IsEmpty()));
}

// Whatever has written the segments, the net gets them: averaged weights that are put in, say.
TEST(FullyShard, GathersWhatTheSegmentsAre) {
  for (int stage : {1, 2, 3}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Group w) {
                            Mlp net;
                            FullyShard fs(net, w, {.shards = 4, .stage = stage});
                            net.eval();
                            NoGrad guard;
                            auto write = [&](double value) {
                              for (const Tensor& s : fs.segments()) s.detach().fill_(value);
                            };
                            auto first = [&] { return net.fc1->weight.to_vector<float>()[0]; };
                            for (double value : {2.0, 3.0}) {
                              write(value);
                              fs.gather();
                              EXPECT_EQ(first(), value) << "stage " << stage;
                            }
                            write(4);
                            fs(ones({1, 12}));
                            EXPECT_EQ(first(), 4) << "stage " << stage;
                          }),
                Each(IsEmpty()));
  }
}

// The state of a net of which everything is `value`.
nn::NamedTensors constant_state(const nn::Module& net, double value) {
  nn::NamedTensors state;
  for (const auto& [name, t] : net.state_dict())
    state.emplace_back(name, full(t.raw_shape(), value, DType::kF32));
  return state;
}

// What the program loads into the net, is what is trained.
TEST(FullyShard, TakesOverWhatIsLoadedIntoTheNet) {
  for (int stage : {1, 2, 3}) {
    EXPECT_THAT(
        run_ranks(3,
                  [&](Group w) {
                    Mlp net;
                    const nn::NamedTensors loaded = constant_state(net, 2);
                    FullyShard fs(net, w, {.shards = 4, .stage = stage, .bucket_bytes = 512});
                    optim::SGD sgd(fs.segments(), {.lr = 0.1});
                    const auto batch =
                        samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
                    auto step = [&] {
                      fs.step(batch, [&](Part& p) { return cross_entropy(fs(p.x), p.y); });
                      sgd.step();
                      sgd.zero_grad();
                    };
                    auto all_are = [&](double value) {
                      for (const auto& [name, t] : fs.state_dict()) {
                        for (float x : t.to_vector<float>()) ASSERT_EQ(x, value) << name;
                      }
                    };
                    step();
                    fs.gather();
                    net.load_state_dict(loaded);
                    all_are(2);
                    fs.gather();
                    for (const auto& [name, t] : net.state_dict())
                      EXPECT_EQ(t.to_vector<float>()[0], 2) << name;
                    // A part of it, before a step that changes nothing.
                    {
                      NoGrad guard;
                      net.fc2->weight.fill_(3);
                    }
                    sgd.set_lr(0, 0);
                    step();
                    for (const auto& [name, t] : fs.state_dict()) {
                      const float expected = name == "fc2.weight" ? 3 : 2;
                      for (float x : t.to_vector<float>()) ASSERT_EQ(x, expected) << name;
                    }
                    // Before a checkpoint.
                    fs.gather();
                    net.load_state_dict(constant_state(net, 5));
                    const std::string folder =
                        test::temp_folder() + "taken" + std::to_string(stage);
                    fs.save(folder, sgd);
                    net.load_state_dict(constant_state(net, 6));  // the checkpoint replaces it
                    fs.load(folder, sgd);
                    all_are(5);
                  }),
        Each(IsEmpty()))
        << "stage " << stage;
  }
}

// A state that only some ranks load, or another one on each of them, is an error that says so.
TEST(FullyShard, RefusesAStateThatIsNotOnEveryRank) {
  EngineOptions soon = quick_faults();  // in stage 3 the others call something in another group
  soon.timeout_s = 1;
  for (int stage : {1, 2, 3}) {
    const auto run = [&](const std::function<void(nn::Module&, int)>& load) {
      return run_ranks(
          3,
          [&](Group w) {
            Mlp net;
            FullyShard fs(net, w, {.shards = 4, .stage = stage, .bucket_bytes = 512});
            fs.gather();
            load(net, w.rank());
            fs.gather();
            w.barrier();
          },
          soon);
    };
    EXPECT_THAT(run([](nn::Module& net, int rank) {
                  if (rank == 1) net.load_state_dict(constant_state(net, 2));
                }),
                Each(AllOf(HasSubstr("a state that was loaded into the net"), HasSubstr("rank 1"))))
        << "stage " << stage;
    EXPECT_THAT(run([](nn::Module& net, int rank) {
                  net.load_state_dict(constant_state(net, rank == 2 ? 3 : 2));
                }),
                Each(HasSubstr("what was loaded into the net is not the same on rank 0 and on rank "
                               "2: load one state on every rank")))
        << "stage " << stage;
    EXPECT_THAT(run([](nn::Module& net, int) { net.load_state_dict(constant_state(net, 2)); }),
                Each(IsEmpty()));
  }
}

// Where two have written, or digits would be lost, it is an error, once.
TEST(FullyShard, RefusesALoadedStateThatItCannotTakeOver) {
  auto run = [](const FullyShardOptions& options, bool steps, bool gathers) {
    return run_ranks(2, [&](Group w) {
      Mlp net;
      FullyShard fs(net, w, options);
      if (gathers) fs.gather();
      if (steps) {
        NoGrad guard;  // as an optimizer
        for (const Tensor& s : fs.segments()) s.detach().fill_(4);
      }
      net.load_state_dict(constant_state(net, 0.3));
      const std::string text = test::error_of([&] { fs.gather(); });
      fs.gather();
      const float first = net.fc1->weight.to(DType::kF32).to_vector<float>()[0];
      if (steps) {
        EXPECT_EQ(first, 4);
      }
      throw Error(text);
    });
  };
  for (int stage : {1, 2, 3}) {
    EXPECT_THAT(run({.shards = 4, .stage = stage}, true, true),
                Each(AllOf(HasSubstr("[fully_shard] 'fc"),
                           HasSubstr("a step that the net does not have yet: call gather()"))));
  }
  for (int stage : {2, 3}) {
    EXPECT_THAT(run({.shards = 4, .stage = stage, .compute = DType::kBF16}, false, true),
                Each(HasSubstr("of the net was written in bfloat16, and what is trained is "
                               "float32: load the state before FullyShard is made")));
  }
  EXPECT_THAT(run({.shards = 4, .stage = 3}, false, false), Each(::testing::Not(IsEmpty())));
}

// A rank may have no element of a bucket.
TEST(FullyShard, FewerElementsThanRanks) {
  struct Few : nn::Module {
    nn::Child<nn::Linear> a{this, "a", 12, 3};
    nn::Child<nn::PReLU> prelu{this, "prelu"};
    nn::Child<nn::Linear> b{this, "b", 3, 5};
    Tensor scale = register_parameter("scale", ones({2}, DType::kF64));
    Tensor forward(const Arg& x) override { return b(prelu(a(x)) * scale.sum().to(DType::kF32)); }
  };
  std::map<std::string, std::string> digests;
  auto run = [&](int ranks, int stage, const std::string& folder, bool resumes) {
    EXPECT_THAT(
        run_ranks(
            ranks,
            [&](Group w) {
              Few net;
              std::unique_ptr<DataParallel> parallel;
              FullyShard* fs = nullptr;
              if (stage == 0) {
                parallel = std::make_unique<DataParallel>(net, w, DataParallelOptions{.shards = 4});
              } else {
                auto made = std::make_unique<FullyShard>(
                    net, w, FullyShardOptions{.shards = 4, .stage = stage});
                fs = made.get();
                parallel = std::move(made);
              }
              optim::Adam adam(fs != nullptr ? fs->segments() : net.parameters(), {.lr = 0.01});
              const auto batch =
                  samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
              for (int step = 0; step < 4; ++step) {
                if (resumes && step == 2) parallel->load(folder, adam);
                if (resumes && step < 2) continue;
                parallel->step(batch, [&](Part& p) {
                  return cross_entropy((*parallel)(p.x.flatten(1)), p.y);
                });
                parallel->clip_grad_norm(0.5);
                adam.step();
                adam.zero_grad();
                if (step == 1 && !folder.empty()) parallel->save(folder, adam);
              }
              if (fs != nullptr) fs->gather();
              const std::string digest = state_sha256(net.state_dict());
              if (w.rank() == 0) {
                digests[std::to_string(stage) + " on " + std::to_string(ranks) +
                        (resumes ? " resumed" : "")] = digest;
              }
            }),
        Each(IsEmpty()))
        << "stage " << stage << ", ranks " << ranks;
  };
  run(1, 0, "", false);
  for (int stage : {1, 2, 3}) {
    const std::string folder = test::temp_folder() + "few" + std::to_string(stage);
    run(4, stage, folder, false);
    run(3, stage, "", false);
    run(2, stage, folder, true);
    run(4, stage, folder, true);
  }
  for (const auto& [name, digest] : digests) EXPECT_EQ(digest, digests["0 on 1"]) << name;
}

TEST(FullyShard, StageThreeSaysThatItIsGone) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          Mlp net;
                          Tensor y;
                          {
                            FullyShard fs(net, w, {.shards = 4, .stage = 3});
                            y = fs(ones({2, 12}));
                          }
                          y.sum().backward();
                        }),
              Each(HasSubstr("backward of what a net gave whose FullyShard is gone")));
}

// Trains an MLP by FullyShard and returns the weights of the segments.
std::string train_by(Group w, const FullyShardOptions& options, double max_norm = 0,
                     std::vector<double>* norms = nullptr) {
  Mlp net;
  FullyShard fs(net, w, options);
  optim::Adam adam(fs.segments(), {.lr = 0.01});
  Loader loader(samples("mlp", 44), w, {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
  for (Batch& batch : loader) {
    fs.step(batch, [&](Part& p) {
      const Tensor x = options.compute == DType::kNone ? p.x : p.x.to(options.compute);
      return cross_entropy(fs(x).to(DType::kF32), p.y.flatten());
    });
    if (max_norm > 0) norms->push_back(fs.clip_grad_norm(max_norm));
    adam.step();
    adam.zero_grad();
  }
  const nn::NamedTensors state = fs.state_dict();
  for (const auto& [name, t] : state) EXPECT_EQ(t.dtype(), DType::kF32) << name;
  fs.gather();
  return state_sha256(state);
}

TEST(FullyShard, BFloat16ComputesAndFloat32Keeps) {
  std::string one;
  for (int stage : {2, 3}) {
    for (int ranks : {1, 2, 3, 4}) {
      EXPECT_THAT(run_ranks(ranks,
                            [&](Group w) {
                              const std::string digest = train_by(
                                  w, {.shards = 8, .stage = stage, .compute = DType::kBF16});
                              if (w.rank() == 0 && one.empty()) one = digest;
                              w.barrier();
                              EXPECT_EQ(digest, one) << "stage " << stage << ", ranks " << ranks;
                            }),
                  Each(IsEmpty()));
    }
  }
  EXPECT_THAT(run_ranks(1, [&](Group w) { EXPECT_NE(train_by(w, {.shards = 8}), one); }),
              Each(IsEmpty()));
  // Gathers have half the bytes; sums of gradients are float32.
  for (DType compute : {DType::kNone, DType::kBF16}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Group w) {
                            nn::Linear net(64, 64, false);
                            FullyShard fs(net, w, {.shards = 2, .compute = compute});
                            optim::SGD sgd(fs.segments(), {.lr = 0.1});
                            const bool low = compute != DType::kNone;
                            const Tensor x = ones({4, 64}, low ? compute : DType::kF32);
                            auto step = [&] {
                              fs.step(data::Batch{x},
                                      [&](Part& p) { return mean(square(fs(p.x))); });
                              sgd.step();
                              sgd.zero_grad();
                            };
                            step();
                            const int64_t before = w.traffic().payload_bytes;
                            step();
                            constexpr int64_t kHalf = 64 * 64 * 4 / 2;
                            EXPECT_EQ(w.traffic().payload_bytes - before,
                                      kHalf / (low ? 2 : 1) + kHalf + 8);
                          }),
                Each(IsEmpty()));
  }
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          Mlp net;
                          FullyShard fs(net, w, {.stage = 1, .compute = DType::kBF16});
                        }),
              Each(HasSubstr("compute = bfloat16 in stage 1: takes bfloat16 and float16, in")));
}

TEST(FullyShard, PrefetchesTheNextLayer) {
  for (bool prefetch : {false, true}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Group w) {
                            train_by(w, {.shards = 8, .stage = 3, .prefetch = prefetch});
                            // In the last backward the first layer's parameters are asked for
                            // before the gradients of the second one are there.
                            const std::string calls = w.flight_recorder();
                            const size_t sums = calls.rfind("gradients of fc2");
                            ASSERT_NE(sums, std::string::npos);
                            const size_t second = calls.rfind("'parameters of fc2'", sums);
                            const size_t first = calls.find("'parameters of fc1'", second);
                            EXPECT_EQ(first < sums, prefetch);
                          }),
                Each(IsEmpty()));
  }
}

TEST(FullyShard, ClipsByTheNormOfAllSegments) {
  std::vector<double> expected;
  std::string digest;
  for (int stage : {2, 1, 3}) {
    for (int ranks : {1, 2, 3}) {
      EXPECT_THAT(run_ranks(ranks,
                            [&](Group w) {
                              std::vector<double> norms;
                              const std::string mine =
                                  train_by(w, {.shards = 8, .stage = stage}, 0.5, &norms);
                              if (w.rank() == 0 && digest.empty()) digest = mine, expected = norms;
                              w.barrier();
                              EXPECT_EQ(norms, expected) << stage << " " << ranks;
                              EXPECT_EQ(mine, digest) << stage << " " << ranks;
                            }),
                  Each(IsEmpty()));
    }
  }
  // DataParallel's is the same sum, rounded once; nn's has an order.
  EXPECT_THAT(
      run_ranks(2,
                [&](Group w) {
                  Mlp net;
                  DataParallel ddp(net, w, {.shards = 8});
                  Loader loader(samples("mlp", 44), w,
                                {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
                  Batch batch;
                  ASSERT_TRUE(loader.next(batch));
                  ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y.flatten()); });
                  const double ordered = nn::clip_grad_norm_(net.parameters(), 1e9);
                  EXPECT_EQ(ddp.clip_grad_norm(1e9), expected[0]);
                  EXPECT_NEAR(ordered, expected[0], 1e-14 * ordered);
                  const double inf = std::numeric_limits<double>::infinity();
                  EXPECT_EQ(ddp.clip_grad_norm(1e9, inf),
                            nn::clip_grad_norm_(net.parameters(), 1e9, inf));
                  ddp.clip_grad_norm(1, 3);
                }),
      Each(HasSubstr("takes max_norm >= 0 and norm_type 1, 2 or infinity")));
}

TEST(ExactSum, IsRoundedOnce) {
  auto sum = [](const std::vector<double>& terms) {
    ExactSum s;
    for (double x : terms) s.add(x);
    return s.value();
  };
  EXPECT_EQ(sum({}), 0);
  EXPECT_EQ(sum({1e300, 1, 1e-300}), 1e300);
  EXPECT_EQ(sum({0.1, 0.2}), 0.1 + 0.2);
  EXPECT_EQ(sum(std::vector<double>(1000, 0x1p-60)), 1000 * 0x1p-60);
  EXPECT_EQ(sum({1, 0x1p-53}), 1);  // half an ulp: to even
  EXPECT_EQ(sum({1, 0x1p-53, 0x1p-1074}), 1 + 0x1p-52);
  EXPECT_EQ(sum({1 + 0x1p-52, 0x1p-53}), 1 + 0x1p-51);
  EXPECT_EQ(sum({0x1p-1074, 0x1p-1074}), 0x1p-1073);
  EXPECT_EQ(sum({0x1.fffffffffffffp1023}), 0x1.fffffffffffffp1023);
  EXPECT_TRUE(std::isnan(sum({1, NAN})));
  EXPECT_TRUE(std::isinf(sum({1, HUGE_VAL})));
  ExactSum squares, left, right;
  Generator g{3, 0};
  const std::vector<double> x = randn({500}, DType::kF64, g).to_vector<double>();
  long double wide = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares.add_square(x[i]);
    (i % 3 == 0 ? left : right).add_square(x[x.size() - 1 - i]);
    wide += static_cast<long double>(x[i]) * x[i];
  }
  EXPECT_NEAR(squares.value(), static_cast<double>(wide), 1e-15 * static_cast<double>(wide));
  auto words = left.state();
  for (size_t i = 0; i < words.size(); ++i) words[i] += right.state()[i];
  EXPECT_EQ(ExactSum::from_state(words).value(), squares.value());
}

TEST(ShardedCheckpoint, GoesOnOnAnyNumberOfRanks) {
  for (const char* net : {"mlp", "norm"}) {
    const std::string folder = test::temp_folder() + "checkpoint_" + net;
    const Trained whole = results_of(4, [&](Group w) { return train_sharded(w, net, 2, folder); });
    EXPECT_FALSE(std::filesystem::exists(folder + ".new"));
    EXPECT_FALSE(std::filesystem::exists(folder + ".old"));
    for (int ranks : {1, 2, 3, 8}) {
      const Trained t = results_of(
          ranks, [&](Group w) { return train_sharded(w, net, ranks % 2 + 1, folder, true); });
      EXPECT_EQ(t.digest, whole.digest) << net << " on " << ranks;
    }
  }
}

TEST(ShardedCheckpoint, OfStageThree) {
  const std::string folder = test::temp_folder() + "checkpoint_3";
  const Trained whole = results_of(3, [&](Group w) { return train_sharded(w, "norm", 3, folder); });
  for (int ranks : {1, 2, 4}) {
    const Trained t =
        results_of(ranks, [&](Group w) { return train_sharded(w, "norm", 3, folder, true); });
    EXPECT_EQ(t.digest, whole.digest) << ranks;
  }
}

TEST(ShardedCheckpoint, RefusesWhatDoesNotFit) {
  const std::string folder = test::temp_folder() + "refused";
  results_of(2, [&](Group w) { return train_sharded(w, "mlp", 2, folder); });
  auto load = [&](const std::string& net) {
    return run_ranks(2, [&](Group w) { train_sharded(w, net, 2, folder, true); });
  };
  EXPECT_THAT(load("lenet"), Each(HasSubstr("it is of another net")));
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          Mlp net;
                          FullyShard fs(net, w, {.shards = 8, .bucket_bytes = 1 << 10});
                          optim::Adam adam(fs.segments());
                          fs.load(folder, adam);
                        }),
              Each(HasSubstr("its optimizer is 'sgd', not 'adam'")));
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          Mlp net;
                          FullyShard fs(net, w, {.shards = 4, .bucket_bytes = 1 << 10});
                          optim::SGD sgd(fs.segments());
                          fs.load(folder, sgd);
                        }),
              Each(HasSubstr("trained with shards = 8, this run has 4")));

  const std::string path = folder + "/shard-1-of-2.safetensors";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }
  EXPECT_THAT(load("mlp"), Each(AllOf(HasSubstr("shard-1-of-2"), HasSubstr("SHA-256"))));
  std::filesystem::remove(path);
  EXPECT_THAT(load("mlp"), Each(HasSubstr("shard-1-of-2")));
  EXPECT_THAT(run_ranks(1, [&](Group w) { train_sharded(w, "mlp", 4); }),
              Each(HasSubstr("stage 4: there are 1, 2 and 3")));
}

// Writes a file of a checkpoint anew, with the SHA-256 of what it then has, as a stranger may.
void change_file(const std::string& path, const std::function<void(Safetensors*)>& change) {
  Safetensors file = load_safetensors(path);
  change(&file);
  file.metadata["wick.sha256"] = state_sha256(file.tensors);
  file.metadata.erase("wick.save");
  save_safetensors(path, file.tensors, file.metadata);
}

TEST(ShardedCheckpoint, TrustsNoNameAndNoDtypeOfAFile) {
  const std::string folder = test::temp_folder() + "strange",
                    path = folder + "/shard-1-of-2.safetensors";
  const std::string first = folder + "/shard-0-of-2.safetensors";
  auto load_of = [&](const std::string& file, const std::function<void(Safetensors*)>& change) {
    results_of(2, [&](Group w) { return train_sharded(w, "mlp", 2, folder); });
    change_file(
        first, file == first ? change : [](Safetensors*) {});
    change_file(
        path, file == path ? change : [](Safetensors*) {});
    return run_ranks(2, [&](Group w) { train_sharded(w, "mlp", 2, folder, true); });
  };
  EXPECT_THAT(load_of(path, [](Safetensors*) {}), Each(IsEmpty()));
  for (const char* name : {"segment.77", "segment.-1", "segment.", "segment.00"}) {
    EXPECT_THAT(load_of(first,
                        [&](Safetensors* file) {
                          file->tensors.emplace_back(name, file->tensors[0].second);
                        }),
                Each(HasSubstr(std::string("it has a float32 '") + name + "'")));
  }
  auto wider = [](const std::string& start) {
    return [start](Safetensors* file) {
      for (auto& [name, t] : file->tensors) {
        if (name.rfind(start, 0) == 0) t = t.to(DType::kF64);
      }
    };
  };
  EXPECT_THAT(load_of(path, wider("segment.")), Each(HasSubstr("it has a float64 'segment.0'")));
  EXPECT_THAT(load_of(path, wider("optimizer.state.")),
              Each(HasSubstr("is float64, that of the files before it float32")));
}

// Each of these files is whole, but they are not those of one save.
TEST(ShardedCheckpoint, RefusesFilesOfSeveralSaves) {
  const std::string folder = test::temp_folder() + "mixed", other = test::temp_folder() + "other";
  const std::string zero = "/shard-0-of-2.safetensors", one = "/shard-1-of-2.safetensors";
  auto save = [](const std::string& to, int ranks, double value) {
    EXPECT_THAT(run_ranks(ranks,
                          [&](Group w) {
                            nn::Linear net(8, 8);
                            NoGrad guard;
                            net.weight.detach().fill_(value);
                            FullyShard fs(net, w, {.shards = 4});
                            optim::SGD sgd(fs.segments());
                            fs.save(to, sgd);
                          }),
                Each(IsEmpty()));
  };
  auto load = [&] {
    return run_ranks(1, [&](Group w) {
      nn::Linear net(8, 8);
      FullyShard fs(net, w, {.shards = 4});
      optim::SGD sgd(fs.segments());
      fs.load(folder, sgd);
    });
  };
  const auto refused = Each(HasSubstr("its files are not those of one save"));
  const auto replace = std::filesystem::copy_options::overwrite_existing;
  save(folder, 2, 1);
  EXPECT_THAT(load(), Each(IsEmpty()));
  save(other, 2, 2);
  std::filesystem::copy_file(other + one, folder + one, replace);
  EXPECT_THAT(load(), refused);
  save(folder, 2, 1);
  std::filesystem::rename(folder + one, folder + "/kept");
  std::filesystem::rename(folder + zero, folder + one);
  std::filesystem::rename(folder + "/kept", folder + zero);
  EXPECT_THAT(load(), refused);
  save(folder, 2, 1);
  std::filesystem::copy_file(folder + zero, folder + one, replace);
  EXPECT_THAT(load(), refused);
  // A newer checkpoint that was copied over one of another number of ranks.
  save(folder, 2, 1);
  save(other, 3, 2);
  std::filesystem::copy(other, folder);
  EXPECT_TRUE(has_checkpoint(folder));
  EXPECT_THAT(load(), Each(HasSubstr("shard-0-of-2.safetensors and shard-0-of-3.safetensors: "
                                     "take one away")));
}

// A layer that is not trained is a part of the net all the same.
TEST(ShardedCheckpoint, KeepsWhatIsFrozen) {
  for (int stage : {1, 2, 3}) {
    const std::string folder = test::temp_folder() + "frozen" + std::to_string(stage);
    std::vector<float> saved;
    auto run = [&](int ranks, const std::function<void(FullyShard&, Mlp&, optim::SGD&)>& f) {
      return run_ranks(ranks, [&](Group w) {
        Mlp net;
        for (const Tensor& p : net.fc1->parameters()) p.requires_grad_(false);
        FullyShard fs(net, w, {.shards = 4, .stage = stage});
        optim::SGD sgd(fs.segments());
        f(fs, net, sgd);
        if (w.rank() == 0) saved = net.fc1->weight.to_vector<float>();
      });
    };
    EXPECT_THAT(run(2, [&](FullyShard& fs, Mlp&, optim::SGD& sgd) { fs.save(folder, sgd); }),
                Each(IsEmpty()));
    const std::vector<float> before = saved;
    EXPECT_THAT(run(3,
                    [&](FullyShard& fs, Mlp& net, optim::SGD& sgd) {
                      {
                        NoGrad guard;
                        net.fc1->weight.fill_(3);
                      }
                      fs.load(folder, sgd);
                    }),
                Each(IsEmpty()));
    EXPECT_EQ(saved, before) << "stage " << stage;
  }
}

// A save replaces a folder: it must be one of its own.
TEST(ShardedCheckpoint, RemovesNothingButShards) {
  auto save = [](const std::string& folder) {
    return run_ranks(2, [&](Group w) {
      Mlp net;
      DataParallel ddp(net, w, {.shards = 4});
      optim::SGD sgd(net.parameters());
      ddp.save(folder, sgd);
    });
  };
  for (const char* suffix : {"", ".old", ".new"}) {
    const std::string folder = test::temp_folder() + "own" + suffix + "_", place = folder + suffix;
    std::filesystem::create_directories(place);
    std::ofstream(place + "/notes.txt") << "mine";
    EXPECT_THAT(save(folder), Each(AllOf(HasSubstr(place + " has 'notes.txt'"),
                                         HasSubstr("give it a folder of its own"))));
    EXPECT_EQ(std::filesystem::file_size(place + "/notes.txt"), 4u);
  }
  const std::string file = test::temp_folder() + "model.bin";
  std::ofstream(file) << "weights";
  EXPECT_THAT(save(file), Each(HasSubstr("model.bin is not a folder")));
  EXPECT_EQ(std::filesystem::file_size(file), 7u);
  EXPECT_THAT(save("."), Each(HasSubstr("'.' is no name of a folder that can be replaced")));
}

TEST(ShardedCheckpoint, ASlashBehindTheNameIsTheSameFolder) {
  const std::string folder = test::temp_folder() + "slash";
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::SGD sgd(net.parameters());
                          for (const char* step : {"1", "2"})
                            ddp.save(folder + "/", sgd, {{"step", step}});
                          EXPECT_TRUE(has_checkpoint(folder + "//"));
                          EXPECT_EQ(ddp.load(folder + "/", sgd).at("step"), "2");
                          EXPECT_EQ(ddp.load(folder, sgd).at("step"), "2");
                        }),
              Each(IsEmpty()));
  EXPECT_FALSE(std::filesystem::exists(folder + ".new"));
  EXPECT_FALSE(std::filesystem::exists(folder + ".old"));

  const std::string link = test::temp_folder() + "link";
  std::filesystem::create_directory_symlink(folder, link);
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::SGD sgd(net.parameters());
                          ddp.save(link, sgd, {{"step", "3"}});
                          EXPECT_EQ(ddp.load(folder, sgd).at("step"), "3");
                        }),
              Each(IsEmpty()));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

// A kill between the renames of a save, after which somebody made the folder again.
TEST(ShardedCheckpoint, AnEmptyFolderDoesNotHideTheOldOne) {
  const std::string folder = test::temp_folder() + "hidden";
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::SGD sgd(net.parameters());
                          ddp.save(folder, sgd, {{"step", "1"}});
                          std::filesystem::rename(folder, folder + ".old");
                          std::filesystem::create_directories(folder);
                          std::filesystem::create_directories(folder + ".new");
                          std::ofstream(folder + ".new/shard-0-of-1.safetensors") << "half";
                          EXPECT_EQ(ddp.load(folder, sgd).at("step"), "1");
                          ddp.save(folder, sgd, {{"step", "2"}});
                          EXPECT_EQ(ddp.load(folder, sgd).at("step"), "2");
                          EXPECT_FALSE(std::filesystem::exists(folder + ".old"));
                        }),
              Each(IsEmpty()));
}

TEST(ShardedCheckpoint, TheShaIsOfTheNotesToo) {
  const std::string folder = test::temp_folder() + "notes";
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::SGD sgd(net.parameters());
                          ddp.save(folder, sgd, {{"step", "71"}});
                          const std::string path = folder + "/shard-0-of-1.safetensors";
                          std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
                          std::string head(4096, ' ');
                          file.read(head.data(), 4096);
                          file.clear();  // the file is shorter
                          const size_t at = head.find("\"71\"");
                          ASSERT_NE(at, std::string::npos);
                          file.seekp(static_cast<std::streamoff>(at + 1));
                          file.put('9');
                          file.close();
                          ddp.load(folder, sgd);
                        }),
              Each(HasSubstr("SHA-256")));
}

TEST(ShardedCheckpoint, AFailedSaveIsToldAndTheNextOneMaySucceed) {
  const std::string folder = test::temp_folder() + "told";
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::SGD sgd(net.parameters());
                          Saving saving = ddp.save_async("/proc/wick/nowhere", sgd);
                          for (int i = 0; i < 2; ++i) {
                            EXPECT_THAT(test::error_of([&] { saving.wait(); }),
                                        HasSubstr("/proc/wick/nowhere.new"));
                          }
                          ddp.save_async("/proc/wick/nowhere", sgd);
                          EXPECT_THAT(test::error_of([&] { ddp.save(folder, sgd); }),
                                      HasSubstr("/proc/wick/nowhere.new"));
                          ddp.save(folder, sgd);
                          EXPECT_TRUE(has_checkpoint(folder));
                        }),
              Each(IsEmpty()));
  ::testing::internal::CaptureStderr();
  run_ranks(1, [](Group w) {
    Mlp net;
    DataParallel ddp(net, w, {.shards = 4});
    optim::SGD sgd(net.parameters());
    ddp.save_async("/proc/wick/nowhere", sgd);
  });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("/proc/wick/nowhere.new"));
}

TEST(ShardedCheckpoint, AFailedSaveLeavesTheOneBefore) {
  const std::string folder = test::temp_folder() + "kept";
  const Trained whole = results_of(2, [&](Group w) { return train_sharded(w, "mlp", 2, folder); });
  const Reports r = run_ranks(2, [&](Group w) {
    Mlp net;
    FullyShard fs(net, w, {.shards = 8, .bucket_bytes = 1 << 10});
    optim::SGD sgd(fs.segments());
    fs.save("/proc/wick/nowhere", sgd);
  });
  EXPECT_THAT(r, Each(HasSubstr("/proc/wick/nowhere.new")));
  const Trained again =
      results_of(2, [&](Group w) { return train_sharded(w, "mlp", 2, folder, true); });
  EXPECT_EQ(again.digest, whole.digest);
}

}  // namespace
}  // namespace wick::distributed
