#include "tests/fuzz/driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tests/fuzz/scratch.h"

#include "tests/support/leave.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace wick::fuzz {
namespace {

constexpr int kMostFaults = 20;       // then the run stops
constexpr double kStateEvery = 20;    // seconds
constexpr unsigned kWallFactor = 10;  // times Target::seconds: other processes may use the machine

// Shared is what a parent reads of its child, even after the child has died.
struct Shared {
  uint64_t seed, next, done;  // `next`: the case that runs now, or the first that did not
  uint64_t counts[kCounters];
  uint64_t faults;
  uint64_t slowest;  // the case that took the longest
  double slowest_seconds;
};

struct Running {
  const Target* target = nullptr;
  Shared* shared = nullptr;
  const uint8_t* file = nullptr;
  size_t file_bytes = 0;
  char keep[400] = "";
  bool told = false;
  int out = 2;  // where faults are said: a target may close its own output
} g_running;

struct Options {
  uint64_t seed = 1, cases = UINT64_MAX, only = 0;
  bool one = false;
  double minutes = 0;
  std::string state, keep;
};

void say(const char* text) {
  const ssize_t written = write(g_running.out, text, strlen(text));
  (void)written;
}

// Only calls that a signal handler may make, snprintf of integers among them.
void keep_file() {
  if (g_running.keep[0] == '\0' || g_running.file == nullptr) return;
  char path[600];
  snprintf(path, sizeof(path), "%s/%s-%llu-%llu.bin", g_running.keep, g_running.target->name,
           static_cast<unsigned long long>(g_running.shared->seed),
           static_cast<unsigned long long>(g_running.shared->next));
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return;
  const ssize_t written = write(fd, g_running.file, g_running.file_bytes);
  close(fd);
  if (written == static_cast<ssize_t>(g_running.file_bytes)) {
    say("  its file: ");
    say(path);
    say("\n");
  }
}

void tell(const char* what) {
  if (g_running.told) return;
  g_running.told = true;
  char text[400];
  snprintf(text, sizeof(text), "\nFAULT: %s: %s; again: %s --seed %llu --case %llu\n",
           g_running.target->name, what, g_running.target->name,
           static_cast<unsigned long long>(g_running.shared->seed),
           static_cast<unsigned long long>(g_running.shared->next));
  say(text);
  keep_file();
}

void on_signal(int signal) {
  char what[64];
  snprintf(what, sizeof(what), "signal %d (%s)", signal,
           signal == SIGPROF   ? "too slow"
           : signal == SIGALRM ? "it waits for ever"
                               : "it crashed");
  tell(what);
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);
}

void on_death() { tell("a sanitizer stopped it"); }

