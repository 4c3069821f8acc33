// The job of this process: started by the first init(), left when the process ends.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/core/real_text.h"
#include "trainer/distributed/comm/communicator.h"
#include "trainer/distributed/group.h"
#include "trainer/distributed/mpi/world.h"
#include "trainer/tensor/philox.h"

namespace wick::distributed {
namespace {

std::mutex g_mutex;
std::terminate_handler g_terminate = nullptr;

std::shared_ptr<Communicator>& world() {
  static std::shared_ptr<Communicator> communicator;
  return communicator;
}

void leave() { world()->engine().stop(); }

// An exception that nobody catches ends this rank: the others are told why.
void report_and_terminate() {
  if (world()->size() == 1) {
    if (g_terminate != nullptr) g_terminate();
    std::abort();
  }
  std::string what = "std::terminate was called";
  if (const std::exception_ptr e = std::current_exception()) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& error) {
      what = std::string("ended by an exception: ") + error.what();
    } catch (...) {
      what = "ended by an exception that is no std::exception";
    }
  }
  const std::string report = world()->engine().fail(what);
  fprintf(stderr, "%s\n", report.c_str());
  fflush(stderr);
  // The launcher ends all ranks when one is gone: the others print theirs first.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  world()->engine().transport().end_process();
}

[[noreturn]] void refuse_variable(const char* name, const char* text, const char* want) {
  throw Error(std::string("[distributed] ") + name + " is '" + text + "'; it must be " + want);
}

double timeout_of(const InitOptions& options) {
  if (options.timeout_s > 0) return options.timeout_s;
  const char* text = std::getenv("WICK_COLLECTIVE_TIMEOUT");
  if (text == nullptr) return EngineOptions().timeout_s;
  double seconds = 0;
  if (read_real(text, &seconds) && seconds > 0) return seconds;
  refuse_variable("WICK_COLLECTIVE_TIMEOUT", text, "a number of seconds above 0");
}

// A whole number of the environment; -1: it is not set.
template <class T>
T count_of(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return -1;
  T value = -1;
  if (!read_integer(text, &value) || value < 0)
    refuse_variable(name, text, "a whole number from 0");
  return value;
}

}  // namespace

bool has_mpi() { return built_with_mpi(); }

int restart_count() { return std::max(0, count_of<int>("WICK_RESTART")); }

Group init(const InitOptions& options) {
  std::lock_guard lock(g_mutex);
  std::shared_ptr<Communicator>& job = world();
  if (job == nullptr) {
    EngineOptions o;
    o.timeout_s = timeout_of(options);
    const int64_t seed = count_of<int64_t>("WICK_SEED");
    o.dump_folder = options.flight_recorder;
    if (const char* folder = std::getenv("WICK_FLIGHT_RECORDER"); folder && o.dump_folder.empty())
      o.dump_folder = folder;
    job = std::make_shared<Communicator>(std::make_shared<Engine>(join_world(), o));
    g_terminate = std::set_terminate(report_and_terminate);
    std::atexit(leave);
    if (seed >= 0) manual_seed(static_cast<uint64_t>(seed));
  }
  return Group(job);
}

}  // namespace wick::distributed
