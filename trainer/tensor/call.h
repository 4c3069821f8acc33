// The dispatcher: every op of the trainer, forward or backward, eager or captured, goes through
// call().
#pragma once

#include "runtime/core/trace.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/op_info.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Applies the shape rule, allocates the outputs, runs the kernel, records the call and informs the
// tracer. `in` has one entry per input of the op's signature; null or undefined for an absent
// optional one. `out` is filled; its size is the number of outputs.
void call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
          const Where& where);

// The common case of one output. The source location is that of the first Arg.
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
// Sets the number of threads of the shared pool, including the caller; results do not depend on it.
void set_num_threads(int threads);
// Returns that number.
int num_threads();
ThreadPool* thread_pool();  // null: one thread

// Reports every op that the calling thread runs to `hook`; null switches it off.
void set_trace_hook(TraceHook* hook);

// While it lives, this thread only runs the reference kernels: the numeric contract as plain loops.
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
