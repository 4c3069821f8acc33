// Pipelines on ranks that are threads: the weights of one process with as many micro-batches, for
// both schedules, and together with data and tensor parallel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/temp_folder.h"

namespace wick::distributed {
namespace {

using namespace testing;  // NOLINT: a test
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trained on_mesh(const MeshRun& run) {
  const int ranks = run.data * run.pipe * std::max(1, run.tensor);
  std::vector<Trained> results(static_cast<size_t>(ranks));
  EXPECT_THAT(
      run_ranks(ranks,
                [&](Group w) { results[static_cast<size_t>(w.rank())] = train_mesh(w, run); }),
      Each(IsEmpty()));
  for (const Trained& r : results) {
    EXPECT_EQ(r.digest, results[0].digest);
    EXPECT_EQ(r.loss, results[0].loss);
  }
  return results[0];
}

TEST(PipeSteps, ABackwardAsSoonAsThereIsOne) {
  const PipeStep f0{true, 0}, f1{true, 1}, f2{true, 2}, b0{false, 0}, b1{false, 1}, b2{false, 2};
  EXPECT_THAT(pipe_steps(PipeSchedule::k1F1B, 1, 2, 3), ElementsAre(f0, b0, f1, b1, f2, b2));
  EXPECT_THAT(pipe_steps(PipeSchedule::k1F1B, 0, 2, 3), ElementsAre(f0, f1, b0, f2, b1, b2));
  EXPECT_THAT(pipe_steps(PipeSchedule::k1F1B, 0, 8, 2), ElementsAre(f0, f1, b0, b1));
  EXPECT_THAT(pipe_steps(PipeSchedule::kGpipe, 0, 2, 3), ElementsAre(f0, f1, f2, b0, b1, b2));
  EXPECT_EQ(most_in_flight(pipe_steps(PipeSchedule::k1F1B, 0, 4, 16)), 4u);
  EXPECT_EQ(most_in_flight(pipe_steps(PipeSchedule::kGpipe, 0, 4, 16)), 16u);
  EXPECT_DOUBLE_EQ(bubble_of(4, 8), 3.0 / 11);
  EXPECT_EQ(bubble_of(1, 0), 0);
  EXPECT_THAT(balanced_cuts({1, 1, 1, 5, 1, 1}, 3), ElementsAre(3, 4));
  EXPECT_THAT(balanced_cuts({1, 1, 1, 1}, 2), ElementsAre(2));
  EXPECT_THAT(balanced_cuts({9, 1}, 1), IsEmpty());
}

// The same net by DataParallel alone, from its own GPT.
Trained by_data_parallel() {
  Trained t;
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          nn::GPT gpt(nn::GptOptions{.vocab_size = 8,
                                                     .embed_dim = 16,
                                                     .num_layers = 3,
                                                     .num_heads = 2,
                                                     .max_seq_len = 6,
                                                     .dropout = 0.1});
                          DataParallel ddp(gpt, w, {.shards = 8});
                          optim::SGD sgd(gpt.parameters(), {.lr = 0.05, .momentum = 0.9});
                          Loader loader(
                              samples("gpt", 40), w,
                              {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
                          for (Batch& batch : loader) {
                            t.loss = ddp.step(batch, [&](Part& p) {
                              return cross_entropy(ddp(p.x).flatten(0, 1), p.y.flatten());
                            });
                            sgd.step();
                            sgd.zero_grad();
                          }
                          t.digest = state_sha256(gpt.state_dict());
                        }),
              Each(IsEmpty()));
  return t;
}

TEST(Pipeline, HasTheWeightsOfOneProcess) {
  const Trained one = by_data_parallel();
  for (PipeSchedule schedule : {PipeSchedule::kGpipe, PipeSchedule::k1F1B}) {
    for (int pipe : {1, 2, 4}) {
      for (bool checkpoint : {false, true}) {
        const Trained t = on_mesh({.pipe = pipe, .schedule = schedule, .checkpoint = checkpoint});
        EXPECT_EQ(t.digest, one.digest)
            << to_text(schedule) << ", " << pipe << " stages, checkpoint " << checkpoint;
        EXPECT_EQ(t.loss, one.loss);
      }
    }
  }
}

TEST(Pipeline, WithDataAndTensorParallel) {
  const Trained split = on_mesh({.tensor = 1});
  EXPECT_EQ(on_mesh({.data = 2, .pipe = 2, .tensor = 2}).digest, split.digest);
  EXPECT_EQ(on_mesh({.data = 1, .pipe = 2, .tensor = 2}).digest, split.digest);
  EXPECT_EQ(on_mesh({.data = 2, .pipe = 1, .tensor = 2}).digest, split.digest);
  EXPECT_EQ(on_mesh({.data = 3, .pipe = 2, .tensor = 1}).digest, split.digest);
  EXPECT_EQ(on_mesh({.data = 2, .pipe = 2}).digest, by_data_parallel().digest);
}

// A net of convolutions as stages, cut where the test says and where the library does.
TEST(Pipeline, OfConvolutions) {
  auto train = [](int stages, const std::vector<int64_t>& cuts, PipeSchedule schedule) {
    std::string digest;
    EXPECT_THAT(run_ranks(stages,
                          [&](Group w) {
                            nn::Sequential net(nn::Conv2d(1, 4, 3), nn::ReLU(), nn::MaxPool2d(2),
                                               nn::Conv2d(4, 6, 3), nn::ReLU(), nn::MaxPool2d(2),
                                               nn::Flatten(), nn::Dropout(0.2), nn::Linear(24, 5));
                            auto stage = take_stage(net, w, cuts);
                            Pipeline pipe(*stage, w, w.split(w.rank(), 0, "alone"),
                                          {.shards = 4, .schedule = schedule});
                            optim::SGD sgd(stage->parameters(), {.lr = 0.05});
                            Loader loader(samples("lenet", 22), w.split(w.rank(), 0, "readers"),
                                          {.batch_size = 9, .shards = 4, .shuffle = true});
                            for (Batch& batch : loader) {
                              pipe.step(batch, [](const Tensor& y, Part& p) {
                                return cross_entropy(y, p.y);
                              });
                              sgd.step();
                              sgd.zero_grad();
                            }
                            const auto state = gather_states(w, stage->state_dict());
                            if (w.rank() == 0) digest = state_sha256(state);
                          }),
                Each(IsEmpty()));
    return digest;
  };
  const std::string one = train(1, {}, PipeSchedule::kGpipe);
  EXPECT_EQ(train(2, {}, PipeSchedule::k1F1B), one);
  EXPECT_EQ(train(2, {1}, PipeSchedule::kGpipe), one);
  EXPECT_EQ(train(3, {3, 6}, PipeSchedule::k1F1B), one);
}

nn::Sequential three_layers() {
  nn::Sequential net;
  net.append(nn::Linear(4, 6)).append(nn::ReLU()).append(nn::Linear(6, 3));
  return net;
}

TEST(Pipeline, ReportsItsBubble) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Sequential net = three_layers();
                          auto stage = take_stage(net, w, {1});
                          EXPECT_EQ(net.size(), 0);
                          EXPECT_EQ(stage->size(), w.rank() == 0 ? 1 : 2);
                          Pipeline pipe(*stage, w, w.split(w.rank(), 0, "alone"), {.shards = 6});
                          pipe.step(data::Batch{ones({12, 4})},
                                    [](const Tensor& y, Part&) { return mean(square(y)); });
                          const Pipeline::Report& r = pipe.report();
                          EXPECT_DOUBLE_EQ(r.bubble, 1.0 / 7);
                          EXPECT_EQ(r.in_flight, w.rank() == 0 ? 2u : 1u);
                          EXPECT_GT(r.waited, 0);
                          EXPECT_THAT(r.text(),
                                      HasSubstr("2 stages, 6 micro-batches, 1F1B: bubble 14.3 % = "
                                                "(2 - 1) / (6 + 2 - 1); waited "));
                        }),
              Each(IsEmpty()));
}

