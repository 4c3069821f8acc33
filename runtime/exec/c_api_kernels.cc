// The C ABI of wick/c/kernels.h. A file of its own: it names every kernel, which a program of
// selected ops must not be linked with.
#include "wick/c/kernels.h"

#include "runtime/kernels/kernel.h"

using namespace wick;  // NOLINT: this file only translates

namespace {

const wick_kernel_set* to_c(const KernelSet* set) {
  return reinterpret_cast<const wick_kernel_set*>(set);
}
const KernelSet* from_c(const wick_kernel_set* set) {
  return reinterpret_cast<const KernelSet*>(set);
}

}  // namespace

const wick_kernel_set* wick_kernels_cpu(void) { return to_c(&kCpuKernels); }
const wick_kernel_set* wick_kernels_reference(void) { return to_c(&kReferenceKernels); }
size_t wick_default_kernel_count(void) { return default_kernels().size(); }
const wick_kernel_set* wick_default_kernel_set(size_t i) {
  const auto all = default_kernels();
  return i < all.size() ? to_c(all[i]) : nullptr;
}
const char* wick_kernel_set_name(const wick_kernel_set* set) {
  return set == nullptr ? nullptr : from_c(set)->name;
}
int wick_kernel_set_has(const wick_kernel_set* set, const char* op) {
  const OpInfo* info = set == nullptr || op == nullptr ? nullptr : find_op(op);
  if (info == nullptr) return 0;
  for (const KernelEntry& entry : from_c(set)->entries) {
    if (entry.op == info->id) return entry.rows != nullptr && !entry.rows->empty() ? 1 : 0;
  }
  return 0;
}
int wick_kernel_set_selected(const wick_kernel_set* set) {
  return set != nullptr && from_c(set)->selected ? 1 : 0;
}
