// Session: an entry point of a program, ready to run for one caller at a time. Opening a session
// chooses kernels, plans memory and packs weights; run() then is a loop over steps that never
// allocates.
#pragma once

#include "runtime/core/stop.h"
#include "runtime/core/trace.h"
#include "runtime/program/program.h"

namespace wick {

class Backend;         // runtime/backend/backend.h
class DeviceTensor;    // runtime/backend/device_tensor.h
class ExplainHook;     // runtime/backend/explain.h
class RecurrentState;  // runtime/exec/recurrent_state.h
class SessionPool;     // runtime/exec/session_pool.h
class StateRun;        // runtime/exec/state_run.h
class ThreadPool;      // runtime/core/thread_pool.h
struct KernelSet;      // runtime/kernels/kernel.h

// Binds a symbolic dimension to an extent ("batch", 32).
struct DimBinding {
  // The symbol's name, and its extent.
  const char* symbol;
  int64_t extent;
};

// Options of Session::create().
struct SessionOptions {
  const char* entry = nullptr;     // null: the first
  int threads = 0;                 // 0: as many as the process may use, or as the given pool has
  Allocator* allocator = nullptr;  // null: default_allocator(); must outlive the session
  // Searched in order; empty: default_kernels().
  Span<const KernelSet* const> kernels = {};
  Backend* backend = nullptr;  // asked before the CPU; must outlive the session
  // Sizes to plan for at once; later bindings up to them reuse the memory.
  Span<const DimBinding> max_dims = {};
  // Bytes the session may hold: arena, scratch, and the packed weights that it uses, also those
  // that other sessions packed.
  uint64_t max_ram = uint64_t{1} << 33;
  TraceHook* trace = nullptr;  // sees each step; null: none
  // A file of what is known of the model's kernels on this device (Backend::load_cache), which
  // ships with the model; null: none. The session opens without it where it cannot be used: see
  // Session::refused_cache().
  const char* device_cache = nullptr;
  // Threads that any number of sessions may share; must outlive them. Null: the session starts its
  // own. While one session's run uses them, the others' runs go on without them.
  ThreadPool* thread_pool = nullptr;
};

// Options of a run.
struct RunOptions {
  // Counted from the call, checked between and within steps; 0: none. When it passes the run
  // returns kDeadline and leaves its outputs untouched.
  uint64_t timeout_ns = 0;
  // Null: none. Once it is requested, the run ends as at a deadline, with kCancelled. It must live
  // until run() or finish() has returned.
  const CancelFlag* cancel = nullptr;
  // What the model remembers of the stream of which this run is a step: the program's state buffers
  // (an entry point that has some needs it), and links; inputs and outputs are then those that it
  // does not link, in their order. It is as it was where the run fails, and must live until run()
  // or finish() has returned.
  RecurrentState* state = nullptr;
  // Tensors in the memory of the session's device (Backend::create_tensor), by port number; shorter
  // lists and nulls leave the rest to `inputs` and `outputs`, whose entries for these ports are
  // neither read nor written. A run copies such an input within the device before its first step,
  // and such an output after its last one, so that one tensor may be both: a state. Where the
  // port's value does not stay on the device (a step on the CPU reads or makes it), it passes
  // through the host. On error these outputs may hold anything. The tensors must live until run()
  // or finish() has returned. kInvalidArgument: the session has no device or another one, a list is
  // too long, or two outputs are the same tensor; kTypeMismatch, kShapeMismatch: an output's tensor
  // is not what the run makes; kDevice: the device was lost, and with it an input.
  Span<DeviceTensor* const> device_inputs = {}, device_outputs = {};
};

// A tensor by the name of its port.
struct NamedView {
  // The port's name, and the tensor.
  const char* name;
  TensorView view;
};

// Describes an input or output as the program declares it: dims have symbols where sizes are free.
struct PortInfo {
  // Its name and type; unranked: the rank is free, and there are no dims.
  const char* name;
  DType dtype;
  bool unranked;
  Span<const DimDef> dims;
  DType element = DType::kNone;  // of the elements of a sequence or an optional
};

// Serves one caller at a time, from any thread. A call while another one is running gets
// kInvalidArgument and changes nothing; so does, between start() and finish(), any call that is
// neither finish() nor read-only. Open a session for each thread, or a SessionPool for all:
// sessions of one program share its weights, packed ones included. Members that return no status
// may be called at any time except during destroy(), and report the state after the last completed
// call.
class Session {
 public:
  // `program` must outlive the session. kUnsupported lists every step without a kernel; kNotFound:
  // no such entry.
  static Result<Owned<Session>> create(const Program& program, const SessionOptions& options = {});
  static void destroy(Session* session);

