// One rank of a job that run.py starts with mpirun.
//   ranks train NET SHARDS   trains a net of nets.h; rank 0 prints its digest and loss
//   ranks shard NET STAGE    the same by FullyShard, with 8 shards
//   ranks memory STAGE       trains layers that are large beside their batch; every rank prints its
//                            peak and the bytes of the parameters and of a layer; STAGE 0:
//                            DataParallel
//   ranks fault NAME FOLDER  rank 1 does something wrong; every rank prints what it throws
//   ranks resume KIND FOLDER STEPS
//                            trains with a checkpoint every second step (KIND: ddp, or FullyShard's
//                            stage), from the one in FOLDER if there is one; a rank kills itself in
//                            the step that STEPS has for this start of the job ("3,9"); rank 0
//                            prints the digest
//   ranks mesh D P T SCHEDULE
//                            trains a GPT on D data, P pipeline and T tensor ranks, SCHEDULE: gpipe
//                            or 1f1b; rank 0 prints the digest of the whole weights, and the loss
//   ranks traffic            sums 1 MiB; every rank prints the bytes that it sent
//   ranks wait               says "waits" and waits for a signal
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/distributed/nets.h"

namespace wick::distributed {
namespace {

using namespace testing;  // NOLINT: nets.h

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
      {"function", [](Group& w) { w.all_reduce(ones({4}), {.op = ReduceOp::kMax, .name = "x"}); }},
      {"crash", [](Group&) { std::raise(SIGSEGV); }},
      {"oom", [](Group&) { std::thread([] { zeros({int64_t{1} << 44}); }).join(); }},
  };
  return all;
}

// A step in which rank 1's samples, net or disk are not what they should be.
void faulty_step(Group& world, const std::string& name, const std::string& folder) {
  const bool mine = world.rank() == 1;
  const auto set = samples("mlp", 6);
  data::Batch batch = set->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  if (name == "nan" && mine) batch[0] = batch[0] * NAN;
  if (name == "other_net") {
    nn::Linear net(4, mine ? 3 : 2);
    DataParallel ddp(net, world, {.shards = 6});
    return;
  }
  Mlp net;
  if (name == "unused") net.register_parameter("idle", ones({3}));
  FullyShard fs(net, world, {.shards = 6});
  optim::SGD sgd(fs.segments(), {.lr = 0.05, .momentum = 0.9});
  auto step = [&] {
    fs.step(batch, [&](Part& p) { return cross_entropy(fs(p.x), p.y); });
    sgd.step();
    sgd.zero_grad();
  };
  step();
  fs.save(folder, sgd);
  const std::string shard = folder + "/shard-1-of-3.safetensors";
  if (name == "full_disk") {
    // As on a full disk, a write beyond this size fails; the signal would end the process.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{512, 512};
    if (mine) setrlimit(RLIMIT_FSIZE, &small);
    step();
    fs.save(folder, sgd);
  }
  if (world.rank() == 0 && name == "truncated_shard")
    std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 7);
  if (world.rank() == 0 && name == "missing_shard") std::filesystem::remove(shard);
  if (world.rank() == 0 && name == "flipped_bit") {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }
  world.barrier();
  fs.load(folder, sgd);
}

