// The nets and the training that the tests compare on 1, 2, 3 and more ranks: by threads
// (parallel_test.cc) and by processes (ranks.cc).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "trainer/checkpoint/safetensors.h"
#include "wick/distributed.h"
#include "wick/trainer.h"

namespace wick::distributed::testing {

struct Mlp : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 12, 24};
  nn::Child<nn::Dropout> drop{this, "drop", 0.25};
  nn::Child<nn::Linear> fc2{this, "fc2", 24, 5};
  Tensor forward(const Arg& x) override { return fc2(drop(relu(fc1(x.tensor.flatten(1))))); }
};

struct LeNet : nn::Module {
  nn::Child<nn::Conv2d> conv1{this, "conv1", 1, 4, 3};
  nn::Child<nn::Conv2d> conv2{this, "conv2", 4, 6, 3};
  nn::Child<nn::Linear> fc{this, "fc", 6 * 2 * 2, 5};
  Tensor forward(const Arg& x) override {
    Tensor h = max_pool2d(relu(conv1(x)), 2);
    h = relu(conv2(h));
    return fc(max_pool2d(h, 2).flatten(1));
  }
};

struct NormNet : nn::Module {
  nn::Child<nn::Conv2d> conv1{this, "conv1", 1, 4, 3};
  nn::Child<nn::BatchNorm2d> norm1{this, "norm1", 4};
  nn::Child<nn::Conv2d> conv2{this, "conv2", 4, 4, 3};
  nn::Child<nn::BatchNorm2d> norm2{this, "norm2", 4};
  nn::Child<nn::Linear> fc{this, "fc", 4 * 4 * 4, 5};
  Tensor forward(const Arg& x) override {
    Tensor h = max_pool2d(relu(norm1(conv1(x))), 2);
    h = relu(norm2(conv2(h)));
    return fc(h.flatten(1));
  }
};

struct TinyGpt : nn::Module {
  nn::Child<nn::GPT> gpt{this, "gpt",
                         nn::GptOptions{.vocab_size = 5,
                                        .embed_dim = 16,
                                        .num_layers = 2,
                                        .num_heads = 2,
                                        .max_seq_len = 6,
                                        .dropout = 0.1}};
  Tensor forward(const Arg& x) override { return gpt(x).flatten(0, 1); }
};

// n samples x [1, 14, 14] (an MLP's: [12]) and classes y of 5; a GPT's: tokens [6] and the next
// ones.
inline std::shared_ptr<data::TensorDataset> samples(const std::string& net, int64_t n) {
  Generator g{11, 0};
  if (net == "gpt") {
    const Tensor tokens = randint(0, 5, {n, 7}, g);
    return std::make_shared<data::TensorDataset>(std::vector<Tensor>{
        tokens.narrow(1, 0, 6).contiguous(), tokens.narrow(1, 1, 6).contiguous()});
  }
  const Shape shape = net == "mlp" ? Shape{n, 12} : Shape{n, 1, 14, 14};
  return std::make_shared<data::TensorDataset>(
      std::vector<Tensor>{randn(shape, DType::kF32, g), randint(0, 5, {n}, g)});
}

inline std::unique_ptr<nn::Module> make_net(const std::string& name) {
  if (name == "mlp") return std::make_unique<Mlp>();
  if (name == "gpt") return std::make_unique<TinyGpt>();
  if (name == "lenet") return std::make_unique<LeNet>();
  return std::make_unique<NormNet>();
}

struct Trained {
  std::string digest;  // of the weights and buffers
  double loss = 0;     // of the last batch
};

// Trains a net for two epochs, on batches of 16 of 44 samples: the last batch is uneven.
inline Trained train(const Group& world, const std::string& name, int shards, bool by_step,
                     const DataParallelOptions& options = {}) {
  std::unique_ptr<nn::Module> net = make_net(name);
  if (name == "norm") convert_sync_batchnorm(*net);
  DataParallelOptions o = options;
  o.shards = shards;
  o.bucket_bytes = 1 << 10;  // several buckets
  DataParallel ddp(*net, world, o);
  optim::SGD sgd(net->parameters(), {.lr = 0.05, .momentum = 0.9});
  Loader loader(samples(name, 44), world,
                {.batch_size = 16, .shards = shards, .shuffle = true, .seed = 3});
  Trained result;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader) {
      if (by_step) {
        result.loss =
            ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y.flatten()); });
      } else {
        for (Part& p : ddp.parts(batch)) ddp.backward(cross_entropy(ddp(p.x), p.y.flatten()), p);
        result.loss = ddp.finish();
      }
      sgd.step();
      sgd.zero_grad();
    }
  }
  result.digest = state_sha256(net->state_dict());
  return result;
}