TEST(Pipeline, RefusesWhatItCannotRun) {
  auto stages = [](int ranks, const std::vector<int64_t>& cuts) {
    return run_ranks(ranks, [&](Group w) {
      nn::Sequential net = three_layers();
      take_stage(net, w, cuts);
    });
  };
  EXPECT_THAT(stages(2, {3}), Each(HasSubstr("cuts must be 1 ascending indices")));
  EXPECT_THAT(stages(3, {2, 1}), Each(HasSubstr("cuts must be 2 ascending indices")));
  EXPECT_THAT(stages(4, {}), Each(HasSubstr("3 modules for 4 stages")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Sequential net = three_layers();
                          net[2].register_parameter("tied", net.at<nn::Linear>(0).weight);
                          take_stage(net, w);
                        }),
              Each(HasSubstr("are one parameter, and lie in two stages")));
  EXPECT_THAT(run_ranks(1,
                        [](Group) {
                          nn::GPT gpt({.vocab_size = 4, .embed_dim = 8, .tie_weights = true});
                          gpt_layers(gpt);
                        }),
              Each(HasSubstr("the token table is tied to the output")));
}

TEST(Pipeline, GoesOnFromACheckpointOnOtherDataRanks) {
  const std::string folder = test::temp_folder() + "stages";
  auto train = [&](int data, int pipes, bool resume) {
    std::string digest;
    EXPECT_THAT(
        run_ranks(data * pipes,
                  [&](Group w) {
                    Mesh mesh({{"data", data}, {"pipe", pipes}}, w);
                    nn::Sequential net = three_layers();
                    auto stage = take_stage(net, mesh.axis("pipe"), {1});
                    Pipeline pipe(*stage, mesh.axis("pipe"), mesh.axis("data"), {.shards = 4});
                    optim::Adam adam(stage->parameters(), {.lr = 0.1});
                    auto step = [&] {
                      pipe.step(
                          data::Batch{samples("mlp", 8)->get(0)[0].reshape({3, 4}).repeat({2, 1})},
                          [](const Tensor& y, Part&) { return mean(square(y)); });
                      adam.step();
                      adam.zero_grad();
                    };
                    if (resume) {
                      EXPECT_EQ(pipe.load(w, folder, adam), (Notes{{"step", "2"}}));
                    } else {
                      step();
                      step();
                      pipe.save(w, folder, adam, {{"step", "2"}});
                    }
                    step();
                    const auto state = gather_states(mesh.axis("pipe"), stage->state_dict());
                    if (w.rank() == 0) digest = state_sha256(state);
                  }),
        Each(IsEmpty()));
    return digest;
  };
  const std::string whole = train(2, 2, false);
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(train(1, 2, true), whole);
  EXPECT_EQ(train(3, 2, true), whole);
  EXPECT_THAT(run_ranks(1,
                        [&](Group w) {
                          nn::Sequential net = three_layers();
                          auto stage = take_stage(net, w);
                          Pipeline pipe(*stage, w, w, {.shards = 4});
                          optim::Adam adam(stage->parameters());
                          pipe.load(w, folder, adam);
                        }),
              Each(HasSubstr("has 2 files, of stages and split layers; this job has 1 of them")));
}

