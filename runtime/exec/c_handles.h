// What the opaque types of the C ABI are, and how its functions read and write the caller's
// structs.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/backend/device_tensor.h"
#include "runtime/core/array.h"
#include "runtime/core/thread_pool.h"
#include "runtime/exec/c_api.h"
#include "runtime/exec/c_op.h"
#include "runtime/exec/in_use.h"
#include "runtime/exec/session_pool.h"
#include "runtime/ops/op_library.h"
#include "wick/c/hooks.h"
#include "wick/c/program.h"

namespace wick::c_api {

// The caller's functions, or the default allocator.
class CAllocator final : public Allocator {
 public:
  explicit CAllocator(const wick_allocator& a) : a_(a) {}
  bool given() const { return a_.allocate != nullptr; }
  const wick_allocator& functions() const { return a_; }
  void* allocate(size_t bytes, size_t align) override {
    return given() ? a_.allocate(a_.user, bytes, align)
                   : default_allocator().allocate(bytes, align);
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p == nullptr) return;
    given() ? a_.deallocate(a_.user, p, bytes, align)
            : default_allocator().deallocate(p, bytes, align);
  }

 private:
  wick_allocator a_;
};

// Both functions are given or none.
Status check_allocator(const wick_allocator& a);

// No struct ever ended within a field: half a pointer could point anywhere.
template <class T>
Status check_struct_size(const T& given, const char* name) {
  if (given.size >= sizeof(given.size) && given.size % alignof(T) == 0) return {};
  return error(Code::kInvalidArgument,
               "%s.size is %zu: set it to sizeof the struct, as WICK_INIT does", name, given.size);
}

// Copies a struct of the caller's; null: all zero. A caller built against an older header has a
// shorter struct; the fields it lacks become zero.
template <class T>
Status read_struct(const T* given, T* full, const char* name) {
  *full = {};
  if (given != nullptr) {
    WICK_TRY(check_struct_size(*given, name));
    memcpy(full, given, std::min(given->size, sizeof(T)));
  }
  full->size = sizeof(T);
  return {};
}
template <class T>
Status read_options(const T* given, T* full) {
  return read_struct(given, full, "options");
}

// Fills a struct of the caller's, as far as it goes.
template <class T>
Status write_struct(const T& full, T* given, const char* name) {
  WICK_TRY(check_pointer(given, name));
  WICK_TRY(check_struct_size(*given, name));
  const size_t size = given->size;
  memcpy(given, &full, std::min(size, sizeof(T)));
  given->size = size;
  return {};
}

// Hands the steps of a run to a C function.
class TraceToC final : public TraceHook {
 public:
  // Copies the hook. kInvalidArgument: it has no function.
  Status take(const wick_trace_hook& given);
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return hook_.takes_blocks != 0; }

 private:
  wick_trace_hook hook_{};
};

// What the options of sessions refer to, until they were created.
struct SessionLists {
  explicit SessionLists(Allocator& allocator) : dims(allocator), kernels(allocator) {}
  Array<DimBinding> dims;
  Array<const KernelSet*> kernels;
};
// Checks the options of sessions and reads them. `trace` must outlive these sessions.
Status read_session_options(const wick_session_options& o, SessionLists& lists, TraceToC& trace,
                            SessionOptions* options);
// The tensors on a device that a run's options refer to.
struct DeviceLists {
  static constexpr size_t kMost = 64;
  DeviceTensor *in[kMost], *out[kMost];
};
// `lists`: null where nothing runs. `when_busy`: null where nothing waits for a session.
Status read_run_options(const wick_run_options* given, RunOptions* options, DeviceLists* lists,
                        WhenBusy* when_busy = nullptr);
// Read the caller's inputs and outputs: outputs without data and those on a device get empty views.
Status read_inputs(const wick_tensor* inputs, size_t n, const RunOptions& options,
                   TensorView* views);
Status read_outputs(const wick_tensor* outputs, size_t n, const RunOptions& options,
                    TensorView* views);
// Describes what the session gave where the caller had no memory.
void give_outputs(const TensorView* views, size_t n, wick_tensor* outputs);
void fill_port(const Program& program, const char* name, DType dtype, bool unranked,
               Span<const DimDef> dims, wick_port* port);

}  // namespace wick::c_api

struct wick_program {
  explicit wick_program(const wick_load_options& o)
      : allocator(o.allocator), log{o.log, o.log_user}, ops(allocator) {}
  // Returns what an object of this program allocates from: `own` where it is given, else the
  // program's allocator. That one is called through its functions, so that nothing depends on the
  // address of the program handle.
  wick_allocator allocator_for(const wick_allocator& own) const;

  wick::c_api::CAllocator allocator;
  wick::c_api::Log log;
  wick::Array<const wick::CustomOp*> ops;
  wick::Owned<wick::Program> program;
};

// Ops of a library, or made of callbacks.
struct wick_ops {
  wick::Owned<wick::OpLibrary> library;
  wick::Array<const wick::CustomOp*> list{wick::default_allocator()};
  wick::Array<wick::CustomOpName> names{wick::default_allocator()};
  wick::Array<wick::c_api::CallbackOp> made{wick::default_allocator()};
  wick::Array<wick::AttrField> fields{wick::default_allocator()};

  wick::Status add(const wick::CustomOp* op) {
    WICK_TRY(names.push_back(wick::custom_op_name(op->domain, op->name)));
    return list.push_back(op);
  }
};

struct wick_cancel {
  wick::CancelFlag flag;
};

// A device; what made it frees it.
struct wick_backend {
  wick::Backend* backend = nullptr;
};

// A tensor on a device; what made it frees it.
struct wick_device_tensor {
  wick::DeviceTensor* tensor = nullptr;
};

struct wick_thread_pool {
  explicit wick_thread_pool(const wick_allocator& a) : allocator(a) {}
  wick::c_api::CAllocator allocator;
  wick::Owned<wick::ThreadPool> pool;
};

struct wick_session {
  wick_session(const wick_allocator& a, const wick_program& p)
      : allocator(a), program(p), views(allocator), named(allocator) {}
  wick::c_api::CAllocator allocator;
  const wick_program& program;
  wick::c_api::TraceToC trace;
  wick::Array<wick::TensorView> views;  // inputs, then outputs; reserved once for every run
  wick::Array<wick::NamedView> named;   // the same for runs by name; empty before the first
  wick::InUse use;                      // guards the session, `views` and `named`
  wick::Session* session = nullptr;     // own, or a pool's
  wick::Owned<wick::Session> own;
  wick::SessionPool::Lease lease;  // of a pool's session while a caller has it
};

struct wick_state {
  explicit wick_state(const wick_allocator& a) : allocator(a) {}
  wick::c_api::CAllocator allocator;
  wick::Owned<wick::RecurrentState> state;
};

struct wick_pool {
  wick_pool(const wick_allocator& a, const wick_program& p)
      : allocator(a), program(p), sessions(allocator) {}
  wick::c_api::CAllocator allocator;
  const wick_program& program;
  wick::c_api::TraceToC trace;
  wick::Owned<wick::SessionPool> pool;
  wick::Array<wick_session*> sessions;  // a handle for each of the pool's
};

namespace wick::c_api {

// Returns where a call's errors are logged; a null handle has no log.
inline Log log_for(const wick_program* p) { return p == nullptr ? Log() : p->log; }
inline Log log_for(const wick_session* s) { return s == nullptr ? Log() : s->program.log; }
inline Log log_for(const wick_pool* p) { return p == nullptr ? Log() : p->program.log; }

}  // namespace wick::c_api