// The same by FullyShard, with a checkpoint in FOLDER after the first epoch, or from it (resume)
// the second one alone. An empty folder: without.
inline Trained train_sharded(const Group& world, const std::string& name, int stage,
                             const std::string& folder = "", bool resume = false) {
  std::unique_ptr<nn::Module> net = make_net(name);
  if (name == "norm") convert_sync_batchnorm(*net);
  FullyShard fs(*net, world, {.shards = 8, .stage = stage, .bucket_bytes = 1 << 10});
  optim::SGD sgd(fs.segments(), {.lr = 0.05, .momentum = 0.9});
  Loader loader(samples(name, 44), world,
                {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
  Trained result;
  if (resume) {
    fs.load(folder, sgd);
    loader.seek({1, 0});
  }
  for (int epoch = resume ? 1 : 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader) {
      result.loss = fs.step(batch, [&](Part& p) { return cross_entropy(fs(p.x), p.y.flatten()); });
      sgd.step();
      sgd.zero_grad();
    }
    if (epoch == 0 && !folder.empty()) fs.save(folder, sgd);
  }
  fs.gather();
  result.digest = state_sha256(net->state_dict());
  return result;
}

// A GPT on a mesh of data x pipe x tensor ranks, with 8 micro-batches and two virtual shards of
// split layers (tensor = 0: layers that are not split).
struct MeshRun {
  int data = 1, pipe = 1, tensor = 0;
  PipeSchedule schedule = PipeSchedule::k1F1B;
  bool checkpoint = false;
};
inline Trained train_mesh(const Group& world, const MeshRun& run, int steps = 3) {
  Mesh mesh({{"data", run.data}, {"pipe", run.pipe}, {"tensor", std::max(1, run.tensor)}}, world);
  nn::GPT gpt(nn::GptOptions{.vocab_size = 8,
                             .embed_dim = 16,
                             .num_layers = 3,
                             .num_heads = 2,
                             .max_seq_len = 6,
                             .dropout = 0.1});
  nn::Sequential layers = gpt_layers(gpt);
  auto stage = take_stage(layers, mesh.axis("pipe"));
  std::unique_ptr<TensorParallel> tp;
  if (run.tensor > 0) {
    const SplitPlan plan = {{"input.token_embedding", Split::kEmbedding},
                            {"block*.block.attn", Split::kHeads},
                            {"block*.block.mlp.fc1", Split::kColumn},
                            {"block*.block.mlp.fc2", Split::kRow},
                            {"lm_head", Split::kColumnWhole}};
    tp = std::make_unique<TensorParallel>(*stage, mesh.axis("tensor"), plan,
                                          TensorParallelOptions{.shards = 2, .partial = true});
  }
  Pipeline pipe(*stage, mesh.axis("pipe"), mesh.axis("data"),
                {.shards = 8,
                 .schedule = run.schedule,
                 .checkpoint = run.checkpoint,
                 .bucket_bytes = 1 << 10});
  optim::SGD sgd(stage->parameters(), {.lr = 0.05, .momentum = 0.9});
  Loader loader(samples("gpt", 40), mesh.axis("data"),
                {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
  Trained result;
  Batch batch;
  for (int step = 0; step < steps; ++step) {
    if (!loader.next(batch) && !loader.next(batch)) break;
    result.loss = pipe.step(batch, [](const Tensor& y, Part& p) {
      return cross_entropy(y.flatten(0, 1), p.y.flatten());
    });
    sgd.step();
    sgd.zero_grad();
  }
  const nn::NamedTensors mine = tp ? tp->state_dict() : stage->state_dict();
  result.digest = state_sha256(gpt_state(gather_states(mesh.axis("pipe"), mine)));
  return result;
}

}  // namespace wick::distributed::testing
