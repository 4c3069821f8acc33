// A user's own op: kernel, gradient, ONNX name, in a library that links nothing (the recipe:
// docs/recipes/custom-op.md). Example (examples/custom_op/swish.cc):
//
//   constexpr wick::CustomOp kSwish = {.domain = "example",
//                                      .name = "Swish",
//                                      .attrs = &wick::AttrFields<SwishAttrs>::kType,
//                                      .kernels = kKernels,
//                                      .gradient = gradient};
//   WICK_EXPORT_OPS(&kSwish)
//
// The library is given to wick::load_ops("libswish.so") (trainer, exporter), to a program by
// LoadOptions::custom_ops or wick_load_options.ops (a device), or to
// `wick run model.wick --ops libswish.so`.
#pragma once

#include "runtime/kernels/kernel.h"
#include "runtime/ops/custom_gradient.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_library.h"

namespace wick {

// A kernel for inputs of T's dtype, all of them contiguous.
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

}  // namespace wick

// At namespace scope, once a library, with pointers to all of its ops.
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
