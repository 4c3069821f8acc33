// Tensor parallel on ranks that are threads: the bits of one process with as many shards, those of
// the net that is not split where sums keep their order, and the bound where they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "trainer/distributed/split/split_group.h"
#include "trainer/nn/change/parametrize.h"

namespace wick::distributed {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct SplitRun {
  int ranks = 1, shards = 4;
  bool sequence = false;
  double dropout = 0;
  bool plain = false;  // without TensorParallel
};

std::unique_ptr<nn::GPT> small_gpt(double dropout) {
  return std::make_unique<nn::GPT>(nn::GptOptions{.vocab_size = 8,
                                                  .embed_dim = 16,
                                                  .num_layers = 2,
                                                  .num_heads = 4,
                                                  .max_seq_len = 8,
                                                  .dropout = dropout});
}

// Tokens [n, 9] of 8.
Tensor texts(int64_t n) {
  Generator g{5, 0};
  return randint(0, 8, {n, 9}, g);
}

Tensor gpt_loss(nn::Module& net, const Tensor& tokens) {
  const Tensor logits = net(tokens.narrow(1, 0, 8).contiguous()).flatten(0, 1);
  return cross_entropy(logits, tokens.narrow(1, 1, 8).contiguous().flatten());
}

// The digest of the whole weights after five steps, the same on all ranks.
std::string train_gpt(const SplitRun& run) {
  std::vector<std::string> digests(static_cast<size_t>(run.ranks));
  EXPECT_THAT(run_ranks(run.ranks,
                        [&](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(run.dropout);
                          std::unique_ptr<TensorParallel> tp;
                          if (!run.plain) {
                            tp = std::make_unique<TensorParallel>(
                                *net, w, gpt_plan(run.sequence),
                                TensorParallelOptions{.shards = run.shards});
                          }
                          optim::SGD sgd(net->parameters(), {.lr = 0.1, .momentum = 0.9});
                          for (int step = 0; step < 5; ++step) {
                            gpt_loss(*net, texts(3)).backward();
                            sgd.step();
                            sgd.zero_grad();
                          }
                          digests[static_cast<size_t>(w.rank())] =
                              state_sha256(tp ? tp->state_dict() : net->state_dict());
                        }),
              Each(IsEmpty()));
  EXPECT_THAT(digests, Each(digests[0]));
  return digests[0];
}

TEST(TensorParallel, AnyNumberOfRanksGivesTheSameWeights) {
  for (double dropout : {0.0, 0.1}) {
    const std::string one = train_gpt({.ranks = 1, .dropout = dropout});
    for (int ranks : {2, 3, 4}) {
      EXPECT_EQ(train_gpt({.ranks = ranks, .dropout = dropout}), one) << ranks << " " << dropout;
    }
  }
}

TEST(TensorParallel, ACutSequenceToo) {
  const std::string one = train_gpt({.ranks = 1, .sequence = true});
  for (int ranks : {2, 3, 4})
    EXPECT_EQ(train_gpt({.ranks = ranks, .sequence = true}), one) << ranks;
}

TEST(TensorParallel, OneShardIsTheNetThatIsNotSplit) {
  for (bool sequence : {false, true}) {
    const double dropout = sequence ? 0 : 0.1;
    const SplitRun split{.shards = 1, .sequence = sequence, .dropout = dropout};
    EXPECT_EQ(train_gpt(split), train_gpt({.dropout = dropout, .plain = true}));
  }
}

struct Pair : nn::Module {
  nn::Child<nn::Linear> a{this, "a", 24, 32};
  nn::Child<nn::Linear> b{this, "b", 32, 12};
  Tensor forward(const Arg& x) override { return b(a(x)); }
};

// A column split has the bits of one product; a row split adds partial chains, and each of both
// results is within gamma times the sum of the magnitudes of the exact one.
TEST(TensorParallel, ColumnsHaveTheBitsOfOneProcessAndRowsTheBound) {
  Generator g{3, 0};
  const Tensor x = randn({7, 24}, DType::kF32, g);
  EXPECT_THAT(
      run_ranks(3,
                [&](Group w) {
                  Pair columns, rows, plain;
                  rows.load_state_dict(columns.state_dict());
                  plain.load_state_dict(columns.state_dict());
                  const TensorParallel a(columns, w, {{"a", Split::kColumnWhole}}, {.shards = 4});
                  const TensorParallel b(rows, w, {{"b", Split::kRowWhole}}, {.shards = 4});
                  NoGrad guard;
                  const Tensor hidden = plain.a(x), y = plain(x);
                  EXPECT_EQ(columns.a(x).to_vector<float>(), hidden.to_vector<float>());
                  EXPECT_EQ(columns(x).to_vector<float>(), y.to_vector<float>());
                  const auto near = rows(x).to_vector<float>(), exact = y.to_vector<float>();
                  const Tensor terms =
                      linear(abs(hidden), abs(plain.b->weight), abs(plain.b->bias));
                  const auto bound = terms.to_vector<float>();
                  for (size_t i = 0; i < exact.size(); ++i)
                    ASSERT_LE(std::abs(near[i] - exact[i]), 2 * 34 * 0x1p-24 * bound[i]);
                }),
      Each(IsEmpty()));
}

TEST(TensorParallel, KeepsItsShareAndGivesTheWholeBack) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0), plain = small_gpt(0);
                          plain->load_state_dict(net->state_dict());
                          const TensorParallel tp(*net, w, gpt_plan(), {.shards = 4});
                          const Tensor table = net->get_parameter("token_embedding.weight");
                          EXPECT_EQ(table.raw_shape(), (Shape{2, 2, 16}));
                          EXPECT_EQ(net->get_parameter("blocks.1.attn.in_proj_weight").raw_shape(),
                                    (Shape{2, 3, 4, 16}));
                          EXPECT_EQ(net->get_parameter("blocks.1.mlp.fc2.weight").raw_shape(),
                                    (Shape{2, 16, 16}));
                          EXPECT_EQ(state_sha256(tp.state_dict()),
                                    state_sha256(plain->state_dict()));
                        }),
              Each(IsEmpty()));
}

