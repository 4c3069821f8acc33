// DataParallel on ranks that are threads: the same bits for any number of them, and what it
// refuses.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WICK_TEST_COUNTS_THREADS
namespace {
std::atomic<int> g_threads_left = -1;  // so many may be started yet; < 0: any number
}  // namespace

// In the place of the C library's, for std::thread. A sanitizer has one of its own here.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (g_threads_left == 0) return EAGAIN;
  if (g_threads_left > 0) --g_threads_left;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, run, argument);
}
#endif

namespace wick::distributed {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// All ranks' results, which must be one.
Trained train_on(int ranks, const std::string& net, bool by_step,
                 const DataParallelOptions& options = {}, int shards = 8) {
  std::vector<Trained> results(static_cast<size_t>(ranks));
  EXPECT_THAT(run_ranks(ranks,
                        [&](Group w) {
                          results[static_cast<size_t>(w.rank())] =
                              train(w, net, shards, by_step, options);
                        }),
              Each(IsEmpty()));
  for (const Trained& r : results) {
    EXPECT_EQ(r.digest, results[0].digest);
    EXPECT_EQ(r.loss, results[0].loss);
  }
  return results[0];
}

TEST(DataParallel, AnyNumberOfRanksGivesTheSameWeights) {
  for (const char* net : {"mlp", "lenet", "norm", "gpt"}) {
    const bool norm = strcmp(net, "norm") == 0;
    const Trained one = train_on(1, net, norm);
    for (int ranks : {2, 3, 4, 8}) {
      const Trained several = train_on(ranks, net, norm || ranks == 2);
      EXPECT_EQ(several.digest, one.digest) << net << " on " << ranks;
      EXPECT_EQ(several.loss, one.loss) << net << " on " << ranks;
    }
  }
}

TEST(DataParallel, OneShardIsTrainingWithoutIt) {
  Generator own{7, 0};
  std::string plain;
  {
    GeneratorScope scope(own);
    std::unique_ptr<nn::Module> net = make_net("mlp");
    optim::SGD sgd(net->parameters(), {.lr = 0.05, .momentum = 0.9});
    data::DataLoader loader(samples("mlp", 44), {.batch_size = 16, .shuffle = true, .seed = 3});
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (data::Batch& b : loader) {
        cross_entropy((*net)(b[0]), b[1]).backward();
        sgd.step();
        sgd.zero_grad();
      }
    }
    plain = state_sha256(net->state_dict());
  }
  EXPECT_EQ(train_on(1, "mlp", false, {}, 1).digest, plain);
}

TEST(DataParallel, ShardsAreAPartOfTheRecipe) {
  EXPECT_NE(train_on(2, "mlp", false, {}, 4).digest, train_on(2, "mlp", false, {}, 8).digest);
}

// The gradient of a batch is that of one backward over all of it, to rounding.
TEST(DataParallel, PartsAddUpToTheBatch) {
  const Reports r = run_ranks(3, [](Group w) {
    LeNet net;
    DataParallel ddp(net, w, {.shards = 8});
    const auto set = samples("lenet", 19);
    const data::Batch batch =
        set->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    const double loss = ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
    std::vector<Tensor> sharded;
    for (const Tensor& p : net.parameters()) sharded.push_back(p.grad().clone());
    net.zero_grad();
    const Tensor whole = cross_entropy(net(batch[0]), batch[1]);
    whole.backward();
    EXPECT_NEAR(loss, whole.item(), 1e-6);
    size_t i = 0;
    for (const Tensor& p : net.parameters()) {
      const auto a = sharded[i++].to_vector<float>(), b = p.grad().to_vector<float>();
      for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-5);
    }
  });
  EXPECT_THAT(r, Each(IsEmpty()));
}

