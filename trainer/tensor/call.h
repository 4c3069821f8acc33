// The one door: every op of the trainer, forward or backward, eager or captured, goes through
// call().
#pragma once

#include "runtime/core/trace.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/op_info.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Shape rule -> outputs -> kernel -> tape entry -> tracer. `in`: one a place of the op's signature;
// null or undefined where an optional one is absent. `out`: filled; its size is the number of
// outputs.
void call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
          const Where& where);

// The common case of one output. The location is the first Arg's.
template <class A>
Tensor call(OpId op, const A& attrs, std::initializer_list<Arg> in) {
  const Tensor* pointers[8] = {};
  size_t n = 0;
  for (const Arg& a : in) pointers[n++] = &a.tensor;
  Tensor out;
  call(op, &attrs, Span<const Tensor* const>(pointers, n), Span<Tensor>(&out, 1),
       in.begin()->where);
  return out;
}

// -- settings of the process
// Threads of the shared pool, the caller included; results do not depend on it.
void set_num_threads(int threads);
int num_threads();
ThreadPool* thread_pool();  // null: one thread

// Reports every op the calling thread runs; null switches it off.
void set_trace_hook(TraceHook* hook);

// While it lives, this thread runs the reference kernels only: the numeric contract as plain loops.
class ReferenceKernelsScope {
 public:
  ReferenceKernelsScope();
  ~ReferenceKernelsScope();
  ReferenceKernelsScope(const ReferenceKernelsScope&) = delete;
  ReferenceKernelsScope& operator=(const ReferenceKernelsScope&) = delete;

 private:
  bool saved_;
};

}  // namespace wick
