#include "runtime/kernels/kernel.h"

#include "runtime/kernels/activation.h"
#include "runtime/kernels/flat_views.h"
#include "runtime/ops/products.h"
#include "runtime/ops/rule.h"

namespace wick {

Status check_kernel_rows(const KernelRows& rows, const char* op) {
  for (size_t i = 0; i < rows.size; ++i) {
    const KernelRow& row = rows.data[i];
    if (row.name != nullptr && row.match != nullptr && row.run != nullptr) continue;
    return error(Code::kInvalidArgument, "%s: kernel %zu needs a name, a match and a run", op, i);
  }
  return {};
}

Status complete(KernelQuery* query, ShapeArgs* args) {
  if (query->args != nullptr || query->custom != nullptr || !has_shape_args(query->op)) return {};
  query->args = args;
  return refuse_unknown(resolve_shape_args(query->op, query->attrs, query->in, args));
}

const KernelRow* find_kernel(Span<const KernelSet* const> sets, const KernelQuery& asked) {
  ShapeArgs args;
  KernelQuery query = asked;
  // match() sees no shape arguments while values are unknown; prepare() will need them.
  if (!complete(&query, &args).ok()) query.args = nullptr;
  const Activation act = activation_of(query.op, query.attrs);
  if (has_loop(act) && activation_loop(act, kNewestEdition) == nullptr) return nullptr;
  const bool blocked = WICK_BLOCKS != 0 && has_blocks(query);
  if (query.custom != nullptr && blocked) return nullptr;
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
      if (((row.flags & kBlocked) != 0) == blocked && row.match(query)) return &row;
    }
  }
  if (!blocked) return nullptr;
  FlatViews flat;
  return flat.make(&query) ? find_kernel(sets, query) : nullptr;
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