TEST(DataParallel, AccumulatesOverBatchesTheSameForAnyNumberOfRanks) {
  std::string expected;
  for (int ranks : {1, 2, 3}) {
    EXPECT_THAT(run_ranks(ranks,
                          [&](Group w) {
                            Mlp net;
                            DataParallel ddp(net, w, {.shards = 4, .bucket_bytes = 512});
                            const auto set = samples("mlp", 20);
                            const int64_t sent = w.traffic().payload_bytes;
                            auto pass = [&](std::vector<int64_t> items) {
                              ddp.step(set->get_batch(items),
                                       [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
                            };
                            {
                              const auto guard = ddp.no_sync();
                              pass({0, 1, 2, 3, 4, 5, 6});
                              EXPECT_FALSE(net.parameters()[0].grad().defined());
                              EXPECT_EQ(w.traffic().payload_bytes, sent);
                            }
                            pass({7, 8, 9});  // the last part has no sample
                            nn::NamedTensors grads;
                            for (const auto& [name, p] : net.named_parameters())
                              grads.emplace_back(name, p.grad());
                            const std::string digest = state_sha256(grads);
                            if (w.rank() == 0 && expected.empty()) expected = digest;
                            if (w.rank() == 0) {
                              EXPECT_EQ(digest, expected) << w.size();
                            }
                          }),
                Each(IsEmpty()));
  }
}

struct Unused : nn::Module {
  nn::Child<nn::Linear> used{this, "used", 12, 5};
  nn::Child<nn::Linear> idle{this, "idle", 12, 5};
  Tensor forward(const Arg& x) override { return used(x); }
};

TEST(DataParallel, NamesUnusedParameters) {
  auto step = [](Group w, bool find) {
    Unused net;
    DataParallel ddp(net, w, {.shards = 4, .find_unused = find});
    const auto set = samples("mlp", 8);
    ddp.step(set->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}),
             [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
    EXPECT_TRUE(net.used->weight.grad().defined());
    EXPECT_FALSE(net.idle->weight.grad().defined());
  };
  for (int n : {1, 2}) {
    EXPECT_THAT(run_ranks(n, [&](Group w) { step(w, false); }),
                Each(AllOf(HasSubstr("[data_parallel] no gradient for "),
                           HasSubstr("'idle.weight'"), HasSubstr("find_unused"))));
  }
  EXPECT_THAT(run_ranks(2, [&](Group w) { step(w, true); }), Each(IsEmpty()));
}

TEST(DataParallel, RanksGetTheNetOfRankZero) {
  const Reports r = run_ranks(3, [](Group w) {
    for (int i = 0; i < w.rank(); ++i) rand({1});  // other initial weights on each rank
    Mlp net;
    DataParallel ddp(net, w, {.shards = 4});
    const Tensor all = w.all_gather(net.fc1->weight.detach().contiguous());
    for (int rank = 1; rank < 3; ++rank) {
      EXPECT_EQ(memcmp(all.select(0, rank).contiguous().data<float>(), all.data<float>(),
                       net.fc1->weight.nbytes()),
                0);
    }
    const std::vector<float> draws = w.all_gather(rand({1})).to_vector<float>();
    EXPECT_EQ(draws, std::vector<float>(3, draws[0]));  // and its random numbers
  });
  EXPECT_THAT(r, Each(IsEmpty()));
}

TEST(DataParallel, RefusesNetsThatDiffer) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Linear net(4, w.rank() == 0 ? 3 : 2);
                          DataParallel ddp(net, w, {.shards = 4});
                        }),
              Each(AllOf(HasSubstr("the nets of the ranks are not the same: rank 1 and rank 0"),
                         HasSubstr("weight float32"))));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Linear net(4, 3, w.rank() == 0);
                          DataParallel ddp(net, w, {.shards = 4});
                        }),
              Each(HasSubstr("rank 0 has 2, rank 1 has 1 parameters and buffers")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Linear net(4, 3);
                          DataParallel ddp(net, w, {.shards = w.rank() == 0 ? 4 : 8});
                        }),
              Each(HasSubstr("shards = ")));
}