int fault(Group world, const std::string& name, const std::string& folder) {
  try {
    sum(world, 4, DType::kF32, "before");
    if (faults().count(name) == 0) {
      faulty_step(world, name, folder);
    } else if (world.rank() == 1) {
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

// The step of this start of the job in which a rank is killed: the start's number in "3,9"; -1.
int64_t step_to_die_in(const std::string& steps) {
  std::istringstream list(steps);
  std::string step;
  for (int start = 0; std::getline(list, step, ','); ++start) {
    if (start == restart_count()) return std::atoll(step.c_str());
  }
  return -1;
}

void resume(Group world, const std::string& kind, const std::string& folder,
            const std::string& steps) {
  Mlp net;
  std::unique_ptr<DataParallel> ddp;
  std::vector<Tensor> parameters;
  if (kind == "ddp") {
    ddp = std::make_unique<DataParallel>(net, world, DataParallelOptions{.shards = 8});
    parameters = net.parameters();
  } else {
    auto fs = std::make_unique<FullyShard>(
        net, world, FullyShardOptions{.shards = 8, .stage = std::atoi(kind.c_str())});
    parameters = fs->segments();
    ddp = std::move(fs);
  }
  optim::Adam adam(parameters, {.lr = 0.01});
  Loader loader(samples("mlp", 44), world,
                {.batch_size = 16, .shards = 8, .shuffle = true, .seed = 3});
  int64_t step = 0;
  if (has_checkpoint(folder)) {
    const Notes notes = ddp->load(folder, adam);
    step = std::atoll(notes.at("step").c_str());
    loader.seek({step / loader.batches(), step % loader.batches()});
  }
  const int64_t dies = step_to_die_in(steps);
  Saving saving;
  for (Batch batch; step < 12; ++step) {
    if (!loader.next(batch) && !loader.next(batch)) break;
    if (step == dies && world.rank() == world.size() - 1) std::raise(SIGKILL);
    ddp->step(batch, [&](Part& p) { return cross_entropy((*ddp)(p.x), p.y); });
    adam.step();
    adam.zero_grad();
    if (step % 2 == 1) saving = ddp->save_async(folder, adam, {{"step", std::to_string(step + 1)}});
  }
  saving.wait();
  if (auto* fs = dynamic_cast<FullyShard*>(ddp.get())) fs->gather();
  if (world.rank() == 0) std::printf("%s\n", state_sha256(net.state_dict()).c_str());
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
        net, world,
        FullyShardOptions{.shards = 4, .stage = stage, .bucket_bytes = 1 << 18, .prefetch = false});
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
  NetCost cost;
  for (int i = 0; i < 8; ++i) {
    const auto row = static_cast<double>(4 * Layers::kWidth);
    cost.layers.push_back({"fc", layer / 4, 2 * row * Layers::kWidth / 4, 2 * row, row});
  }
  PlanRequest request;
  request.ranks = world.size();
  request.batch = 8;
  request.shards = 4;
  request.optimizer_states = 1;
  const ParallelPlan plan = plan_parallel(cost, request);
  std::printf("rank %d: peak %zu, parameters %lld, layer %lld, planned %.0f\n", world.rank(),
              peak_bytes(), static_cast<long long>(8 * layer), static_cast<long long>(layer),
              plan.choices.at(static_cast<size_t>(stage)).bytes);
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
  if (what == "fault" && argc == 4) return fault(world, argv[2], argv[3]);
  if (what == "resume" && argc == 5) {
    resume(world, argv[2], argv[3], argv[4]);
    return 0;
  }
  if (what == "memory" && argc == 3) {
    memory(world, std::atoi(argv[2]));
    return 0;
  }
  if (what == "mesh" && argc == 6) {
    testing::MeshRun run{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
    if (std::string(argv[5]) == "gpipe") run.schedule = PipeSchedule::kGpipe;
    const testing::Trained t = testing::train_mesh(world, run, 6);
    if (world.rank() == 0) std::printf("%s %.17g\n", t.digest.c_str(), t.loss);
    return 0;
  }
  if (what == "traffic") {
    world.all_reduce(wick::ones({1 << 18}));
    std::printf("rank %d: %lld bytes\n", world.rank(),
                static_cast<long long>(world.traffic().payload_bytes));
    return 0;
  }
  if (what == "wait") {
    std::puts("waits");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::minutes(2));
    return 0;
  }
  std::fprintf(
      stderr,
      "usage: ranks train NET SHARDS | shard NET STAGE | memory STAGE | fault NAME FOLDER |\n"
      "       resume KIND FOLDER STEPS | mesh D P T SCHEDULE | traffic | wait\n");
  return 2;
}
