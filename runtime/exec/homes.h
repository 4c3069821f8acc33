// Tracks where each value's bytes are, with a union-find over the values that share one buffer.
#pragma once

#include "runtime/core/span.h"
#include "runtime/exec/binder.h"
#include "runtime/plan/memory_plan.h"

namespace wick {

struct Binder::Homes {
  enum class Home : uint8_t { kNowhere, kInput, kBuffer };
  Span<uint32_t> parent;
  Span<size_t> within;  // where its bytes begin in its parent's
  Span<Home> home;
  Span<BufferRequest> ranges;  // by root
  Span<int32_t> written;       // by root: the last step that writes into the buffer

  uint32_t root(uint32_t v) const {
    while (parent[v] != v) {
      within[v] += within[parent[v]];
      v = parent[v] = parent[parent[v]];
    }
    return v;
  }
  // Returns where the value's bytes begin in the buffer of its root.
  size_t place(uint32_t v) const {
    size_t at = 0;
    for (root(v); parent[v] != v; v = parent[v]) at += within[v];
    return at;
  }
  // Extends the value's live range on the host to that step.
  void use(uint32_t v, int32_t when) {
    const uint32_t r = root(v);
    if (ranges[r].last < when) ranges[r].last = when;
  }
  // Puts one root's buffer into another's, at that byte.
  void put(uint32_t part, uint32_t into, size_t at) {
    BufferRequest &from = ranges[part], &to = ranges[into];
    parent[part] = into, within[part] = at;
    if (to.first > from.first) to.first = from.first;
    if (to.last < from.last) to.last = from.last;
    if (written[into] < written[part]) written[into] = written[part];
    from.bytes = 0;
  }
};

}  // namespace wick