TEST(DataParallel, RefusesWhatWouldDependOnTheRanks) {
  const Reports norm = run_ranks(1, [](Group w) {
    NormNet net;
    DataParallel ddp(net, w, {.shards = 4});
  });
  EXPECT_THAT(norm[0], AllOf(HasSubstr("'norm1' keeps running statistics"),
                             HasSubstr("convert_sync_batchnorm(net)")));
  EXPECT_THAT(run_ranks(3,
                        [](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 2});
                        }),
              Each(HasSubstr("shards = 2 for 3 ranks")));
  const Reports loop = run_ranks(1, [](Group w) {
    NormNet net;
    convert_sync_batchnorm(net);
    DataParallel ddp(net, w, {.shards = 4});
    const auto batch = samples("norm", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
    for (Part& p : ddp.parts(batch)) ddp.backward(cross_entropy(ddp(p.x), p.y), p);
  });
  EXPECT_THAT(loop[0], HasSubstr("use ddp.step("));
  const Reports few = run_ranks(1, [](Group w) {
    NormNet net;
    convert_sync_batchnorm(net);
    DataParallel ddp(net, w, {.shards = 8});
    const auto batch = samples("norm", 8)->get_batch(std::vector<int64_t>{0, 1, 2});
    ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
  });
  EXPECT_THAT(few[0], HasSubstr("SyncBatchNorm and stage 3 need a sample for each"));
}

TEST(DataParallel, RefusesALoopThatIsNotWhole) {
  const Reports r = run_ranks(1, [](Group w) {
    Mlp net;
    DataParallel ddp(net, w, {.shards = 2});
    const auto batch = samples("mlp", 4)->get_batch(std::vector<int64_t>{0, 1, 2, 3});
    for (Part& p : ddp.parts(batch)) {
      if (p.index == 0) ddp.backward(cross_entropy(ddp(p.x), p.y), p);
    }
    ddp.finish();
  });
  EXPECT_THAT(r[0], HasSubstr("part 1 had no backward before finish()"));
}

// K = 1: the plain layer's bits; K > 1: its values to rounding.
TEST(SyncBatchNorm, NormalizesByTheWholeBatch) {
  const auto batch =
      samples("norm", 12)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  Generator own{7, 0};
  GeneratorScope scope(own);
  NormNet plain;
  const Tensor loss = cross_entropy(plain(batch[0]), batch[1]);
  loss.backward();
  const Reports r = run_ranks(2, [&](Group w) {
    NormNet net;
    EXPECT_EQ(convert_sync_batchnorm(net), 2u);
    DataParallel ddp(net, w, {.shards = 4});
    const double mean = ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
    EXPECT_NEAR(mean, loss.item(), 1e-6);
    auto near = [](const Tensor& a, const Tensor& b, const std::string& name) {
      const auto x = a.to_vector<float>(), y = b.to_vector<float>();
      for (size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 2e-5) << name;
    };
    const nn::NamedTensors mine = net.named_parameters(), its = plain.named_parameters();
    for (size_t i = 0; i < mine.size(); ++i)
      near(mine[i].second.grad(), its[i].second.grad(), mine[i].first);
    near(net.norm1->running_mean, plain.norm1->running_mean, "running_mean");
    near(net.norm1->running_var, plain.norm1->running_var, "running_var");
    EXPECT_EQ(net.norm2->num_batches_tracked.item(), 1);
  });
  EXPECT_THAT(r, Each(IsEmpty()));
}

TEST(DataParallel, Bf16GradientsHalveTheBytes) {
  for (bool bf16 : {false, true}) {
    EXPECT_THAT(
        run_ranks(2,
                  [bf16](Group w) {
                    nn::Linear net(64, 64, false);
                    DataParallel ddp(net, w, {.shards = 2, .bf16_gradients = bf16});
                    const int64_t before = w.traffic().payload_bytes;
                    Generator g{3, 0};
                    const Tensor x = randn({8, 64}, DType::kF32, g);
                    ddp.step(data::Batch{x}, [&](Part& p) { return mean(square(ddp(p.x))); });
                    // Two ranks: the gradient once, and the loss.
                    EXPECT_EQ(w.traffic().payload_bytes - before, 64 * 64 * (bf16 ? 2 : 4) + 8);
                    const Tensor got = net.weight.grad().clone();
                    net.zero_grad();
                    mean(square(net(x))).backward();
                    const auto a = got.to_vector<float>(), b = net.weight.grad().to_vector<float>();
                    for (size_t i = 0; i < a.size(); ++i)
                      ASSERT_NEAR(a[i], b[i], bf16 ? std::abs(b[i]) * 0x1p-6 + 1e-4 : 1e-6);
                  }),
        Each(IsEmpty()));
  }
}

