// The entries of a recording over values instead of memory: each whole write of inner memory makes
// a value of its own, so that what an entry reads never changes until its last reader. Internal to
// trainer/compile.
#pragma once

#include "trainer/compile/recording.h"

namespace wick::compiled {

struct Value {
  size_t bytes = 0;
  int buffer = -1;            // of the recording
  bool inner = false;         // planned memory; else the buffer's own, which others see
  bool once = false;          // inner, and written once as a whole: it never changes
  int constant = -1;          // the entry that fills it; -1: it is computed
  int shares = -1;            // the value whose memory it is given, once that is no longer read
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
  bool joins = false;  // no kernel: out[i] = in[i] + 0, for parts of one value
  bool gone = false;   // it became a part of another one
};

struct Works {
  std::vector<Work> list;
  std::vector<Value> values;
  std::vector<int> of_buffer;  // the value of a buffer's memory at the end; -1: no entry uses it
};

// Makes the values of a recording.
Works make_works(const Recording& r);

// Who reads and writes values.
class Uses {
 public:
  explicit Uses(const Works& works);
  // Returns the only work that reads a value, as a whole and once; -1: there is none, or others
  // see it.
  int only_reader(const Operand& o) const;
  // Returns the work that writes a value last; -1: none.
  int maker(int value) const { return maker_[static_cast<size_t>(value)]; }
  // Returns whether what the work reads stays as it is from one place in the list to another.
  bool may_wait(const Work& work, int from, int to) const;

 private:
  const Works& w_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> maker_;
};
// Returns whether both are the same elements in the same order.
bool same_operand(const Operand& a, const Operand& b);

// Lets products and convolutions add what is added to their result, and apply the activation: one
// FusedLinear or FusedConv, which has the bits of the two or three. Returns how many works are
// gone.
int fuse_epilogues(Works* works);

// Writes the sum of tensors that were padded with zeros beside each other, as the gradient of a
// split is, part by part: x + 0 each, which is what the sum is. Returns how many works are gone.
int join_pads(Works* works);

// Fuses elementwise kernels whose results only each other read, with the reductions of rows between
// them, into one FusedElementwise, which has their bits. Returns how many kernels became parts of
// others.
int fuse(Works* works);

// Sets first and last of every value.
void set_ranges(Works* works);

}  // namespace wick::compiled
