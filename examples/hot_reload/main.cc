// A server that replaces its model while requests run: each request has a shared_ptr to the model
// that it began with, so an old model goes when its last request has ended.
//
//   hot_reload MODEL.wick NEXT.wick...
//
// Four threads ask all the time. Each answer is compared with what its model answered when it was
// loaded. A file that cannot be loaded is refused, and the present model goes on. To replace a
// model's file itself, rename the new one over it (docs/use/runtime.md#files-that-change).
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wick/runtime.h"

namespace {

constexpr int kThreads = 4;
constexpr size_t kSessions = 2;  // fewer than threads: some requests wait for a session

// Outputs of a run, in memory of the caller's, and the inputs: zeros of the smallest sizes.
struct Request {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<wick::TensorView> inputs, outputs;

  void add(std::vector<wick::TensorView>& to, wick::DType dtype, const wick::Shape& shape) {
    to.emplace_back(nullptr, dtype, shape);
    bytes.emplace_back(to.back().nbytes() + 1);
    to.back().data = bytes.back().data();
  }
};

// A model that is served. The members are freed from the last one to the first: the pool before
// its program.
class Model {
 public:
  static wick::Result<std::shared_ptr<Model>> load(const char* path) {
    auto model = std::make_shared<Model>();
    WICK_ASSIGN(model->program_, wick::Program::load(path));
    wick::SessionPoolOptions options;
    options.sessions = kSessions;
    options.session.threads = 1;
    WICK_ASSIGN(model->pool_, wick::SessionPool::create(*model->program_, options));
    WICK_TRY(model->warm_up());
    return model;
  }
  Model() { ++alive; }
  ~Model() { --alive; }

  Request request() const {
    Request r;
    for (const wick::TensorView& v : like_.inputs) r.add(r.inputs, v.dtype, v.shape);
    for (const wick::TensorView& v : like_.outputs) r.add(r.outputs, v.dtype, v.shape);
    return r;
  }
  wick::Status run(Request& r) {
    wick::RunOptions options;
    options.timeout_ns = 10'000'000'000;  // the wait for a session included
    return pool_->run(r.inputs, {r.outputs.data(), r.outputs.size()}, options);
  }
  bool as_expected(const Request& r) const {
    for (size_t i = 0; i < r.outputs.size(); ++i) {
      if (memcmp(r.outputs[i].data, like_.outputs[i].data, r.outputs[i].nbytes()) != 0)
        return false;
    }
    return true;
  }

  static std::atomic<int> alive;

 private:
  // The first run packs the weights, so that no request has to. It takes a session out of the pool,
  // which tells the shapes of the outputs.
  wick::Status warm_up() {
    WICK_ASSIGN(const auto session, pool_->acquire());
    std::vector<wick::Shape> shapes;
    for (size_t i = 0; i < session->input_count(); ++i) {
      const wick::PortInfo port = session->input(i);
      wick::Shape shape;
      for (const wick::DimDef& d : port.dims) shape.push_back(d.symbol < 0 ? d.value : 1);
      like_.add(like_.inputs, port.dtype, shape);
      shapes.push_back(shape);
    }
    WICK_TRY(session->bind({shapes.data(), shapes.size()}));
    for (size_t i = 0; i < session->output_count(); ++i) {
      WICK_ASSIGN(const wick::Shape shape, session->output_shape(i));
      like_.add(like_.outputs, session->output(i).dtype, shape);
    }
    return session->run(like_.inputs, {like_.outputs.data(), like_.outputs.size()});
  }

  wick::Owned<wick::Program> program_;
  wick::Owned<wick::SessionPool> pool_;
  Request like_;
};
std::atomic<int> Model::alive{0};

class Server {
 public:
  // Returns the model that serves a request that begins now.
  std::shared_ptr<Model> model() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return model_;
  }
  // Requests go on while the next model is loaded.
  wick::Status replace(const char* path) {
    WICK_ASSIGN(auto next, Model::load(path));
    const std::lock_guard<std::mutex> lock(mutex_);
    model_.swap(next);
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Model> model_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: hot_reload MODEL.wick NEXT.wick...\n", stderr), 2;
  Server server;
  if (wick::Status s = server.replace(argv[1]); !s.ok()) return std::puts(s.message()), 1;
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        const std::shared_ptr<Model> model = server.model();
        Request request = model->request();
        const wick::Status s = model->run(request);
        if (!s.ok() || !model->as_expected(request)) ++wrong;
        ++answered;
      }
    });
  }
  for (int i = 1; i < argc; ++i) {
    const std::string name = std::filesystem::path(argv[i]).filename().string();
    const wick::Status s = i == 1 ? wick::Status() : server.replace(argv[i]);
    std::printf("%s: %s\n", name.c_str(), s.ok() ? "serves" : "refused, the present model goes on");
    if (!s.ok()) std::fprintf(stderr, "%s\n", s.message());
    const int before = answered.load();
    while (answered.load() < before + 100) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d wrong answers, %d model in memory\n", wrong.load(), Model::alive.load());
  return wrong.load() == 0 && Model::alive.load() == 1 ? 0 : 1;
}