TEST(DataParallel, ALossThatIsNotFiniteEndsAllRanks) {
  auto step = [](Group w, bool check) {
    Mlp net;
    DataParallel ddp(net, w, {.shards = 4, .check_loss = check});
    data::Batch batch = samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
    if (w.rank() == 1) batch[0] = batch[0] * NAN;
    EXPECT_TRUE(std::isnan(ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); })));
  };
  EXPECT_THAT(run_ranks(2, [&](Group w) { step(w, true); }),
              Each(AllOf(HasSubstr("[data_parallel] the loss of part 2 is "), HasSubstr("nan"),
                         HasSubstr("rank 1: "))));
  EXPECT_THAT(run_ranks(2, [&](Group w) { step(w, false); }), Each(IsEmpty()));
}

TEST(DataParallel, GoesOnFromACheckpointOnAnyNumberOfRanks) {
  const std::string folder = test::temp_folder() + "ddp_checkpoint";
  const data::Batch batch = samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  std::string whole;
  auto train = [&](Group w, bool resume) {
    Mlp net;
    DataParallel ddp(net, w, {.shards = 4});
    optim::Adam adam(net.parameters(), {.lr = 0.01});
    auto step = [&] {
      ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
      adam.step();
      adam.zero_grad();
    };
    Saving saving;
    if (resume) {
      EXPECT_EQ(ddp.load(folder, adam), (Notes{{"step", "1"}}));
    } else {
      step();
      saving = ddp.save_async(folder, adam, {{"step", "1"}});  // what follows is not in it
    }
    step();
    saving.wait();
    const std::string digest = state_sha256(net.state_dict());
    if (resume) {
      EXPECT_EQ(digest, whole) << w.size();
    } else if (w.rank() == 0) {
      whole = digest;
    }
  };
  EXPECT_FALSE(has_checkpoint(folder));
  EXPECT_THAT(run_ranks(2, [&](Group w) { train(w, false); }), Each(IsEmpty()));
  EXPECT_TRUE(has_checkpoint(folder));
  for (int ranks : {1, 3}) {
    EXPECT_THAT(run_ranks(ranks, [&](Group w) { train(w, true); }), Each(IsEmpty()));
  }
  // A save that was interrupted between its two renames.
  std::filesystem::rename(folder, folder + ".old");
  EXPECT_THAT(run_ranks(2, [&](Group w) { train(w, true); }), Each(IsEmpty()));
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          LeNet net;
                          DataParallel ddp(net, w, {.shards = 4});
                          optim::Adam adam(net.parameters());
                          ddp.load(folder, adam);
                        }),
              Each(HasSubstr("it is of another net: it lacks 'parameter.conv1.weight'")));
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          nn::Sequential net(nn::Linear(3, 2));
                          optim::Adam adam(net.parameters());
                          DataParallel ddp(net, w, {.shards = 4});
                          ddp.save(folder, adam, {});
                          nn::Sequential wider(nn::Linear(5, 2));
                          optim::Adam other(wider.parameters());
                          DataParallel(wider, w, {.shards = 4}).load(folder, other);
                        }),
              Each(HasSubstr("it is of another net: its 'parameter.0.weight' is float32[2,3], the "
                             "net's float32[2,5]")));
}

// Whoever catches what ended a batch may begin another one, which has nothing of it.
TEST(DataParallel, GoesOnBehindAnException) {
  const data::Batch batch = samples("mlp", 8)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  for (const char* how : {"loop", "step", "finish", "unused", "kept"}) {
    for (int ranks : {1, 2}) {
      if (ranks == 2 && (how == std::string("finish") || how == std::string("unused"))) continue;
      EXPECT_THAT(
          run_ranks(ranks,
                    [&](Group w) {
                      auto digest_of_grads = [&](bool failed_before) {
                        manual_seed(1);
                        nn::Linear net(12, 5);
                        DataParallel ddp(net, w, {.shards = 4});
                        auto loss = [&](Part& p) { return cross_entropy(ddp(p.x), p.y); };
                        auto fails = [&](Part& p) {
                          if (p.index % 2 == 1) throw Error("no such sample");
                          return loss(p);
                        };
                        const std::string kind = how;
                        auto broken = [&] {
                          if (kind == "step") ddp.step(batch, fails);
                          if (kind == "unused")
                            ddp.step(batch, [&](Part&) { return ones({}, DType::kF32) * 1; });
                          if (kind == "kept") {
                            auto guard = ddp.no_sync();
                            ddp.step(batch, loss);
                            ddp.step(batch, fails);
                          }
                          for (Part& p : ddp.parts(batch)) {
                            if (kind == "finish") break;
                            ddp.backward(fails(p), p);
                          }
                          ddp.finish();
                        };
                        if (failed_before) {
                          EXPECT_THROW(broken(), Error) << how;
                        }
                        ddp.step(batch, loss);
                        return state_sha256({{"w", net.weight.grad()}, {"b", net.bias.grad()}});
                      };
                      EXPECT_EQ(digest_of_grads(true), digest_of_grads(false)) << how;
                    }),
          Each(IsEmpty()))
          << how << " on " << ranks;
    }
  }
}