  // Return the number of inputs and outputs, and what the program says of one; i must be in range.
  size_t input_count() const;
  size_t output_count() const;
  PortInfo input(size_t i) const;
  PortInfo output(size_t i) const;
  int find_input(const char* name) const;   // -1: none
  int find_output(const char* name) const;  // -1: none

  // Plans for these input shapes, in input order. May allocate. Where shapes depend on values, the
  // steps after that point are planned as runs find new shapes. On error the earlier binding is
  // lost; the next bind or run plans anew. kShapeMismatch, kUnsupported, kBudgetExceeded,
  // kOutOfMemory; kInvalidArgument: a state has a size that no input has, so that only a run with a
  // state can bind.
  Status bind(Span<const Shape> shapes);
  // Returns the shape that an output will have after a binding; where it depends on values, the
  // shape it had in the last run. kInvalidArgument before that, or out of range.
  Result<Shape> output_shape(size_t i) const;

  // Runs the program. `inputs`: every input, in order, contiguous; shapes that differ from the
  // bound ones are bound first (that may allocate; equal shapes never do). `outputs`: one view per
  // output; where data is null the session sets it to its own memory, valid until the next run or
  // bind; otherwise shape and dtype must be right and the result is copied there. On error outputs
  // are untouched.
  // A sequence or an optional is one packed value (core/packed_sequence.h) of dtype kSequence,
  // kOptional or kOptionalSequence and shape [bytes], 8-byte aligned; plans do not depend on its
  // size. Strings are references (string_ref.h): the bytes of inputs must stay valid until the
  // outputs have been read, those of outputs are valid until the next run or bind. An output that
  // the session gives may be a part of options.state: it is valid until the next run with either.
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs,
             const RunOptions& options = {});
  // Runs with inputs given by name, in any order; outputs may be a subset. Ports that options.state
  // links are left out.
  Status run(Span<const NamedView> inputs, Span<NamedView> outputs, const RunOptions& options = {});

  // run() in two halves, so that the caller can work meanwhile: start() returns as soon as the last
  // part of the program that a backend runs was started (on the CPU alone: when all is done),
  // finish() waits for it. Consecutive runs overlap where two sessions of one program take turns:
  // they share the weights on the device. Between the halves the inputs must stay unchanged, as the
  // CPU needs them if the device fails, and this session does nothing else. After finish() the run
  // is over whatever it returns, except when the given outputs themselves are wrong (kTypeMismatch,
  // kShapeMismatch).
  Status start(Span<const TensorView> inputs, const RunOptions& options = {});
  Status finish(Span<TensorView> outputs);

  // Reports where the present binding runs, why, and the copies between host and device. Stages
  // whose shapes depend on values, and the regions of If and Loop, are included once a run has
  // reached them.
  Status explain(ExplainHook& hook) const;

  // Returns "" while the given backend runs its part, else why everything now runs on the CPU: the
  // device failed, hung or ran out of memory when this session was bound or ran. The call in which
  // that happened was repeated on the CPU and its result is right.
  const char* left_backend() const;

  // Returns "" if SessionOptions::device_cache was taken or none was given, else why it was not: it
  // was made for another device or driver, or is damaged. Kernels are then checked and compiled as
  // without it.
  const char* refused_cache() const;

  // Returns the number of steps of a run.
  size_t step_count() const;
  size_t arena_bytes() const;   // planned memory of the present binding
  size_t packed_bytes() const;  // weights packed or uploaded by backends
  // Returns how many of packed_bytes() belong to the program, which holds them once for all of its
  // sessions (Program::packed).
  size_t shared_bytes() const;
  // Returns the number of threads that a run may use.
  int threads() const;

  // The packed forms of constants that this session uses and that a file may store, by number, so
  // that later sessions need not pack them (Constant.packed); valid as long as the session.
  struct PackedForm {
    // The number of the constant, the layout's id, and the packed bytes.
    uint32_t constant = 0, layout = 0;
    Span<const uint8_t> bytes;
  };
  // Returns the number of those forms.
  size_t packed_form_count() const;
  // A form without bytes is not meant for a file. kInvalidArgument: out of range.
  Result<PackedForm> packed_form(size_t i) const;

 private:
  friend class SessionPool;
  struct Impl;
  class Explainer;
  Session() = default;
  ~Session() = default;
  Status run_with(StateRun& state, Span<const TensorView> inputs, Span<TensorView> outputs,
                  const RunOptions& options);
  Impl* impl_ = nullptr;
};

}  // namespace wick
