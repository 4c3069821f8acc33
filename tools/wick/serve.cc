// wick serve: models behind an HTTP port (tools/serve).
#include <fmt/core.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tools/lib/limits.h"
#include "tools/lib/text.h"
#include "tools/serve/http_server.h"
#include "tools/wick/command.h"

namespace wick::tool {
namespace {

struct ServeCommand {
  std::vector<std::string> models;
  serve::ServeOptions serve;
  int64_t instances = 1, queue = 64, connections = 64, max_body = 64;
  double deadline = 60, drain = 30;
  bool json = false;
};

constexpr double kSecond = 1e9;

// Keeps SIGINT, SIGTERM and SIGHUP for wait(): all threads that begin while one lives leave them
// alone.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, s);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    // A handler says to --timeout that SIGINT is heard.
    struct sigaction heard = {};
    heard.sa_handler = [](int) {};
    sigaction(SIGINT, &heard, &interrupt_);
  }
  ~Signals() { let_end(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int wait() {
    int signal = 0;
    while (sigwait(&set_, &signal) != 0) {
    }
    return signal;
  }
  // From now on a signal ends the process, as before.
  void let_end() {
    sigaction(SIGINT, &interrupt_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_, before_;
  struct sigaction interrupt_;
};

void run(const ServeCommand& c) {
  serve::ServeOptions options = c.serve;
  options.instances = static_cast<size_t>(c.instances);
  options.queue = static_cast<size_t>(c.queue);
  options.connections = static_cast<size_t>(c.connections);
  options.max_body = static_cast<uint64_t>(c.max_body) << 20;
  options.deadline_ns = static_cast<uint64_t>(c.deadline * kSecond);
  options.max_ram = within_memory(options.max_ram);
  std::mutex lines;
  options.log = [&](const std::string& text) {
    const std::lock_guard<std::mutex> lock(lines);
    fmt::print(stderr, "wick: {}\n", one_line(text));
  };
  std::vector<serve::ModelFile> files;
  for (const std::string& model : c.models) {
    try {
      files.push_back(serve::model_file(model));
    } catch (const Error& e) {
      wrong_usage("model", e.what());
    }
  }
  Signals signals;
  serve::Service service(files, options);
  serve::HttpServer server(&service, options);
  const bool v6 = options.host.find(':') != std::string::npos;
  const std::string url =
      fmt::format("http://{}{}{}:{}", v6 ? "[" : "", options.host, v6 ? "]" : "", server.port());
  if (c.json) {
    auto models = nlohmann::json::array();
    for (const serve::ModelFile& f : files) models.push_back({{"name", f.name}, {"file", f.path}});
    print_json({{"url", url}, {"port", server.port()}, {"models", models}});
  } else {
    fmt::print("{}\n", url);
  }
  std::fflush(stdout);
  while (signals.wait() == SIGHUP) service.reload();
  options.log("ends: requests that have begun are answered first; once more to end at once");
  signals.let_end();
  if (!server.drain(static_cast<uint64_t>(c.drain * kSecond)))
    throw Error(fmt::format("requests were under way for longer than {:g} s and were cut (--drain)",
                            c.drain));
}

}  // namespace

void add_serve(CommandLine& app) {
  auto c = std::make_shared<ServeCommand>();
  Command command =
      app.add_command("serve", "Serve models over HTTP: KServe's protocol, version 2");
  command
      .add_option(
          "model", c->models,
          "FILE or NAME=FILE: .wick, ONNX or TensorFlow Lite; the name is FILE's without its "
          "ending")
      .required();
  accept_ops(command);
  accept_signature(command);
  command.add_option("--host", c->serve.host,
                     "the address to listen on (127.0.0.1: this machine only; 0.0.0.0: whoever "
                     "reaches it)");
  command.add_option("--port", c->serve.port, "the port (8000); 0: a free one, which is printed")
      .between(0, 65535);
  command
      .add_option("--threads", c->serve.threads, "of all models together; 0: as many as there are")
      .at_least(0);
  command.add_option("--instances", c->instances, "runs of one model at a time (1)")
      .between(1, 256);
  command
      .add_option("--max-batch", c->serve.max_batch,
                  "most rows of requests that wait and may run as one (8); 1: none")
      .between(1, 65536);
  command
      .add_option("--queue", c->queue,
                  "requests that may wait for each model (64); further ones get 429")
      .between(0, 1 << 20);
  command
      .add_option("--connections", c->connections,
                  "connections at once (64); further ones get 429. Each has a thread")
      .between(1, 4096);
  command.add_option("--max-body", c->max_body, "most MiB of a request's body (64)")
      .between(1, 1 << 20);
  command
      .add_option("--deadline", c->deadline,
                  "seconds that an inference may take, its wait included (60); 0: no limit")
      .between(0, 1e9);
  command
      .add_option("--drain", c->drain,
                  "seconds that requests under way have after SIGTERM or Ctrl-C (30)")
      .between(0, 1e9);
  command.add_flag("--control", c->serve.control, "clients may load and unload the models");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick serve lenet.wick detector=models/yolo.onnx --port 8000\n"
      "  curl http://127.0.0.1:8000/v2/models/lenet");
  command.callback([c] { run(*c); });
}

}  // namespace wick::tool
