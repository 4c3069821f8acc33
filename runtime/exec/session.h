// Session: a program's entry point, ready to run for one caller at a time. Opening one resolves
// kernels, plans memory and packs weights; run() then is a loop over steps that never allocates.
#pragma once

#include "runtime/core/stop.h"
#include "runtime/core/trace.h"
#include "runtime/program/program.h"

namespace wick {

class Backend;      // runtime/backend/backend.h
class ExplainHook;  // runtime/backend/explain.h
struct KernelSet;   // runtime/kernels/kernel.h

// The extent of a symbolic dimension ("batch", 32).
struct DimBinding {
  const char* symbol;
  int64_t extent;
};

struct SessionOptions {
  const char* entry = nullptr;     // null: the first
  int threads = 0;                 // 0: as many as the process may use
  Allocator* allocator = nullptr;  // null: default_allocator(); must outlive the session
  // Asked in order; empty: default_kernels().
  Span<const KernelSet* const> kernels;
  Backend* backend = nullptr;  // asked before the CPU; must outlive the session
  Span<const DimBinding>
      max_dims;  // plan for these at once; later bindings up to them reuse the memory
  uint64_t max_ram =
      uint64_t{1} << 33;  // bytes the session may hold: arena, scratch, packed weights
  TraceHook* trace = nullptr;
};

struct RunOptions {
  // From the call; 0: none. Looked at between and within steps: kDeadline, outputs untouched.
  uint64_t timeout_ns = 0;
  // Null: none. Once it is requested, the run ends as at a deadline: kCancelled. It must live until
  // run() or finish() has returned.
  const CancelFlag* cancel = nullptr;
};

// A tensor the caller gives by name.
struct NamedView {
  const char* name;
  TensorView view;
};

// An input or output as the program declares it: dims have symbols where sizes are free.
struct PortInfo {
  const char* name;
  DType dtype;
  bool unranked;
  Span<const DimDef> dims;
  DType element = DType::kNone;  // of a sequence or an optional: of its elements
};

// One caller at a time, from any thread. Whoever comes while a call is in the session (or, but for
// finish() and what only looks, between start() and finish()) gets kInvalidArgument and has touched
// nothing: open a session for each thread, sessions of one program share its weights. Members that
// return no status may be called at any time but during destroy(), and tell what was so when the
// last call was over.
class Session {
 public:
  // `program` must outlive it. kUnsupported lists every step without a kernel; kNotFound: entry.
  static Result<Owned<Session>> create(const Program& program, const SessionOptions& options = {});
  static void destroy(Session* session);

  size_t input_count() const;
  size_t output_count() const;
  PortInfo input(size_t i) const;
  PortInfo output(size_t i) const;
  int find_input(const char* name) const;   // -1: none
  int find_output(const char* name) const;  // -1: none

  // Plans for these input shapes, in input order. May allocate. Where values decide a shape, what
  // comes behind is planned as runs find new shapes. On error the earlier binding is gone; the next
  // bind or run plans anew. kShapeMismatch, kUnsupported, kBudgetExceeded, kOutOfMemory.
  Status bind(Span<const Shape> shapes);
  // After a binding: the shape an output will have; where values decide it, after a run: the shape
  // it had. kInvalidArgument before, or out of range.
  Result<Shape> output_shape(size_t i) const;

  // A sequence or an optional is one packed value (core/packed_sequence.h) of dtype kSequence,
  // kOptional or kOptionalSequence and shape [bytes], 8-byte aligned; its size plans nothing.
  // `inputs`: every input, in order, contiguous; shapes that differ from the binding's bind again
  // first (that may allocate; equal shapes never do). `outputs`: one view an output; where data is
  // null the session sets it to its own memory, valid until the next run or bind; else shape and
  // dtype must be right and the result is copied there. On error outputs are untouched.
  // Strings are references (string_ref.h): the bytes of inputs must stay until the outputs have
  // been read, those of outputs live until the next run or bind.
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs,
             const RunOptions& options = {});
  // The same by name, in any order; outputs may be some of all.
  Status run(Span<const NamedView> inputs, Span<NamedView> outputs, const RunOptions& options = {});

  // run() in two halves, for what the caller does meanwhile: start() returns as soon as the last
  // part of the program that a backend runs is under way (on the CPU alone: when all is done),
  // finish() waits for it. Consecutive runs overlap where two sessions of one program take turns:
  // they share the weights on the device. Between the halves the inputs stay as they are, for the
  // CPU where the device fails, and this session does nothing else. After finish(), whatever it
  // says, the run is over, but for outputs that are wrong as such (kTypeMismatch, kShapeMismatch).
  Status start(Span<const TensorView> inputs, const RunOptions& options = {});
  Status finish(Span<TensorView> outputs);

  // Where the present binding runs, why, and the copies between host and device. Stages whose
  // shapes values decide, and the regions of If and Loop, are there once a run has met them.
  Status explain(ExplainHook& hook) const;

  // "" while the backend given runs its part. Else why everything runs on the CPU now: the device
  // failed, hung or had no memory left, when this session was bound or ran. The call that met it
  // was begun again on the CPU and its result is right.
  const char* left_backend() const;

  size_t step_count() const;
  size_t arena_bytes() const;   // planned memory of the present binding
  size_t packed_bytes() const;  // weights packed or uploaded by backends
  int threads() const;

  // The forms into which this session packed constants and that a file may carry, by number, so
  // that no later session need pack them (Constant.packed); valid as long as the session.
  struct PackedForm {
    uint32_t constant = 0, layout = 0;
    Span<const uint8_t> bytes;
  };
  size_t packed_form_count() const;
  // No bytes: not for a file. kInvalidArgument: out of range.
  Result<PackedForm> packed_form(size_t i) const;

 private:
  struct Impl;
  class Explainer;
  Session() = default;
  ~Session() = default;
  Impl* impl_ = nullptr;
};

}  // namespace wick
