#include "tools/wick/bench/counters.h"

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace wick::tool {
namespace {

constexpr uint64_t kCounted[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                 PERF_COUNT_HW_CACHE_MISSES};

int open_counter(uint64_t what) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = what;
  attr.disabled = 1;
  attr.inherit = 1;         // by the threads that this one starts
  attr.exclude_kernel = 1;  // which an ordinary user may not look at
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string why_not(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "this machine shows no counters (many virtual machines do not)";
  if (error == EACCES || error == EPERM)
    return "the system does not allow them (sysctl kernel.perf_event_paranoid=2 would)";
  return fmt::format("perf_event_open: {}", std::strerror(error));
}

// Returns what a counter counted; -1 where the processor never had room for it.
double counted(int file) {
  struct {
    uint64_t value, enabled, running;
  } got = {};
  if (read(file, &got, sizeof(got)) != sizeof(got) || got.running == 0) return -1;
  return static_cast<double>(got.value) * static_cast<double>(got.enabled) /
         static_cast<double>(got.running);
}

}  // namespace

Counters::Counters() {
  for (int i = 0; i < kEvents && missing_.empty(); ++i) {
    file_[i] = open_counter(kCounted[i]);
    if (file_[i] < 0) missing_ = why_not(errno);
  }
}

Counters::~Counters() {
  for (const int file : file_) {
    if (file >= 0) close(file);
  }
}

void Counters::start() {
  if (!missing_.empty()) return;
  for (const int file : file_) ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
}

void Counters::stop() {
  if (!missing_.empty()) return;
  for (const int file : file_) ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
}

Counters::Counts Counters::of_one(size_t runs) const {
  Counts counts;
  counts.missing = missing_;
  if (!missing_.empty()) return counts;
  std::array<double, kEvents> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = counted(file_[i]);
  if (*std::min_element(all.begin(), all.end()) < 0) {
    counts.missing = "the processor had no free counter";
    return counts;
  }
  const auto n = static_cast<double>(std::max<size_t>(runs, 1));
  counts.cycles = all[0] / n, counts.instructions = all[1] / n, counts.cache_misses = all[2] / n;
  return counts;
}

std::string counts_text(const Counters::Counts& c) {
  if (!c.missing.empty()) return "none: " + c.missing;
  return fmt::format(
      "{:.3f} M cycles, {:.3f} M instructions ({:.2f} a cycle), {:.4f} M cache misses",
      c.cycles / 1e6, c.instructions / 1e6, c.cycles > 0 ? c.instructions / c.cycles : 0,
      c.cache_misses / 1e6);
}

nlohmann::json counts_json(const Counters::Counts& c) {
  if (!c.missing.empty()) return {{"missing", c.missing}};
  return {{"cycles", c.cycles}, {"instructions", c.instructions}, {"cache_misses", c.cache_misses}};
}

}  // namespace wick::tool