void catch_signals() {
  static char stack[64 * 1024];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGPROF, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
  // A sanitizer's own report says more.
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(on_death);
  if (kAsan) return;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

double now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the CPU time of this process, or of its children that have ended.
double cpu_seconds(int whose) {
  rusage used = {};
  getrusage(whose, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Time is what the case itself has taken, on all its threads: a loaded machine makes no fault. Far
// behind that limit is one of the clock on the wall, for what sleeps. 0: none.
void watch(unsigned seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(kWallFactor * seconds);
}

void run_case(uint64_t number, bool verbose) {
  Shared& shared = *g_running.shared;
  shared.next = number;
  g_running.file = nullptr;
  g_running.told = false;
  watch(g_running.target->seconds);
  const double start = now(CLOCK_PROCESS_CPUTIME_ID);
  Case c(shared.seed, number);
  c.verbose = verbose;
  g_running.target->run(c);
  ++shared.done;
  const double took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
  if (took < shared.slowest_seconds) return;
  shared.slowest_seconds = took;
  shared.slowest = number;
}

void save(const Options& options) {
  if (options.state.empty()) return;
  const std::string other = options.state + ".tmp";
  FILE* f = fopen(other.c_str(), "w");
  if (f == nullptr) return;
  const Shared& s = *g_running.shared;
  fprintf(f, "%llu %llu %llu %llu", static_cast<unsigned long long>(s.seed),
          static_cast<unsigned long long>(s.next), static_cast<unsigned long long>(s.done),
          static_cast<unsigned long long>(s.faults));
  for (uint64_t n : s.counts) fprintf(f, " %llu", static_cast<unsigned long long>(n));
  fputc('\n', f);
  fclose(f);
  rename(other.c_str(), options.state.c_str());
}

void resume(const Options& options) {
  FILE* f = options.state.empty() ? nullptr : fopen(options.state.c_str(), "r");
  if (f == nullptr) return;
  unsigned long long v[4] = {}, n = 0;
  Shared& s = *g_running.shared;
  if (fscanf(f, "%llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3]) == 4 && v[0] == s.seed) {
    s.next = v[1];
    s.done = v[2];
    s.faults = v[3];
    for (uint64_t& c : s.counts) c = fscanf(f, "%llu", &n) == 1 ? n : 0;
    printf("%s: goes on at case %llu\n", g_running.target->name, v[1]);
  }
  fclose(f);
}

// The child: cases from shared.next on, until the parent's end.
[[noreturn]] void child(const Options& options, uint64_t end, double until) {
  catch_signals();
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would count what goes on
#endif
  if (!kAsan) {
    const rlimit room{uint64_t{6} << 30, uint64_t{6} << 30};  // a bomb ends this child alone
    setrlimit(RLIMIT_AS, &room);
  }
  if (g_running.target->begin != nullptr) g_running.target->begin();
  Shared& shared = *g_running.shared;
  double saved = now();
  for (uint64_t n = shared.next; n < end; ++n) {
    run_case(n, false);
    shared.next = n + 1;
    if ((n & 15) == 0) {
      const double at = now();
      if (until != 0 && at > until) break;
      if (at > saved + kStateEvery) {
        save(options);
        saved = at;
      }
    }
    if (shared.faults >= kMostFaults) break;
  }
  watch(0);
  fflush(nullptr);
  test::leave(0);
}

int print(double seconds, double cpu) {
  const Shared& s = *g_running.shared;
  printf("COUNT: %s: %llu executions", g_running.target->name,
         static_cast<unsigned long long>(s.done));
  for (size_t i = 0; i < g_running.target->counters.size(); ++i)
    printf(", %llu %s", static_cast<unsigned long long>(s.counts[i]),
           g_running.target->counters[i]);
  printf("; %llu faults; %.0f s, %.2f of CPU, next case %llu, the slowest %llu: %.2f s\n",
         static_cast<unsigned long long>(s.faults), seconds, cpu,
         static_cast<unsigned long long>(s.next), static_cast<unsigned long long>(s.slowest),
         s.slowest_seconds);
  return s.faults == 0 ? 0 : 1;
}

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--seed") {
      options->seed = strtoull(value, nullptr, 0);
    } else if (name == "--case") {
      options->only = strtoull(value, nullptr, 0);
      options->one = true;
    } else if (name == "--cases") {
      options->cases = strtoull(value, nullptr, 0);
    } else if (name == "--minutes") {
      options->minutes = atof(value);
    } else if (name == "--state") {
      options->state = std::filesystem::absolute(value);  // a target may work elsewhere
    } else if (name == "--keep") {
      options->keep = std::filesystem::absolute(value);
    } else {
      return false;
    }
  }
  return options->one || options->cases != UINT64_MAX || options->minutes > 0;
}

}  // namespace

void Case::file(Span<const uint8_t> bytes) {
  g_running.file = bytes.data();
  g_running.file_bytes = bytes.size();
}

void Case::say(const std::string& line) const {
  if (verbose) wick::fuzz::say((line + "\n").c_str());
}

void Case::count(int counter) { ++g_running.shared->counts[counter]; }

void Case::fault(std::string_view what) {
  tell(std::string(what.substr(0, 250)).c_str());
  ++g_running.shared->faults;
}

int fuzz_main(int argc, char** argv, const Target& target) {
  Options options;
  if (!parse(argc, argv, &options)) {
    fprintf(stderr,
            "usage: %s (--case N | --cases N | --minutes N) [--seed N] [--state FILE] [--keep "
            "FOLDER]\n",
            target.name);
    return 2;
  }
  if (options.keep.empty() && getenv("WICK_FUZZ_KEEP") != nullptr)
    options.keep = std::filesystem::absolute(getenv("WICK_FUZZ_KEEP"));
  if (!options.keep.empty()) {
    mkdir(options.keep.c_str(), 0755);
    snprintf(g_running.keep, sizeof(g_running.keep), "%s", options.keep.c_str());
  }
  void* page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return perror("mmap"), 2;
  auto& shared = *static_cast<Shared*>(page);
  g_running.target = &target;
  g_running.shared = &shared;
  g_running.out = dup(2);
  (void)scratch();  // all children work there
  shared.seed = options.seed;
  if (options.one) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    catch_signals();
    if (target.begin != nullptr) target.begin();
    run_case(options.only, true);
    watch(0);
    return print(0, cpu_seconds(RUSAGE_SELF));
  }
  resume(options);
  const uint64_t first = shared.next;
  const uint64_t end = options.cases == UINT64_MAX ? UINT64_MAX : first + options.cases;
  const double start = now(), until = options.minutes > 0 ? start + 60 * options.minutes : 0;
  while (shared.next < end && (until == 0 || now() < until) && shared.faults < kMostFaults) {
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) return perror("fork"), 2;
    if (pid == 0) child(options, end, until);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    printf("%s: case %llu of seed %llu ended the process: %s %d\n", target.name,
           static_cast<unsigned long long>(shared.next),
           static_cast<unsigned long long>(shared.seed),
           WIFSIGNALED(status) ? "signal" : "exit code",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ++shared.faults;
    ++shared.next;
    empty_scratch();
    save(options);
  }
  save(options);
  return print(now() - start, cpu_seconds(RUSAGE_CHILDREN));
}

}  // namespace wick::fuzz
