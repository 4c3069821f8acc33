// LentBytes: a constant's bytes that are read from elsewhere (a model's file) only when they are
// needed. A weight that is used only in packed form is read once, into a buffer that the next
// weight reuses.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

// Every function may be called from any thread.
class LentBytes {
 public:
  // filled() returns whether the bytes are at their address, where they then stay. Before that
  // nobody may read that address.
  virtual bool filled() const = 0;
  virtual Status fill() = 0;
  // Copies all bytes to `to`, memory of the caller.
  virtual Status read(void* to) = 0;

 protected:
  ~LentBytes() = default;
};

// A segment that is lent to a program made in memory: 64-byte aligned, and it lives as long as the
// program.
struct LentSegment {
  LentSegment() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): bytes that are there are a segment
  LentSegment(Span<const uint8_t> b, LentBytes* s = nullptr) : bytes(b), source(s) {}
  Span<const uint8_t> bytes;
  LentBytes* source = nullptr;  // null: the bytes are already in memory
};

}  // namespace wick
