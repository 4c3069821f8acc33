#include "trainer/data/step_profile.h"

#include <algorithm>
#include <cstdio>

namespace wick::data {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr const char* kNames[kPhases] = {"wait for the loader", "transfer", "forward", "backward",
                                         "optimizer",           "comm",     "other"};

struct Advice {
  const char* verdict;
  const char* text;
};
Advice advice(Bottleneck b) {
  switch (b) {
    case Bottleneck::kLoader: return {"loader-bound", "more workers, or less work an item"};
    case Bottleneck::kDisk:
      return {"disk-bound", "fewer, larger files (.tar, .bin), a faster disk, or a cache"};
    case Bottleneck::kTransfer: return {"transfer-bound", "smaller types, fewer copies"};
    case Bottleneck::kComm: return {"communication-bound", "larger batches a rank, fewer ranks"};
    case Bottleneck::kCompute: break;
  }
  return {"compute-bound", "the loader keeps up: a smaller model, or more threads"};
}

}  // namespace

StepProfile::StepProfile() { reset(); }

void StepProfile::reset() {
  steps_ = 0;
  seconds_ = {};
  start_ = Clock::now();
  before_ = read_totals();
}

StepProfile::Scope::Scope(StepProfile* profile, Phase phase)
    : profile_(profile), phase_(phase), start_(Clock::now()) {}
StepProfile::Scope::~Scope() {
  profile_->seconds_[static_cast<size_t>(phase_)] += seconds_since(start_);
}

bool StepProfile::next(DataLoader& loader, Batch& batch) {
  Scope time = measure(Phase::kWait);
  bool more = loader.next(batch);
  steps_ += more;
  return more;
}

StepReport StepProfile::report() const {
  StepReport r;
  r.steps = steps_;
  r.wall = seconds_since(start_);
  r.seconds = seconds_;
  double measured = 0;
  for (double s : seconds_) measured += s;
  r.seconds[static_cast<size_t>(Phase::kOther)] += std::max(0.0, r.wall - measured);
  ReadTotals now = read_totals();
  r.reading = now.read_seconds - before_.read_seconds;
  r.making = now.make_seconds - before_.make_seconds;
  r.verdict = judge(r);
  return r;
}

Bottleneck judge(const StepReport& r) {
  auto of = [&](Phase p) { return r.seconds[static_cast<size_t>(p)]; };
  double compute =
      of(Phase::kForward) + of(Phase::kBackward) + of(Phase::kOptimizer) + of(Phase::kOther);
  double most = std::max({compute, of(Phase::kWait), of(Phase::kTransfer), of(Phase::kComm)});
  if (compute == most) return Bottleneck::kCompute;
  if (of(Phase::kTransfer) == most) return Bottleneck::kTransfer;
  if (of(Phase::kComm) == most) return Bottleneck::kComm;
  return r.reading >= 0.5 * r.making && r.making > 0 ? Bottleneck::kDisk : Bottleneck::kLoader;
}

std::string StepReport::to_text() const {
  char line[160];
  auto n = static_cast<double>(std::max<int64_t>(steps, 1));
  std::string text;
  std::snprintf(line, sizeof(line), "%-24s %10s %12s %8s\n", "phase", "seconds", "ms a step",
                "share");
  text += line;
  auto row = [&](const char* name, double s, double of) {
    std::snprintf(line, sizeof(line), "%-24s %10.3f %12.3f %7.1f%%\n", name, s, s / n * 1e3,
                  of > 0 ? s / of * 100 : 0.0);
    text += line;
  };
  for (size_t p = 0; p < kPhases; ++p) {
    if (seconds[p] > 0) row(kNames[p], seconds[p], wall);
    if (p == 0) {
      row("  threads: reading files", reading, making);
      row("  threads: the rest", std::max(0.0, making - reading), making);
    }
  }
  row("wall", wall, wall);
  Advice a = advice(verdict);
  text += std::string("verdict: ") + a.verdict + " (" + a.text + ")\n";
  return text;
}

}  // namespace wick::data
