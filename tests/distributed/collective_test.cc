// Collectives between ranks that are threads: values, dtypes, groups, bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "trainer/tensor/ops.h"

namespace wick::distributed {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Collectives, GiveEveryRankItsValues) {
  for (int n : {1, 2, 3, 4, 5}) {
    const Reports r = run_ranks(n, [n](Group world) {
      const int rank = world.rank();
      Tensor t = full({5}, rank + 1, DType::kF32);
      world.all_reduce(t);
      EXPECT_EQ(t.to_vector<float>(), std::vector<float>(5, static_cast<float>(n * (n + 1) / 2)));
      t = full({3}, rank, DType::kI32);
      world.all_reduce(t, {.op = ReduceOp::kMax});
      EXPECT_EQ(t.to_vector<int32_t>(), std::vector<int32_t>(3, n - 1));
      t = full({2}, rank, DType::kF64);
      world.all_reduce(t, {.op = ReduceOp::kMean});
      EXPECT_EQ(t.to_vector<double>()[1], (n - 1) / 2.0);

      const Tensor all = world.all_gather(full({2, 1}, rank, DType::kI64));
      EXPECT_EQ(all.raw_shape(), (Shape{n, 2, 1}));
      EXPECT_EQ(all.select(0, n - 1).to_vector<int64_t>(), (std::vector<int64_t>{n - 1, n - 1}));

      const Tensor share = world.reduce_scatter(arange(2 * n).to(DType::kF32));
      EXPECT_EQ(share.to_vector<float>(),
                (std::vector<float>{static_cast<float>(2 * rank * n),
                                    static_cast<float>((2 * rank + 1) * n)}));

      t = full({17}, rank == n - 1 ? 4 : 0, DType::kU8);  // a size that ranks do not divide
      world.broadcast(t, n - 1);
      EXPECT_THAT(t.to_vector<uint8_t>(), Each(4));

      const Tensor turned = world.all_to_all(full({n}, rank, DType::kI16));
      for (int from = 0; from < n; ++from)
        EXPECT_EQ(turned.to_vector<int16_t>()[static_cast<size_t>(from)], from);

      if (n > 1) {
        const Handle sent = world.send_async(full({}, rank, DType::kF32), (rank + 1) % n);
        Tensor got = zeros({});
        world.recv(got, (rank + n - 1) % n);
        EXPECT_EQ(got.item(), (rank + n - 1) % n);
        sent.wait();
      }
      world.barrier();
    });
    EXPECT_THAT(r, Each(IsEmpty()));
  }
}

TEST(Collectives, EveryDTypeTravels) {
  const Reports r = run_ranks(3, [](Group world) {
    for (DType dtype :
         {DType::kBool, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32,
          DType::kU64, DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      const Tensor t = full({7}, world.rank() == 1 ? 1 : 0, dtype);
      world.broadcast(t, 1);
      EXPECT_EQ(t.to(DType::kF32).to_vector<float>(), std::vector<float>(7, 1))
          << dtype_name(dtype);
      const Tensor sum = full({7}, world.rank() == 2 ? 1 : 0, dtype);
      world.all_reduce(sum);
      EXPECT_EQ(sum.to(DType::kF32).to_vector<float>(), std::vector<float>(7, 1))
          << dtype_name(dtype);
    }
  });
  EXPECT_THAT(r, Each(IsEmpty()));
}

TEST(Collectives, RunWhileTheCallerComputes) {
  auto job = std::make_shared<ThreadJob>(2);
  job->delay = std::chrono::milliseconds(30);
  const Reports r = run_ranks(
      2,
      [](Group world) {
        Tensor a = ones({1000}), b = full({10}, 2);
        const Handle first = world.all_reduce_async(a, {.name = "a"});
        const Handle second = world.all_reduce_async(b, {.name = "b"});
        EXPECT_FALSE(first.done());  // no message has arrived yet
        second.wait();
        EXPECT_TRUE(first.done());  // those of a group run in order
        EXPECT_EQ(a.to_vector<float>()[999], 2);
        EXPECT_EQ(b.to_vector<float>()[0], 4);
      },
      quick_faults(), job);
  EXPECT_THAT(r, Each(IsEmpty()));
}

// The formulas of docs/use/distributed.md.
TEST(Collectives, SendTheBytesOfTheirFormula) {
  for (int n : {2, 4}) {
    const Reports r = run_ranks(n, [n](Group world) {
      constexpr int64_t kBytes = 4096;
      int64_t before = world.traffic().payload_bytes;
      auto sent = [&] {
        const int64_t now = world.traffic().payload_bytes;
        return now - std::exchange(before, now);
      };
      Tensor t = ones({kBytes / 4});
      world.all_reduce(t);
      EXPECT_EQ(sent(), 2 * (n - 1) * kBytes / n);
      world.reduce_scatter(t);
      EXPECT_EQ(sent(), (n - 1) * kBytes / n);
      world.all_gather(t);
      EXPECT_EQ(sent(), (n - 1) * kBytes);
      world.broadcast(t, 0);
      EXPECT_EQ(sent(), world.rank() == 0 ? 2 * (n - 1) * kBytes / n : (n - 2) * kBytes / n);
      world.all_to_all(t);
      EXPECT_EQ(sent(), (n - 1) * kBytes / n);
      EXPECT_EQ(world.traffic().fingerprint_bytes, 5 * 16 * (n - 1));
    });
    EXPECT_THAT(r, Each(IsEmpty()));
  }
}

TEST(Groups, AxesOfAMesh) {
  const Reports r = run_ranks(6, [](Group world) {
    const Mesh mesh({{"data", 3}, {"tensor", 2}}, world);
    const Group data = mesh.axis("data"), tensor = mesh.axis("tensor");
    EXPECT_EQ(data.size(), 3);
    EXPECT_EQ(data.rank(), world.rank() / 2);
    EXPECT_EQ(tensor.rank(), world.rank() % 2);
    // Both at a time: messages of groups do not meet.
    Tensor a = full({3}, world.rank(), DType::kI64), b = a.clone();
    const Handle of_tensor = Group(tensor).all_reduce_async(b, {.name = "b"});
    Group(data).all_reduce(a, {.name = "a"});
    of_tensor.wait();
    EXPECT_EQ(a.to_vector<int64_t>()[0], 6 + 3 * (world.rank() % 2));
    EXPECT_EQ(b.to_vector<int64_t>()[0], 4 * (world.rank() / 2) + 1);
    EXPECT_THROW((void)mesh.axis("pipeline"), Error);
  });
  EXPECT_THAT(r, Each(IsEmpty()));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          Mesh({{"data", 3}}, w);
                        }),
              Each(HasSubstr("[Mesh] the axes have 3 ranks, the group has 2")));
  // The product is 2^32 + 2, which 32 bits hold as 2.
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          Mesh({{"data", 3}, {"model", 1431655766}}, w);
                        }),
              Each(HasSubstr("[Mesh] the axes have 4294967298 ranks, the group has 2")));
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          Mesh({{"data", 1}, {"data", 1}}, w);
                        }),
              Each(HasSubstr("[Mesh] two axes are 'data'")));
}

