// The objects of the C ABI, and the options that its functions are given.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/core/array.h"
#include "runtime/core/thread_pool.h"
#include "runtime/exec/c_api.h"
#include "runtime/exec/in_use.h"
#include "runtime/exec/session_pool.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_library.h"

namespace wick::c_api {

class CAllocator final : public Allocator {
 public:
  explicit CAllocator(const wick_allocator& a) : a_(a) {}
  bool given() const { return a_.allocate != nullptr; }
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

// Copies the caller's options. A caller built against an older header has a shorter struct; the
// fields it lacks become zero. No struct ever ended within a field: half a pointer could point
// anywhere.
template <class T>
Status read_options(const T* given, T* full) {
  *full = {};
  if (given != nullptr) {
    if (given->size < sizeof(given->size) || given->size % alignof(T) != 0) {
      return error(Code::kInvalidArgument,
                   "options.size is %zu: set it to sizeof the struct, as WICK_INIT does",
                   given->size);
    }
    memcpy(full, given, std::min(given->size, sizeof(T)));
  }
  full->size = sizeof(T);
  return {};
}

// Both functions are given or none.
Status check_allocator(const wick_allocator& a);
// Checks the options of sessions and reads them. `dims` holds what *options refers to.
Status read_session_options(const wick_session_options& o, Array<DimBinding>& dims,
                            SessionOptions* options);
Status read_run_options(const wick_run_options* given, RunOptions* options, WhenBusy* when_busy);

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

struct wick_ops {
  wick::Owned<wick::OpLibrary> library;
  wick::Array<wick::CustomOpName> names{wick::default_allocator()};
};

struct wick_cancel {
  wick::CancelFlag flag;
};

struct wick_thread_pool {
  explicit wick_thread_pool(const wick_allocator& a) : allocator(a) {}
  wick::c_api::CAllocator allocator;
  wick::Owned<wick::ThreadPool> pool;
};

struct wick_session {
  wick_session(const wick_allocator& a, const wick_program& p)
      : allocator(a), program(p), views(allocator) {}
  wick::c_api::CAllocator allocator;
  const wick_program& program;
  wick::Array<wick::TensorView> views;  // inputs, then outputs; reserved once for every run
  wick::InUse use;                      // guards the session and `views`
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
  wick::Owned<wick::SessionPool> pool;
  wick::Array<wick_session*> sessions;  // a handle for each of the pool's
};
