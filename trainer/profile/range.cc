#include "trainer/profile/range.h"

namespace wick {
namespace {

constinit thread_local RangeListener* g_listener = nullptr;

}  // namespace

RangeListener::RangeListener() : outer_(g_listener) { g_listener = this; }
RangeListener::~RangeListener() { g_listener = outer_; }

bool ranges_heard() { return g_listener != nullptr; }

void begin_range(const char* name, RangeKind kind) {
  for (RangeListener* l = g_listener; l != nullptr; l = l->outer_) l->on_range_begin(name, kind);
}
void end_range(const char* name, RangeKind kind) {
  for (RangeListener* l = g_listener; l != nullptr; l = l->outer_) l->on_range_end(name, kind);
}

}  // namespace wick
