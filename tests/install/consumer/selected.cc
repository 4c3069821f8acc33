// A program that selects one op by name: its sessions have that op's SIMD rows and no others.
#include "runtime/kernels/kernel.h"

int main() {
  int ops = 0;
  bool relu = false;
  for (const wick::KernelSet* set : wick::default_kernels()) {
    if (!set->selected) return 1;
    for (const wick::KernelEntry& entry : set->entries) {
      ops += entry.rows != nullptr;
      relu = relu || (entry.op == wick::OpId::kRelu && entry.rows != nullptr);
    }
  }
  return relu && ops == 1 ? 0 : 1;
}
