#include "tools/wick/bench/bench_against.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/lib/now_ms.h"
#include "tools/lib/oracle.h"
#include "tools/wick/process_time.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

constexpr double kSliceMs = 50;

struct Side {
  std::vector<double> ms;
  double cpu_ms = 0;  // of all that counted

  void add(const std::vector<double>& times, double cpu_of_one) {
    ms.insert(ms.end(), times.begin(), times.end());
    cpu_ms += cpu_of_one * static_cast<double>(times.size());
  }
  double total() const {
    double sum = 0;
    for (double t : ms) sum += t;
    return sum;
  }
  double at(double q) const {
    return ms[std::min(ms.size() - 1, static_cast<size_t>(q * static_cast<double>(ms.size())))];
  }
  double cpu() const { return cpu_ms / static_cast<double>(ms.size()); }
  nlohmann::json json() const {
    return {{"min_ms", ms.front()}, {"p50_ms", at(0.5)}, {"p95_ms", at(0.95)},
            {"p99_ms", at(0.99)},   {"cpu_ms", cpu()},   {"runs", ms.size()}};
  }
};

std::vector<double> run_for(Session& session, Span<const TensorView> in, double ms,
                            double* cpu_of_one) {
  std::vector<TensorView> out(session.output_count());
  const auto once = [&] {
    for (TensorView& v : out) v = TensorView();  // the session's own memory each time
    const double begin = now_ms();
    check(session.run(in, out), "run");
    return now_ms() - begin;
  };
  once();
  std::vector<double> times;
  const double cpu = cpu_ms(), end = now_ms() + ms;
  while (times.empty() || now_ms() < end) times.push_back(once());
  *cpu_of_one = (cpu_ms() - cpu) / static_cast<double>(times.size());
  return times;
}

// The load of the machine's last minute, which tells whether the figures are worth something.
double load_average() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

}  // namespace

nlohmann::json bench_against(const AgainstBench& c, Runner& runner,
                             const std::vector<HostTensor>& inputs) {
  Session& session = runner.session();
  std::vector<std::string> names;
  std::vector<TensorView> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.emplace_back(session.input(i).name);
    in.push_back(inputs[i].view());
  }
  const double load = load_average();
  ServedOnnxRuntime other(c.model, names, inputs, session.threads());
  Side wick, peer;
  double one = 0;
  run_for(session, in, kSliceMs, &one);
  other.run_for(kSliceMs, &one);
  while (wick.total() < c.seconds * 1e3 || peer.total() < c.seconds * 1e3) {
    const std::vector<double> ours = run_for(session, in, kSliceMs, &one);
    wick.add(ours, one);
    const std::vector<double> theirs = other.run_for(kSliceMs, &one);
    peer.add(theirs, one);
  }
  for (Side* side : {&wick, &peer}) std::sort(side->ms.begin(), side->ms.end());
  const nlohmann::json ratio = {{"min", peer.ms.front() / wick.ms.front()},
                                {"p50", peer.at(0.5) / wick.at(0.5)},
                                {"cpu", peer.cpu() / wick.cpu()}};
  if (!c.json) {
    fmt::print(
        "against onnxruntime {}: p50 {:.4f} ms  min {:.4f}  cpu {:.4f}; wick p50 {:.4f} ms  min "
        "{:.4f}  cpu {:.4f}; wick is {:.2f} times as fast (min {:.2f}, cpu {:.2f}; {} and {} runs "
        "in turn, load {:.2f})\n",
        other.version(), peer.at(0.5), peer.ms.front(), peer.cpu(), wick.at(0.5), wick.ms.front(),
        wick.cpu(), ratio["p50"].get<double>(), ratio["min"].get<double>(),
        ratio["cpu"].get<double>(), wick.ms.size(), peer.ms.size(), load);
  }
  return {{"name", "onnxruntime"}, {"version", other.version()}, {"wick", wick.json()},
          {"peer", peer.json()},   {"times_as_fast", ratio},     {"load_average", load}};
}

}  // namespace wick::tool
