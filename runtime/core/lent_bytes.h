// LentBytes: bytes of a constant that lie elsewhere (in the file of a model) until somebody needs
// them. A weight that is only packed is read once, into memory that the next one takes over.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

// Every call from any thread.
class LentBytes {
 public:
  // They are at their address and stay there. Before that nobody may touch it.
  virtual bool filled() const = 0;
  virtual Status fill() = 0;
  // All of them, to a place of the caller's.
  virtual Status read(void* to) = 0;

 protected:
  ~LentBytes() = default;
};

// What a program made in memory is lent: 64-byte aligned, alive as long as the program.
struct LentSegment {
  LentSegment() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): bytes that are there are a segment
  LentSegment(Span<const uint8_t> b, LentBytes* s = nullptr) : bytes(b), source(s) {}
  Span<const uint8_t> bytes;
  LentBytes* source = nullptr;  // null: they are there
};

}  // namespace wick