// Two axes: DataParallel of nets that are split.
TEST(TensorParallel, UnderDataParallel) {
  auto train = [](int data, int tensor) {
    std::string digest;
    EXPECT_THAT(
        run_ranks(data * tensor,
                  [&](Group w) {
                    Mesh mesh({{"data", data}, {"tensor", tensor}}, w);
                    const std::unique_ptr<nn::GPT> net = small_gpt(0.1);
                    const TensorParallel tp(*net, mesh.axis("tensor"), gpt_plan(), {.shards = 2});
                    DataParallel ddp(*net, mesh.axis("data"),
                                     {.shards = 4, .bucket_bytes = 1 << 10});
                    optim::Adam adam(net->parameters(), {.lr = 0.01});
                    for (int step = 0; step < 3; ++step) {
                      ddp.step(data::Batch{texts(6)}, [&](Part& p) { return gpt_loss(*net, p.x); });
                      adam.step();
                      adam.zero_grad();
                    }
                    const std::string mine = state_sha256(tp.state_dict());
                    if (w.rank() == 0) digest = mine;
                  }),
        Each(IsEmpty()));
    return digest;
  };
  const std::string one = train(1, 1);
  EXPECT_EQ(train(2, 2), one);
  EXPECT_EQ(train(4, 1), one);
  EXPECT_EQ(train(1, 2), one);
}

TEST(TensorParallel, RefusesWhatItCannotSplit) {
  auto split = [](const SplitPlan& plan, int shards = 4) {
    return run_ranks(2, [&](Group w) {
      Pair net;
      TensorParallel tp(net, w, plan, {.shards = shards});
    });
  };
  EXPECT_THAT(split({{"c", Split::kRow}}),
              Each(HasSubstr("no module is 'c', which the plan wants as row")));
  EXPECT_THAT(split({{"a", Split::kColumn}}, 5),
              Each(HasSubstr("'a' has 32 outputs, which 5 shards do not divide")));
  EXPECT_THAT(split({{"a", Split::kHeads}}),
              Each(HasSubstr("'a' is a Linear, the plan wants a MultiheadAttention")));
  EXPECT_THAT(split({{"a", Split::kColumn}}, 1), Each(HasSubstr("shards = 1 for 2 ranks")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::GPT net({.vocab_size = 8, .embed_dim = 8, .tie_weights = true});
                          net.token_embedding->register_module(
                              "again", std::make_shared<nn::Linear>(8, 8, false));
                          net.get_submodule("token_embedding.again")
                              .register_parameter("tied", net.token_embedding->weight);
                          TensorParallel tp(net, w, {{"token_embedding", Split::kEmbedding}});
                        }),
              Each(HasSubstr("share the parameter")));
}

