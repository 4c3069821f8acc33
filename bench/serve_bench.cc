// What `wick serve` adds to a run: serve_bench [ROUNDS] [MODEL]. Times a run of the model (default:
// a tiny one) at batch 1, and the same asked over loopback HTTP, as JSON and as binary tensors, by
// one client that keeps its connection; then how many requests 8 clients get answered in a second.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"
#include "tools/serve/http_server.h"
#include "tools/serve/tensors.h"
#include "wick/compile.h"

namespace {

using namespace wick;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Prints the median and the 99th percentile; returns the median.
double show(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const double p50 = us[us.size() / 2], p99 = us[us.size() * 99 / 100];
  std::printf("%-16s p50 %8.1f us   p99 %8.1f us\n", what, p50, p99);
  return p50;
}

std::string tiny_model() {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), 4});
  const ir::ValueId w = g.add_constant(HostTensor(DType::kF32, {4, 4}), "w", true);
  g.add_output("y", g.emit(OpId::kRelu, {g.emit(OpId::kMatMul, {x, w})}));
  const std::string path = std::filesystem::temp_directory_path() /
                           ("serve_bench_" + std::to_string(getpid()) + ".wick");
  export_wick(g, path);
  return path;
}

std::string request(const serve::Ports& ports, const std::vector<HostTensor>& inputs, bool binary) {
  std::string json = "{\"inputs\":[", tail, head;
  for (size_t i = 0; i < inputs.size(); ++i) {
    serve::Port own = ports.inputs[i];
    own.dims.assign(inputs[i].shape().begin(), inputs[i].shape().end());
    json += std::string(i > 0 ? "," : "") + "{\"name\":\"" + own.name + "\",\"datatype\":\"" +
            serve::datatype_of(own.dtype) + "\",\"shape\":" + serve::dims_json(own);
    if (binary) {
      json += ",\"parameters\":{\"binary_data_size\":" + std::to_string(inputs[i].nbytes()) + "}}";
      serve::append_bytes(inputs[i], &tail);
    } else {
      json += ",\"data\":";
      serve::append_json(own.name, inputs[i], &json);
      json += "}";
    }
  }
  json += binary ? "],\"parameters\":{\"binary_data_output\":true}}" : "]}";
  if (binary) head = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
  return "POST /v2/models/m/infer HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head +
         "Content-Length: " + std::to_string(json.size() + tail.size()) + "\r\n\r\n" + json + tail;
}

// A connection that is kept.
class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int yes = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
  }
  ~Client() { close(fd_); }
  void ask(const std::string& bytes) {
    if (send(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      fail("send");
    got_.clear();
    size_t whole = 0;
    char buffer[65536];
    while (whole == 0 || got_.size() < whole) {
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) fail("recv");
      got_.append(buffer, static_cast<size_t>(n));
      const size_t end = got_.find("\r\n\r\n"), length = got_.find("Content-Length: ");
      if (whole == 0 && end != std::string::npos)
        whole = end + 4 + std::strtoull(got_.c_str() + length + 16, nullptr, 10);
    }
    if (got_.compare(0, 15, "HTTP/1.1 200 OK") != 0) fail(got_.c_str());
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "serve_bench: %s\n", what);
    std::exit(1);
  }
  int fd_;
  std::string got_;
};

void bench(const std::string& path, int rounds) {
  serve::ServeOptions options;
  options.port = 0;
  serve::Service service({{"m", path}}, options);
  serve::HttpServer server(&service, options);
  const tool::Model model = tool::Model::open(path);
  tool::Runner runner(model, {});
  const std::vector<HostTensor> inputs =
      tool::sample_inputs(runner.session(), model.program(), {.batch = 1}).inputs;
  serve::Ports ports;
  for (size_t i = 0; i < inputs.size(); ++i)
    ports.inputs.push_back({runner.session().input(i).name, inputs[i].dtype(), false, {}});
  std::vector<double> us;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    runner.run(inputs);
    us.push_back(us_since(begin));
  }
  const double alone = show("run", us);
  for (const bool binary : {false, true}) {
    const std::string bytes = request(ports, inputs, binary);
    Client client(server.port());
    us.clear();
    for (int i = 0; i < rounds; ++i) {
      const auto begin = Clock::now();
      client.ask(bytes);
      us.push_back(us_since(begin));
    }
    std::printf("  the server adds %.1f us\n",
                show(binary ? "HTTP, binary" : "HTTP, JSON", us) - alone);
  }
  constexpr int kClients = 8;
  const std::string bytes = request(ports, inputs, true);
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kClients; ++t) {
    threads.emplace_back([&] {
      Client client(server.port());
      for (int i = 0; i < rounds / kClients; ++i) client.ask(bytes);
    });
  }
  for (std::thread& t : threads) t.join();
  std::printf("%d clients: %.0f requests a second\n", kClients,
              rounds / kClients * kClients * 1e6 / us_since(begin));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5000;
  if (rounds < 8) return std::puts("usage: serve_bench [ROUNDS, 8 or more] [MODEL]"), 2;
  const std::string path = argc > 2 ? argv[2] : tiny_model();
  bench(path, rounds);
  if (argc <= 2) std::filesystem::remove(path);
}
