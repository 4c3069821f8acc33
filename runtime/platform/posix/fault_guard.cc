#include "runtime/platform/fault_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "runtime/platform/threads.h"

namespace wick::platform {
namespace {

// A guarded mapping. The signal handler reads it, so it has lock-free atomics in static memory.
struct Guarded {
  std::atomic<uint32_t> taken{0};
  // Odd while the other fields are written. A handler that finds an odd or changed version goes on
  // to the next place: the mapping that it looks for belongs to a living program, whose place does
  // not change.
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<std::atomic<uint32_t>*> lost{nullptr};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                  std::atomic<uintptr_t>::is_always_lock_free,
              "a signal handler cannot wait for a lock");

Guarded g_guarded[kMostGuarded];
std::atomic<uintptr_t> g_page{0};

// The host's handler. It has two slots, as one may be read while the other is written.
struct Earlier {
  struct sigaction actions[2];
  std::atomic<int> current{0};
};
Earlier g_earlier;
constinit GlobalMutex g_installing;
bool g_installed = false;  // set once; a host's later handler may call this one

void set(Guarded& g, uintptr_t begin, uintptr_t end, std::atomic<uint32_t>* lost) {
  g.version.fetch_add(1);
  g.begin.store(begin);
  g.end.store(end);
  g.lost.store(lost);
  g.version.fetch_add(1);
}

// Maps a page of zeros where the page cannot be read; false: it belongs to no guarded mapping.
bool mend(uintptr_t at) {
  const uintptr_t page = g_page.load();
  for (Guarded& g : g_guarded) {
    const uint32_t version = g.version.load();
    const uintptr_t begin = g.begin.load(), end = g.end.load();
    std::atomic<uint32_t>* lost = g.lost.load();
    if (version % 2 != 0 || g.version.load() != version || at < begin || at >= end) continue;
    void* place = reinterpret_cast<void*>(at / page * page);  // NOLINT: a fault has an address only
    if (mmap(place, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != place)
      return false;
    lost->store(true);
    return true;
  }
  return false;
}

// Calls the host's handler in the way the kernel would have called it.
void hand_on(int signal, siginfo_t* info, void* context) {
  struct sigaction& earlier = g_earlier.actions[g_earlier.current.load()];
  const bool with_info = (earlier.sa_flags & SA_SIGINFO) != 0;
  const bool by_fault = info->si_code > 0;  // else another process or thread sent it
  const auto handler = earlier.sa_handler;
  if (!with_info && handler == SIG_IGN && !by_fault) return;
  if (!with_info && (handler == SIG_DFL || handler == SIG_IGN)) {
    // With the default action a fault comes again as soon as this returns, and ends the process
    // where it happened; that also holds for ignored signals.
    struct sigaction end = {};
    end.sa_handler = SIG_DFL;
    sigaction(signal, &end, nullptr);
    if (!by_fault) raise(signal);
    return;
  }
  sigset_t before, also = earlier.sa_mask;
  if ((earlier.sa_flags & SA_NODEFER) == 0) sigaddset(&also, signal);
  pthread_sigmask(SIG_BLOCK, &also, &before);
  if ((earlier.sa_flags & SA_NODEFER) != 0) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }
  const auto with = earlier.sa_sigaction;
  if ((earlier.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    earlier.sa_handler = SIG_DFL;
    earlier.sa_flags = 0;
  }
  with_info ? with(signal, info, context) : handler(signal);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (info->si_code <= 0 || !mend(reinterpret_cast<uintptr_t>(info->si_addr)))
    hand_on(signal, info, context);
  errno = saved;
}

int install() {
  g_page.store(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)));
  struct sigaction present = {};
  if (sigaction(SIGBUS, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) != 0 &&
      present.sa_sigaction == on_bus_error)
    return 0;
  struct sigaction ours = {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  // The host's handler is stored before ours, which reads it, is installed.
  const int other = 1 - g_earlier.current.load();
  g_earlier.actions[other] = present;
  g_earlier.current.store(other);
  return sigaction(SIGBUS, &ours, nullptr) == 0 ? 0 : errno;
}

}  // namespace

int install_fault_guard() {
  const MutexLock lock(g_installing);
  const int cause = install();
  g_installed = g_installed || cause == 0;
  return cause;
}

int guard_pages(const void* begin, size_t bytes, std::atomic<uint32_t>* lost, int* place) {
  *place = -1;
  g_installing.lock();
  const bool installed = g_installed;
  g_installing.unlock();
  const int cause = installed ? 0 : install_fault_guard();
  if (cause != 0) return cause;
  const auto at = reinterpret_cast<uintptr_t>(begin);
  for (int i = 0; i < kMostGuarded; ++i) {
    Guarded& g = g_guarded[i];
    if (g.taken.exchange(true)) continue;
    set(g, at, at + bytes, lost);
    *place = i;
    break;
  }
  return 0;
}

void unguard(int place) {
  if (place < 0) return;
  set(g_guarded[place], 0, 0, nullptr);
  g_guarded[place].taken.store(false);
}

}  // namespace wick::platform
