// One rank of a job that run.py starts with mpirun.
//   ranks train NET SHARDS   trains a net of nets.h; rank 0 prints its digest and loss
//   ranks shard NET STAGE    the same by FullyShard, with 8 shards
//   ranks memory STAGE       trains layers that are large beside their batch; every rank prints its
//                            peak and the bytes of the parameters and of a layer; STAGE 0:
//                            DataParallel
//   ranks fault NAME         rank 1 does something wrong; every rank prints what it throws
//   ranks traffic            sums 1 MiB; every rank prints the bytes that it sent
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/distributed/nets.h"

namespace wick::distributed {
namespace {

void sum(Group& w, int64_t n, DType dtype = DType::kF32, const char* name = "x") {
  w.all_reduce(ones({n}, dtype), {.name = name});
}

// What rank 1 does where the others call sum(w, 4).
const std::map<std::string, std::function<void(Group&)>>& faults() {
  static const std::map<std::string, std::function<void(Group&)>> all = {
      {"kind", [](Group& w) { w.broadcast(ones({4}), 0, {.name = "x"}); }},
      {"shape", [](Group& w) { sum(w, 6); }},
      {"dtype", [](Group& w) { sum(w, 4, DType::kF64); }},
      {"order", [](Group& w) { sum(w, 4, DType::kF32, "y"); }},
      {"skip", [](Group&) {}},
      {"sleep", [](Group&) { std::this_thread::sleep_for(std::chrono::seconds(60)); }},
      {"kill", [](Group&) { std::raise(SIGKILL); }},
      {"stop", [](Group&) { std::raise(SIGSTOP); }},
      {"exit", [](Group&) { std::exit(3); }},
      {"quick_exit", [](Group&) { std::_Exit(3); }},
      {"fail", [](Group& w) { w.fail("the loss is NaN"); }},
      {"throw", [](Group&) { std::thread([] { throw std::runtime_error("no memory"); }).join(); }},
  };
  return all;
}

int fault(Group world, const std::string& name) {
  try {
    sum(world, 4, DType::kF32, "before");
    if (world.rank() == 1) {
      faults().at(name)(world);
    } else {
      sum(world, 4);
    }
    if (name == "skip") return 0;
    world.barrier();
    std::printf("rank %d: no error\n", world.rank());
  } catch (const Error& e) {
    // One piece per line, as mpirun mixes the lines of ranks.
    std::string text = e.what();
    for (char& c : text) c = c == '\n' ? '|' : c;
    std::printf("rank %d: %s\n", world.rank(), text.c_str());
  }
  std::fflush(stdout);
  return 1;
}

struct Layers : nn::Module {
  static constexpr int64_t kWidth = 256;
  std::vector<std::unique_ptr<nn::Child<nn::Linear>>> list;
  Layers() {
    for (int i = 0; i < 8; ++i) {
      list.push_back(
          std::make_unique<nn::Child<nn::Linear>>(this, "fc" + std::to_string(i), kWidth, kWidth));
    }
  }
  Tensor forward(const Arg& x) override {
    Tensor h = x.tensor;
    for (const auto& layer : list) h = relu((*layer)(h));
    return h;
  }
};

void memory(Group world, int stage) {
  Layers net;
  std::unique_ptr<DataParallel> ddp;
  std::vector<Tensor> parameters;
  if (stage == 0) {
    ddp = std::make_unique<DataParallel>(net, world,
                                         DataParallelOptions{.shards = 4, .bucket_bytes = 1 << 18});
    parameters = net.parameters();
  } else {
    auto fs = std::make_unique<FullyShard>(
        net, world, FullyShardOptions{.shards = 4, .stage = stage, .bucket_bytes = 1 << 18});
    parameters = fs->segments();
    ddp = std::move(fs);
  }
  optim::SGD sgd(parameters, {.lr = 0.01, .momentum = 0.9});
  reset_peak_bytes();
  for (int i = 0; i < 3; ++i) {
    ddp->step(data::Batch{ones({8, Layers::kWidth})},
              [&](Part& p) { return mean(square((*ddp)(p.x))); });
    sgd.step();
    sgd.zero_grad();
  }
  const int64_t layer = (Layers::kWidth * Layers::kWidth + Layers::kWidth) * 4;
  std::printf("rank %d: peak %zu, parameters %lld, layer %lld\n", world.rank(), peak_bytes(),
              static_cast<long long>(8 * layer), static_cast<long long>(layer));
}

}  // namespace
}  // namespace wick::distributed

int main(int argc, char** argv) {
  using namespace wick::distributed;  // NOLINT: the program's own
  const std::string what = argc > 1 ? argv[1] : "";
  Group world = init();
  if (what == "train" && argc == 4) {
    const std::string net = argv[2];
    const testing::Trained t = testing::train(world, net, std::atoi(argv[3]), net == "norm");
    if (world.rank() == 0) std::printf("%s %.17g\n", t.digest.c_str(), t.loss);
    return 0;
  }
  if (what == "shard" && argc == 4) {
    const testing::Trained t = testing::train_sharded(world, argv[2], std::atoi(argv[3]));
    if (world.rank() == 0) std::printf("%s %.17g\n", t.digest.c_str(), t.loss);
    return 0;
  }
  if (what == "fault" && argc == 3) return fault(world, argv[2]);
  if (what == "memory" && argc == 3) {
    memory(world, std::atoi(argv[2]));
    return 0;
  }
  if (what == "traffic") {
    world.all_reduce(wick::ones({1 << 18}));
    std::printf("rank %d: %lld bytes\n", world.rank(),
                static_cast<long long>(world.traffic().payload_bytes));
    return 0;
  }
  std::fprintf(
      stderr,
      "usage: ranks train NET SHARDS | shard NET STAGE | memory STAGE | fault NAME | traffic\n");
  return 2;
}