// Two threads of each rank split a group each, in another order on each rank: what they get must
// not share message tags.
TEST(Groups, ThreadsMaySplitAtTheSameTime) {
  auto job = std::make_shared<ThreadJob>(2);
  job->delay = std::chrono::milliseconds(2);  // both have begun before one of them ends
  EXPECT_THAT(run_ranks(
                  2,
                  [](Group w) {
                    for (int round = 0; round < 5; ++round) {
                      Group parents[] = {w.split(0, w.rank(), "a"), w.split(0, w.rank(), "b")};
                      std::optional<Group> made[2];
                      std::string errors[2];
                      auto split = [&](int i) {
                        try {
                          made[i] = parents[i].split(0, w.rank(), i == 0 ? "of a" : "of b");
                        } catch (const std::exception& e) {
                          errors[i] = e.what();
                        }
                      };
                      std::thread other(split, w.rank());
                      split(1 - w.rank());
                      other.join();
                      for (const std::string& e : errors) ASSERT_EQ(e, "");
                      // Calls of two groups may be in another order on each rank.
                      const int first = (w.rank() + round) % 2;
                      Tensor sums[2];
                      Handle handles[2];
                      for (int i : {first, 1 - first}) {
                        sums[i] = full({3}, 10 * i + w.rank(), DType::kF32);
                        handles[i] =
                            made[i]->all_reduce_async(sums[i], {.name = i == 0 ? "in a" : "in b"});
                      }
                      for (int i : {0, 1}) {
                        handles[i].wait();
                        EXPECT_EQ(sums[i].to_vector<float>(),
                                  std::vector<float>(3, static_cast<float>(20 * i + 1)));
                      }
                    }
                  },
                  quick_faults(), job),
              Each(IsEmpty()));
}

// A group is for one thread at a time: the second split says so, and nothing of it is sent.
TEST(Groups, TwoThreadsDoNotSplitOneGroup) {
  auto job = std::make_shared<ThreadJob>(2);
  job->delay = std::chrono::milliseconds(20);
  EXPECT_THAT(run_ranks(
                  2,
                  [](Group w) {
                    std::string text;
                    std::thread first([&] { w.split(0, w.rank(), "of all"); });
                    for (int i = 0; text.empty() && i < 10000; ++i) {  // once the other has begun
                      if (w.traffic().messages == 0) {
                        std::this_thread::sleep_for(std::chrono::microseconds(100));
                        continue;
                      }
                      text = test::error_of([&] { w.split(0, w.rank(), "again"); });
                    }
                    first.join();
                    EXPECT_THAT(text, HasSubstr("[split] another thread is splitting the group "
                                                "'world'"));
                    EXPECT_EQ(w.split(0, w.rank(), "later").size(), 2);
                  },
                  quick_faults(), job),
              Each(IsEmpty()));
}

TEST(Groups, RefuseWhatDoesNotFitBeforeAnythingIsSent) {
  const Reports r = run_ranks(2, [](Group world) {
    auto text = [](auto f) {
      try {
        f();
      } catch (const Error& e) {
        return std::string(e.what());
      }
      return std::string("no error");
    };
    const Tensor t = ones({3, 4});
    EXPECT_THAT(text([&] { world.all_reduce(t.t()); }), HasSubstr("[all_reduce] takes contiguous"));
    EXPECT_THAT(text([&] { world.all_reduce(Tensor()); }), HasSubstr("undefined"));
    EXPECT_THAT(text([&] { world.reduce_scatter(t); }), HasSubstr("dimension 0 of [3,4] is not"));
    EXPECT_THAT(text([&] { world.broadcast(t, 2); }), HasSubstr("rank 2 is not another of the 2"));
    EXPECT_THAT(text([&] { world.send(t, world.rank()); }), HasSubstr("is not another"));
    EXPECT_THAT(text([&] { world.all_reduce(ones({2}, DType::kI32), {.op = ReduceOp::kMean}); }),
                HasSubstr("has no mean of int32"));
    world.barrier();  // both still agree
  });
  EXPECT_THAT(r, Each(IsEmpty()));
}

}  // namespace
}  // namespace wick::distributed