// The thread that writes a checkpoint waits beside the step.
#ifdef WICK_TEST_COUNTS_THREADS
// Parts that wait for each other have a thread each. Where the system gives no more, that is an
// error of the step, and the next step may follow.
TEST(Engine, AThreadThatCannotBeStarted) {
  const auto job = std::make_shared<ThreadJob>(2);
  g_threads_left = 0;
  const std::string text = test::error_of(
      [&] { Engine engine(std::make_unique<ThreadTransport>(job, 0), quick_faults()); });
  g_threads_left = -1;
  EXPECT_THAT(text, HasSubstr("[distributed] no thread could be started that moves collectives ("));
  EXPECT_THAT(text, HasSubstr("raise the limit of threads"));
}

TEST(DataParallel, AThreadThatCannotBeStarted) {
  EXPECT_THAT(
      run_ranks(1,
                [](Group w) {
                  struct Normed : nn::Module {
                    nn::Child<nn::Linear> fc{this, "fc", 3, 4};
                    nn::Child<nn::BatchNorm1d> norm{this, "norm", 4};
                    Tensor forward(const Arg& x) override { return norm(fc(x)); }
                  };
                  Normed net;
                  convert_sync_batchnorm(net);
                  DataParallel ddp(net, w, {.shards = 4});
                  std::atomic<int> calls = 0;
                  auto step = [&] {
                    ddp.step(data::Batch{ones({8, 3})}, [&](Part& p) {
                      ++calls;
                      return mean(square(ddp(p.x)));
                    });
                  };
                  step();
                  EXPECT_EQ(calls, 4);
                  for (int started : {0, 1, 3}) {
                    g_threads_left = started;
                    const std::string text = test::error_of(step);
                    g_threads_left = -1;
                    EXPECT_THAT(text,
                                HasSubstr("[data_parallel] no thread could be started for part " +
                                          std::to_string(started) + " of a batch ("));
                    EXPECT_EQ(calls, 4);  // no part of that batch has begun
                  }
                  step();
                  EXPECT_EQ(calls, 8);

                  optim::SGD sgd(net.parameters());
                  const std::string folder = test::temp_folder() + "threads";
                  std::filesystem::remove_all(folder);
                  g_threads_left = 0;
                  const std::string text = test::error_of([&] { ddp.save_async(folder, sgd); });
                  g_threads_left = -1;
                  EXPECT_THAT(text, HasSubstr("[save_sharded] no thread could be started that "));
                  EXPECT_FALSE(std::filesystem::exists(folder));
                  ddp.save(folder, sgd);
                  ddp.load(folder, sgd);
                }),
      Each(IsEmpty()));
}
#endif

TEST(Pace, DoesNotCountTheWaitsOfACheckpoint) {
  auto job = std::make_shared<ThreadJob>(2);
  job->delay = std::chrono::milliseconds(40);  // of each barrier of a save
  const std::string folder = test::temp_folder() + "paced";
  EXPECT_THAT(run_ranks(
                  2,
                  [&](Group w) {
                    nn::Linear net(4, 2);
                    DataParallel ddp(net, w, {.shards = 2});
                    optim::SGD sgd(net.parameters());
                    ddp.save(folder, sgd);
                    Saving saving = ddp.save_async(folder, sgd);
                    Pace pace(w, {.every = 1});
                    std::this_thread::sleep_for(std::chrono::milliseconds(200));
                    pace.step();
                    for (double ms : pace.own_ms()) EXPECT_GE(ms, 199);
                    saving.wait();
                  },
                  quick_faults(), job),
              Each(IsEmpty()));
}

