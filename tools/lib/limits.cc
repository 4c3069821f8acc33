#include "tools/lib/limits.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/unfinished.h"
#include "tools/lib/process.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// A run that has passed its deadline reports it by itself, and work is saved, if they get this
// long.
constexpr uint64_t kToEndAlone = kSecond / 5, kToSave = 60 * kSecond;

uint64_t g_deadline_ns = 0;
uint64_t g_memory = UINT64_MAX;
// Of QuickLimits.
thread_local uint64_t t_deadline_ns = 0, t_memory = UINT64_MAX;
std::mutex g_mutex;
std::vector<const std::function<void()>*> g_last;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * kSecond + static_cast<uint64_t>(t.tv_nsec);
}

void sleep_until(uint64_t ns) {
  const timespec t = {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

// Writes directly, since the command may hold any lock.
void say(const std::string& text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

void watch(double seconds) {
  sleep_until(g_deadline_ns);
  struct sigaction on_interrupt = {};
  sigaction(SIGINT, nullptr, &on_interrupt);
  const bool saves = on_interrupt.sa_handler != SIG_DFL && on_interrupt.sa_handler != SIG_IGN &&
                     !forwards_signals();
  if (saves) {
    say(fmt::format("wick: the time is up (--timeout {:g})\n", seconds));
    kill(getpid(), SIGINT);
  }
  sleep_until(g_deadline_ns + (saves ? kToSave : kToEndAlone));
  const std::lock_guard<std::mutex> lock(g_mutex);  // whoever ends with the same work waits
  for (auto last = g_last.rbegin(); last != g_last.rend(); ++last) (**last)();
  remove_unfinished();
  say(fmt::format("wick: the time is up (--timeout {:g}){}\n", seconds,
                  saves ? ", and saving the work took too long" : ""));
  _exit(1);
}

}  // namespace

void limit_time(double seconds) {
  constexpr double kMost = 1e9;  // about 30 years
  g_deadline_ns = now_ns() + static_cast<uint64_t>(std::min(seconds, kMost) * kSecond);
  // Signals go to the command's own threads only.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(watch, seconds).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AtTimeUp::AtTimeUp(std::function<void()> last) : last_(std::move(last)) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_last.push_back(&last_);
}
AtTimeUp::~AtTimeUp() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_last.erase(std::find(g_last.begin(), g_last.end(), &last_));
}

void limit_memory(uint64_t bytes) {
  g_memory = bytes;
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  if (setrlimit(RLIMIT_DATA, &limit) != 0)
    throw Error(fmt::format("--max-ram: {}", strerror(errno)), Code::kIo);
}

QuickLimits::QuickLimits(uint64_t bytes, double seconds)
    : bytes_before_(t_memory), deadline_before_(t_deadline_ns) {
  t_memory = std::min(t_memory, bytes);
  if (seconds <= 0) return;
  const uint64_t deadline = now_ns() + static_cast<uint64_t>(seconds * kSecond);
  t_deadline_ns = t_deadline_ns == 0 ? deadline : std::min(t_deadline_ns, deadline);
}
QuickLimits::~QuickLimits() {
  t_memory = bytes_before_;
  t_deadline_ns = deadline_before_;
}

uint64_t time_left_ns() {
  uint64_t end = g_deadline_ns == 0 ? UINT64_MAX : g_deadline_ns;
  if (t_deadline_ns != 0) end = std::min(end, t_deadline_ns);
  if (end == UINT64_MAX) return 0;
  const uint64_t now = now_ns();
  return now < end ? end - now : 1;
}

uint64_t memory_limit() { return g_memory; }
uint64_t within_memory(uint64_t most) { return std::min({most, g_memory, t_memory}); }

}  // namespace wick::tool