// A layer's hooks are those of the layer that has taken its place.
TEST(TensorParallel, KeepsTheHooksOfALayerThatItReplaces) {
  EXPECT_THAT(
      run_ranks(
          2,
          [](Group w) {
            Pair net, plain;
            plain.load_state_dict(net.state_dict());
            std::vector<std::string> calls;
            HookHandle first, second;
            auto hook = [&](Pair& pair) {
              pair.a->register_forward_pre_hook([&](nn::Module& m, const Tensor& in) {
                calls.push_back("before " + m.name());
                return in * 2;
              });
              second = pair.a->register_forward_hook(
                  [&](nn::Module& m, const Tensor&, const Tensor& out) {
                    calls.push_back("after " + m.name());
                    return out + 1;
                  });
              pair.b->register_full_backward_hook([&](nn::Module& m, const Tensor&, const Tensor&) {
                calls.push_back("backward " + m.name());
              });
            };
            hook(plain);
            HookHandle of_plain = second;
            hook(net);
            const TensorParallel tp(
                net, w, {{"a", Split::kColumnWhole}, {"b", Split::kColumnWhole}}, {.shards = 2});
            const Tensor x = ones({2, 24});
            const Tensor y = net(x);
            y.sum().backward();
            EXPECT_EQ(calls, (std::vector<std::string>{"before a", "after a", "backward b"}));
            EXPECT_EQ(y.to_vector<float>(), plain(x).to_vector<float>());
            second.remove();
            of_plain.remove();
            calls.clear();
            EXPECT_EQ(net(x).to_vector<float>(), plain(x).to_vector<float>());
            EXPECT_EQ(calls, (std::vector<std::string>{"before a", "before a"}));
          }),
      Each(IsEmpty()));
}

// What the split layer would not do is refused, with the net as it was.
TEST(TensorParallel, RefusesLayersThatDoMoreThanTheirKind) {
  struct Doubled : nn::Linear {
    using nn::Linear::Linear;
    Tensor forward(const Arg& x) override { return nn::Linear::forward(x) * 2; }
  };
  EXPECT_THAT(
      run_ranks(
          2,
          [](Group w) {
            Pair net;
            nn::weight_norm(*net.a);
            const std::string before = state_sha256(net.state_dict());
            const std::string text = test::error_of([&] {
              TensorParallel tp(net, w, {{"b", Split::kRowWhole}, {"a", Split::kColumnWhole}});
            });
            EXPECT_EQ(state_sha256(net.state_dict()), before);
            nn::remove_parametrizations(*net.a, "weight");
            TensorParallel tp(net, w, {{"a", Split::kColumnWhole}});
            throw Error(text);
          }),
      Each(HasSubstr("'a': its weight is computed from other parameters (weight_norm")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          nn::Sequential net(Doubled(4, 4), nn::ReLU());
                          TensorParallel tp(net, w, {{"0", Split::kColumnWhole}});
                        }),
              Each(HasSubstr("which is derived from Linear: the split layer would not do what")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0);
                          net->get_submodule("blocks.1.attn.out_proj")
                              .register_forward_pre_hook([](nn::Module&, const Tensor&) {});
                          TensorParallel tp(*net, w, gpt_plan());
                        }),
              Each(HasSubstr("'blocks.1.attn.out_proj' has hooks, which split heads would not")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0);
                          nn::weight_norm(net->get_submodule("blocks.0.attn.out_proj"));
                          TensorParallel tp(*net, w, gpt_plan());
                        }),
              Each(HasSubstr("'blocks.0.attn.out_proj': its weight is computed")));
}

// generate() goes without a cache, and a cache is refused by its reason.
TEST(TensorParallel, SplitHeadsTakeNoCache) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0), plain = small_gpt(0);
                          const TensorParallel tp(*net, w, gpt_plan(), {.shards = 2});
                          plain->load_state_dict(tp.state_dict());
                          net->eval(), plain->eval();
                          NoGrad guard;
                          nn::GenerateOptions o;
                          o.max_new_tokens = 3;
                          o.temperature = 0;
                          const Tensor start = texts(2).narrow(1, 0, 3).contiguous();
                          EXPECT_EQ(net->generate(start, o).to_vector<int64_t>(),
                                    plain->generate(start, o).to_vector<int64_t>());
                          auto cache = nn::create_kv_cache(*net);
                          (*net)(start, *cache);
                        }),
              Each(HasSubstr("(its heads lie on several ranks), which takes no cache")));
}

