// FullyShard: the bits of DataParallel with a part of its state, and checkpoints for any number of
// ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/temp_folder.h"

namespace wick::distributed {
namespace {

using namespace testing;
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
