#include "trainer/loop/interrupt.h"

#include <csignal>

namespace wick::loop {
namespace {

volatile std::sig_atomic_t g_requested = 0;
struct sigaction g_former;

void on_interrupt(int) { g_requested = 1; }

}  // namespace

InterruptScope::InterruptScope() {
  g_requested = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second SIGINT is not caught
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &g_former);
}

InterruptScope::~InterruptScope() { sigaction(SIGINT, &g_former, nullptr); }

bool InterruptScope::requested() { return g_requested != 0; }

}  // namespace wick::loop