// The norm is that of the whole net: what is not split counts once, and ranks scale by one factor.
TEST(TensorParallel, ClipsByTheNormOfTheWholeNet) {
  for (double kind : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    std::string digest;
    double expected = 0;
    for (int ranks : {1, 2, 3, 4}) {
      EXPECT_THAT(run_ranks(ranks,
                            [&](Group w) {
                              const std::unique_ptr<nn::GPT> net = small_gpt(0);
                              TensorParallel tp(*net, w, gpt_plan(), {.shards = 4});
                              optim::SGD sgd(net->parameters(), {.lr = 0.1});
                              double norm = 0;
                              for (int step = 0; step < 2; ++step) {
                                gpt_loss(*net, texts(3)).backward();
                                norm = tp.clip_grad_norm(0.01, kind);
                                sgd.step();
                                sgd.zero_grad();
                              }
                              const std::string mine = state_sha256(tp.state_dict());
                              if (w.rank() == 0 && digest.empty()) digest = mine, expected = norm;
                              w.barrier();
                              EXPECT_EQ(mine, digest) << ranks << " ranks, norm " << kind;
                              EXPECT_EQ(norm, expected) << ranks << " ranks, norm " << kind;
                            }),
                  Each(IsEmpty()));
    }
  }
  // T = 1: the whole gradients are there.
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0);
                          TensorParallel tp(*net, w, gpt_plan(), {.shards = 1});
                          gpt_loss(*net, texts(3)).backward();
                          const double ordered = nn::clip_grad_norm_(net->parameters(), 1e9);
                          EXPECT_NEAR(tp.clip_grad_norm(1e9), ordered, 1e-6 * ordered);
                          net->zero_grad();
                          tp.clip_grad_norm(1);
                        }),
              Each(HasSubstr("clip_grad_norm: no parameter has a gradient")));
}

// Ranks of a tensor axis have other shards under the same names, and the same place on the data
// axis: one norm, and one file, would be that of one of them.
TEST(TensorParallel, DataParallelNeitherClipsNorSavesASplitNet) {
  for (const SplitRule& rule :
       {SplitRule{"blocks.*.attn", Split::kHeads}, SplitRule{"lm_head", Split::kColumnWhole},
        SplitRule{"token_embedding", Split::kEmbedding}}) {
    EXPECT_THAT(
        run_ranks(4,
                  [&](Group w) {
                    Mesh mesh({{"data", 2}, {"tensor", 2}}, w);
                    const std::unique_ptr<nn::GPT> net = small_gpt(0);
                    const TensorParallel tp(*net, mesh.axis("tensor"), {rule}, {.shards = 2});
                    const std::string text = "layers that are split over ranks";
                    auto refuses = [&](DataParallel& dp, const optim::Optimizer& optimizer) {
                      EXPECT_THAT(test::error_of([&] { dp.clip_grad_norm(1); }), HasSubstr(text));
                      EXPECT_THAT(test::error_of([&] { dp.save("/proc/x", optimizer); }),
                                  HasSubstr(text));
                    };
                    DataParallel ddp(*net, mesh.axis("data"), {.shards = 4});
                    optim::SGD sgd(net->parameters());
                    refuses(ddp, sgd);
                    EXPECT_THAT(test::error_of([&] { ddp.load("/proc/x", sgd); }), HasSubstr(text));
                    FullyShard fs(*net, mesh.axis("data"), {.shards = 4});
                    optim::SGD segments(fs.segments());
                    refuses(fs, segments);
                    EXPECT_THAT(test::error_of([&] { fs.load("/proc/x", segments); }),
                                HasSubstr(text));
                  }),
        Each(IsEmpty()));
  }
  // All shards on one rank: nothing of it is missing.
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0);
                          const TensorParallel tp(*net, w, gpt_plan(), {.shards = 2});
                          DataParallel ddp(*net, w, {.shards = 2});
                          ddp.step(data::Batch{texts(4)},
                                   [&](Part& p) { return gpt_loss(*net, p.x); });
                          EXPECT_GT(ddp.clip_grad_norm(1), 0);
                        }),
              Each(IsEmpty()));
}

