#include "runtime/kernels/kernel.h"

namespace wick {

const KernelRow* find_kernel(Span<const KernelSet* const> sets, const KernelQuery& query) {
  if (query.custom != nullptr) {
    const KernelRows& own = query.custom->kernels;
    for (const KernelRow& row : Span<const KernelRow>(own.data, own.size)) {
      if (row.match(query)) return &row;
    }
    return nullptr;
  }
  for (const KernelSet* set : sets) {
    auto entries = set->entries;
    size_t lo = 0, hi = entries.size();
    while (lo < hi) {
      size_t mid = (lo + hi) / 2;
      if (entries[mid].op < query.op) {
        lo = mid + 1;
      } else {
        hi = mid;
      }
    }
    if (lo == entries.size() || entries[lo].op != query.op || entries[lo].rows == nullptr) continue;
    for (const KernelRow& row : *entries[lo].rows) {
      if (row.match(query)) return &row;
    }
  }
  return nullptr;
}

const char* why_missing(Span<const KernelSet* const> sets) {
  for (const KernelSet* set : sets) {
    if (set->selected) {
      return ": not selected, this program has only the kernels of its wick_selected_ops()";
    }
  }
  return "";
}

}  // namespace wick
