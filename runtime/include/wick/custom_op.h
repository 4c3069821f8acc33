// Defines a user's own op (kernel, gradient, ONNX name) in a library that links nothing; the recipe
// is docs/recipes/custom-op.md. Example (examples/custom_op/swish.cc):
//
//   constexpr wick::CustomOp kSwish = {.domain = "example",
//                                      .name = "Swish",
//                                      .attrs = &wick::AttrFields<SwishAttrs>::kType,
//                                      .kernels = kKernels,
//                                      .gradient = gradient};
//   WICK_EXPORT_OPS(&kSwish)
//
// Pass the library to wick::load_ops("libswish.so") in the trainer and exporter, to
// LoadOptions::custom_ops or wick_load_options.ops of a program on a device, or to `wick run
// model.wick --ops libswish.so`.
#pragma once

#include "runtime/kernels/kernel.h"
#include "runtime/ops/custom_gradient.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_library.h"

namespace wick {

// Returns a kernel row for inputs of T's dtype, all of them contiguous. What `run` throws ends the
// process; see below.
template <class T>
constexpr KernelRow kernel_row(const char* name,
                               Status (*run)(const KernelCtx&, Span<const TensorView>,
                                             Span<TensorView>, const void*)) {
  return {name,
          kContiguous,
          [](const KernelQuery& q) {
            for (const TensorView& v : q.in) {
              if (v.present() && v.dtype != dtype_of<T>) return false;
            }
            return true;
          },
          nullptr,
          nullptr,
          run};
}

#if WICK_OPS_THROW
// The same for a function that may throw: kernel_row<float, swish<float>>("swish.f32"). What it
// throws on the thread that called it is an error of the op; a task of a thread pool must not
// throw.
template <class T, auto run>
constexpr KernelRow kernel_row(const char* name) {
  return kernel_row<T>(name,
                       [](const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                          const void* attrs) -> Status {
                         try {
                           return run(ctx, in, out, attrs);
                         } catch (...) {
                           return thrown_status("its kernel");
                         }
                       });
}
#endif

}  // namespace wick

// Use it at namespace scope, once in a library, with pointers to all of its ops.
#define WICK_EXPORT_OPS(...)                                                                       \
  extern "C" __attribute__((visibility("default"))) const wick::OpLibraryInfo* wick_op_library() { \
    static constexpr const wick::CustomOp* kOps[] = {__VA_ARGS__};                                 \
    static constexpr wick::OpLibraryInfo kInfo = {wick::kOpLibraryMagic,                           \
                                                  wick::kCustomOpAbi,                              \
                                                  sizeof(wick::CustomOp),                          \
                                                  sizeof(wick::KernelRow),                         \
                                                  kOps,                                            \
                                                  std::size(kOps)};                                \
    return &kInfo;                                                                                 \
  }