TEST(Pipeline, RefusesStagesOfSeveralSaves) {
  const std::string folder = test::temp_folder() + "mixed";
  auto each = [](const std::function<void(Group, Pipeline&, optim::SGD&)>& f) {
    return run_ranks(2, [&](Group w) {
      nn::Sequential net = three_layers();
      auto stage = take_stage(net, w, {1});
      Pipeline pipe(*stage, w, w.split(w.rank(), 0, "alone"), {.shards = 4});
      optim::SGD sgd(stage->parameters());
      f(w, pipe, sgd);
    });
  };
  auto save = [&](const std::string& to, const std::string& step) {
    EXPECT_THAT(each([&](Group w, Pipeline& pipe, optim::SGD& sgd) {
                  pipe.save(w, to, sgd, {{"step", step}});
                }),
                Each(IsEmpty()));
  };
  save(folder, "1");
  save(folder + "_later", "2");
  const std::string last = "/shard-1-of-2.safetensors";
  std::filesystem::copy_file(folder + "_later" + last, folder + last,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(each([&](Group w, Pipeline& pipe, optim::SGD& sgd) { pipe.load(w, folder, sgd); }),
              Each(HasSubstr("its files are not those of one save")));
}

// What only the last stage sees ends all of them.
TEST(Pipeline, ALossThatIsNotFiniteEndsAllStages) {
  EXPECT_THAT(
      run_ranks(2,
                [](Group w) {
                  nn::Sequential net = three_layers();
                  auto stage = take_stage(net, w, {1});
                  Pipeline pipe(*stage, w, w.split(w.rank(), 0, "alone"), {.shards = 4});
                  pipe.step(data::Batch{ones({4, 4})},
                            [](const Tensor& y, Part&) { return mean(square(y)) * NAN; });
                }),
      Each(AllOf(HasSubstr("rank 1: [data_parallel] the loss of part 0 is"), HasSubstr("nan"))));
}

}  // namespace
}  // namespace wick::distributed
