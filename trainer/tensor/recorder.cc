#include "trainer/tensor/recorder.h"

#include <atomic>

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_changes{0};

}  // namespace

void note_host_read(const char* op, const Where& where) {
  note_break(op, "reads a value on the host, and what the program does with it is not an op",
             "return the tensor from the step and read it there, or read it in "
             "run_eagerly([=] { ... })",
             where);
}

void note_break(const char* op, const char* why, const char* rewrite, const Where& where) {
  Recorder* r = modes().recorder;
  if (r == nullptr) return;
  const Where& line = modes().site != nullptr ? modes().site->where : where;
  r->on_break({op, why, rewrite, line.line() == 0 ? std::string() : to_text(line)});
}

void note_flag_read(const bool* flag) {
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_flag(flag);
}

uint64_t step_changes() { return g_changes.load(std::memory_order_relaxed); }
void note_step_change() { g_changes.fetch_add(1, std::memory_order_relaxed); }

}  // namespace wick