TEST(Pace, NamesTheRankThatHoldsTheOthersUp) {
  EXPECT_THAT(slow_ranks({8, 8.1, 12.5, 8.2}, 1.5), ::testing::ElementsAre(2));
  EXPECT_THAT(slow_ranks({8, 8.1, 12, 8.2}, 1.5), IsEmpty());
  EXPECT_THAT(slow_ranks({}, 1.5), IsEmpty());
  EXPECT_THAT(run_ranks(3,
                        [](Group w) {
                          Pace pace(w, {.every = 2});
                          std::string line;
                          for (int i = 0; i < 4; ++i) {
                            if (w.rank() == 1)
                              std::this_thread::sleep_for(std::chrono::milliseconds(60));
                            w.barrier();
                            const std::string now = pace.step();
                            EXPECT_TRUE(i % 2 == 1 || now.empty());
                            if (!now.empty()) line = now;
                          }
                          EXPECT_THAT(pace.stragglers(), ::testing::ElementsAre(1));
                          EXPECT_EQ(pace.own_ms().size(), 3u);
                          EXPECT_GT(pace.own_ms()[1], 50);
                          EXPECT_EQ(line.empty(), w.rank() != 0);
                          if (w.rank() == 0) {
                            EXPECT_THAT(line, AllOf(HasSubstr("step 4: "),
                                                    HasSubstr("; rank 1 is slow (")));
                          }
                        }),
              Each(IsEmpty()));
  EXPECT_THAT(run_ranks(1, [](Group w) { Pace(w, {.every = 0}); }),
              Each(HasSubstr("[pace] takes every >= 1")));
}

TEST(DataParallel, MetadataHoldsARunToItsShards) {
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          Mlp net;
                          DataParallel ddp(net, w, {.shards = 8});
                          EXPECT_EQ(ddp.metadata().at("wick.shards"), "8");
                          ddp.check_metadata(ddp.metadata());
                          ddp.check_metadata({{"wick.shards", "4"}});
                        }),
              Each(HasSubstr("trained with shards = 4, this run has 8")));
}

TEST(Loader, GivesTheSamplesOfOneProcess) {
  using Seen = std::vector<std::vector<float>>;  // by epoch and batch: the samples' first numbers
  auto read = [](int ranks, int workers) {
    std::map<int, Seen> parts;  // by part
    std::mutex mutex;
    EXPECT_THAT(
        run_ranks(
            ranks,
            [&](Group w) {
              Loader loader(
                  samples("mlp", 21), w,
                  {.batch_size = 8, .shards = 4, .shuffle = true, .seed = 5, .workers = workers});
              EXPECT_EQ(loader.batches(), 3);
              for (int epoch = 0; epoch < 2; ++epoch) {
                for (Batch& b : loader) {
                  for (Part& p : b.parts) {
                    std::lock_guard lock(mutex);
                    parts[p.index].push_back(p.x.to_vector<float>());
                  }
                }
              }
            }),
        Each(IsEmpty()));
    return parts;
  };
  const auto one = read(1, 0);
  for (int ranks : {2, 3, 4}) EXPECT_EQ(read(ranks, ranks % 2), one) << ranks;
}

TEST(Loader, GoesOnWhereItWas) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          auto make = [&] {
                            return Loader(samples("mlp", 21), w,
                                          {.batch_size = 8, .shards = 4, .shuffle = true});
                          };
                          Loader first = make(), second = make();
                          Batch b, c;
                          first.next(b);
                          first.next(b);
                          second.seek(first.position());
                          first.next(b);
                          second.next(c);
                          ASSERT_EQ(b.parts.size(), c.parts.size());
                          EXPECT_EQ(b.parts[0].x.to_vector<float>(),
                                    c.parts[0].x.to_vector<float>());
                          EXPECT_FALSE(first.next(b));
                          EXPECT_EQ(first.position(), (data::LoaderPosition{1, 0}));
                        }),
              Each(IsEmpty()));
}

}  // namespace
}  // namespace wick::distributed
