// The entries of a recording over values instead of memory: each whole write of inner memory makes
// a value of its own, so that what an entry reads never changes until its last reader. Internal to
// trainer/compile.
#pragma once

#include "trainer/compile/recording.h"

namespace wick::compiled {

struct Value {
  size_t bytes = 0;
  int buffer = -1;     // of the recording
  bool inner = false;  // planned memory; else the buffer's own, which others see
  bool once = false;   // inner, and written once as a whole: it never changes
  int constant = -1;   // the entry that fills it; -1: it is computed
  int shares = -1;     // the value whose memory it is given, once that is no longer read
  int first = -1, last = -1;  // the entries that write and read it
};

struct Operand {
  int value = -1;  // < 0: absent, or no elements
  int64_t offset = 0;
  TensorView view;
};

struct Work {
  const Entry* entry = nullptr;
  OpId op = OpId::kNone;
  AnyAttrs attrs;
  std::vector<Operand> in, out;
  bool gone = false;  // it became a part of another one
  int parts = 1;      // kernels that it stands for
};

struct Works {
  std::vector<Work> list;
  std::vector<Value> values;
  std::vector<int> of_buffer;  // the value of a buffer's memory at the end; -1: no entry uses it
};

// Makes the values of a recording.
Works make_works(const Recording& r);

// Fuses elementwise kernels whose results only each other read, with the reductions of rows between
// them, into one FusedElementwise, which has their bits. Returns how many kernels became parts of
// others.
int fuse(Works* works);

// Sets first and last of every value.
void set_ranges(Works* works);

}  // namespace wick::compiled
