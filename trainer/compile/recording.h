// What a step did, as compile_step() recorded it: the kernels that ran, in order, and the memory
// that they read and wrote. Internal to trainer/compile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/tensor/recorder.h"

namespace wick::compiled {

// What owns the memory of a buffer.
enum class Place : uint8_t {
  kInner,     // the step made it and gave it back
  kArgument,  // an argument of the step
  kGradient,  // the gradient that a leaf had when the step began
  kOutside,   // anything else that was there before: parameters, buffers, constants
  kKept,      // the step made it, and it lives on: a result, a gradient, what host code holds
};

struct Buffer {
  size_t bytes = 0;
  Place place = Place::kInner;
  int index = -1;                 // of the argument, or of the leaf
  IntrusivePtr<Storage> storage;  // of kOutside and kKept
  Where born;                     // the line that made it
  bool written = false;           // by an entry so far
  int fill = -1;                  // the entry that fills it, as long as nothing else has as a whole
  bool held = false;              // of kKept: host code has handles on it
};

// A view of a buffer; its own data pointer is null. buffer < 0: an absent input, or no elements.
struct Ref {
  int buffer = -1;
  int64_t offset = 0;  // in bytes from the start of its storage, or from the argument
  TensorView view;
};

// The gradient of a leaf at some moment.
struct GradState {
  enum Kind : uint8_t {
    kNone,   // there is none
    kBytes,  // `ref` is its bytes
    kLeave,  // host code of the step has set it
  } kind = kNone;
  Ref ref;
};

struct Entry {
  enum Kind : uint8_t { kKernel, kCopy, kZero, kFill, kDraw, kCheck, kHost } kind;
  OpId op = OpId::kNone;
  AnyAttrs attrs;
  std::vector<Ref> in, out;
  Where where;
  // kFill: what the buffer held that no entry had written.
  std::vector<char> bytes;
  bool exact = false;  // false: nobody has read it, it may never have been written
  // kDraw
  DrawFill fill{};
  size_t generator = 0;
  uint64_t stream = 0;  // after the first one of the step
  // kCheck
  std::function<bool(const TensorView&)> holds;
  const char* name = "";  // also of kHost
  // kHost
  std::function<void()> host;
  std::vector<GradState> grads;   // of each leaf, before the host code runs
  std::vector<uint64_t> streams;  // that each source has given before
  bool grad_mode = true;
};

// A tensor from outside that an op used: the step may be repeated while it has the same memory.
struct Outside {
  Tensor tensor;
  const Storage* storage;
  TensorView view;
  bool requires_grad;
};
struct Flag {
  const bool* at;
  bool value;
};
struct Phase {  // of an optimizer that accumulates
  const optim::Optimizer* optimizer;
  bool acts;
};
struct Source {  // of random numbers
  Generator* generator;
  uint64_t seed, first;
  uint64_t count = 0;  // streams that the step takes
};
struct Argument {
  DType dtype;
  Shape shape;
  Strides strides;
  int same_as;       // an earlier argument with the same storage; -1: none
  int64_t distance;  // from that one, in bytes
};
// A tensor that the step returned.
struct Result {
  int argument = -1;  // it is this argument
  Tensor outside;     // it is this tensor from outside
  Ref ref;            // else: it was made
};

struct Recording {
  std::vector<Entry> entries;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<Outside> outside;
  std::vector<Tensor> leaves;
  std::vector<GradState> grads_before, grads_after;  // of each leaf
  std::vector<Flag> flags;
  std::vector<Phase> phases;
  std::vector<const void*> owners;  // objects whose addresses are held
  std::vector<Source> sources;
  std::vector<Result> results;
  std::vector<StepBreak> breaks;
  uint64_t changes = 0;  // step_changes()
  int threads = 1;
  bool grad_mode = true, reference = false;
  // The recording was made beside another one, whose checks did not hold: it is of another path.
  bool other_path = false;
};

// Returns the first difference of two recordings of one step, in words; empty if they are equal.
std::string difference(const Recording& a, const Recording& b);

// Returns whether the view is all of a buffer of so many bytes.
bool is_whole(const Ref& r, size_t bytes);

// Returns the user's line as "train.cpp:41".
std::string line_of(const Where& where);

}  // namespace wick::compiled