TEST(TensorParallel, AGraphMayOutliveItsNet) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          Tensor loss, head;
                          {
                            const std::unique_ptr<nn::GPT> net = small_gpt(0);
                            const TensorParallel tp(*net, w, gpt_plan(true), {.shards = 4});
                            head = net->get_parameter("lm_head.weight");
                            loss = gpt_loss(*net, texts(2));
                          }
                          loss.backward();
                          EXPECT_TRUE(head.grad().defined());
                        }),
              Each(IsEmpty()));
}

// A row of no shard is not zeros.
TEST(TensorParallel, RefusesTokensOutsideOfTheTable) {
  for (const double token : {8.0, -1.0}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Group w) {
                            const std::unique_ptr<nn::GPT> net = small_gpt(0);
                            TensorParallel tp(*net, w, gpt_plan(), {.shards = 4});
                            (*net)(full({1, 8}, token, DType::kI64));
                          }),
                Each(HasSubstr("[embedding] index " + std::to_string(static_cast<int>(token)) +
                               " is out of range for a weight of 8 rows")));
  }
}

TEST(TensorParallel, ARefusedPlanLeavesTheNetAsItWas) {
  EXPECT_THAT(
      run_ranks(2,
                [](Group w) {
                  Pair net;
                  const std::string before = state_sha256(net.state_dict());
                  auto refused = [&](const SplitPlan& plan) {
                    const std::string text =
                        test::error_of([&] { TensorParallel tp(net, w, plan, {.shards = 8}); });
                    EXPECT_EQ(state_sha256(net.state_dict()), before) << text;
                    return text;
                  };
                  const SplitRule a{"a", Split::kColumnWhole};
                  EXPECT_THAT(refused({a, {"b", Split::kColumnWhole}}),
                              HasSubstr("'b' has 12 outputs, which 8 shards do not divide"));
                  EXPECT_THAT(refused({a, {"c", Split::kRow}}), HasSubstr("no module is 'c'"));
                  EXPECT_THAT(refused({a, {"a", Split::kRowWhole}}),
                              HasSubstr("two rules of the plan cut 'a', the second as row"));
                  net(ones({1, 24}));
                }),
      Each(IsEmpty()));
}

TEST(TensorParallel, RefusesDrawsOnSplitActivations) {
  struct Dropped : nn::Module {
    nn::Child<nn::Linear> a{this, "a", 8, 8};
    nn::Child<nn::Dropout> drop{this, "drop", 0.5};
    nn::Child<nn::Linear> b{this, "b", 8, 8};
    Tensor forward(const Arg& x) override { return b(drop(a(x))); }
  };
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          Dropped net;
                          TensorParallel tp(net, w, {{"a", Split::kColumn}, {"b", Split::kRow}});
                          net.eval();
                          net(ones({2, 8}));
                          net.train();
                          net(ones({2, 8}));
                        }),
              Each(HasSubstr("random numbers were drawn for a split activation that reaches 'b'")));
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const std::unique_ptr<nn::GPT> net = small_gpt(0.1);
                          TensorParallel tp(*net, w, gpt_plan(true), {.shards = 2});
                          gpt_loss(*net, texts(2));
                        }),
              Each(HasSubstr("split activation that reaches 'ln_f'")));
}

// A cut sequence sends each rank its pieces only.
TEST(TensorParallel, SumsOfACutSequenceAreScattered) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          const SplitGroup split(w, 4);
                          const variable_list mine(2, ones({3, 8, 5}) * (w.rank() + 1));
                          const int64_t before = w.traffic().payload_bytes;
                          const variable_list pieces = split.sum_pieces(mine, 1, "x", {});
                          EXPECT_EQ(w.traffic().payload_bytes - before, 3 * 8 * 5 * 4 / 2);
                          ASSERT_EQ(pieces.size(), 2u);
                          EXPECT_EQ(pieces[1].to_vector<float>(), std::vector<float>(30, 6));
                        }),
              Each(IsEmpty()));
}

}  // namespace
}  // namespace wick::distributed
