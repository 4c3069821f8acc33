#include <fmt/core.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tools/lib/limits.h"
#include "tools/lib/text.h"
#include "tools/serve/http_server.h"
#include "tools/wick/command.h"
#include "tools/wick/serve.h"

namespace wick::tool {
namespace {

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

}  // namespace

void serve_models(const ServeCommand& c, char** /*words*/) {
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

}  // namespace wick::tool
