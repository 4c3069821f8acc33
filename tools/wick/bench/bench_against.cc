#include "tools/wick/bench/bench_against.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/lib/limits.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/peer.h"
#include "tools/lib/process_time.h"
#include "tools/wick/bench/machine.h"
#include "tools/wick/json.h"

namespace wick::tool {
namespace {

constexpr double kSliceMs = 50;

RunTimes run_for(Session& session, Span<const TensorView> in, double ms) {
  std::vector<TensorView> out(session.output_count());
  RunTimes times;
  const auto once = [&] {
    for (TensorView& v : out) v = TensorView();  // the session's own memory each time
    check(session.run(in, out, {.timeout_ns = time_left_ns()}), "run");
  };
  once();
  const double until = now_ms() + ms;
  while (times.runs() == 0 || now_ms() < until) {
    const double cpu = cpu_ms(), begin = now_ms();
    once();
    const double end = now_ms();
    times.add(end - begin, cpu_ms() - cpu);
  }
  return times;
}

std::string figures_text(const RunTimes& times) {
  const TimeFigures wall = times.wall(), cpu = times.cpu();
  return fmt::format("p50 {:.4f} ms  min {:.4f}  cpu {:.4f}  min {:.4f}", wall.p50, wall.least,
                     cpu.p50, cpu.least);
}

// Returns how many times `ours` their time is; null where a processor's clock of coarse ticks says
// 0 for ours.
nlohmann::json times_as_fast(double theirs, double ours) {
  return ours > 0 ? nlohmann::json(theirs / ours) : nlohmann::json();
}

std::string as_text(const nlohmann::json& ratio) {
  return ratio.is_null() ? "unknown" : fmt::format("{:.2f}", ratio.get<double>());
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
  ServedPeer other(peer_runtime(c.peer), c.model, names, inputs, session.threads());
  RunTimes wick, peer;
  run_for(session, in, kSliceMs);
  other.run_for(kSliceMs);
  while (wick.total_ms() < c.seconds * 1e3 || peer.total_ms() < c.seconds * 1e3) {
    wick.add(run_for(session, in, kSliceMs));
    peer.add(other.run_for(kSliceMs));
  }
  const TimeFigures ours = wick.wall(), theirs = peer.wall();
  const TimeFigures our_cpu = wick.cpu(), their_cpu = peer.cpu();
  const nlohmann::json fast = {{"min", times_as_fast(theirs.least, ours.least)},
                               {"p50", times_as_fast(theirs.p50, ours.p50)},
                               {"cpu", times_as_fast(their_cpu.p50, our_cpu.p50)},
                               {"cpu_min", times_as_fast(their_cpu.least, our_cpu.least)}};
  if (!c.json) {
    fmt::print(
        "against {} {}: {}; wick {}; wick is {} times as fast (min {}, cpu {}; {} and "
        "{} runs in turn, load {:.2f})\n",
        c.peer, other.version(), figures_text(peer), figures_text(wick), as_text(fast.at("p50")),
        as_text(fast.at("min")), as_text(fast.at("cpu")), wick.runs(), peer.runs(), load);
  }
  return {{"name", c.peer},
          {"version", other.version()},
          {"wick", json_of(wick)},
          {"peer", json_of(peer)},
          {"first_answer_ms", other.first_answer_ms()},
          {"peak_rss_mb", other.peak_rss_mb()},
          {"times_as_fast", fast},
          {"load_average", load}};
}

}  // namespace wick::tool
