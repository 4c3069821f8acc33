#include "runtime/ops/check_attrs.h"

#include <cinttypes>

#include "runtime/ops/chain.h"

namespace wick {
namespace {

Status check_bounds(const AttrField& f, int64_t v) {
  if (v >= f.least() && v <= f.most()) return {};
  return error(Code::kInvalidArgument, "unknown %s %" PRId64 ": it is one of %d to %d", f.name, v,
               f.least(), f.most());
}

}  // namespace

Status check_attrs(const OpInfo& info, const void* attrs, size_t inputs) {
  for (const AttrField& f : info.attrs->fields) {
    if (f.bounds == 0) continue;
    if (f.kind == AttrKind::kInt) WICK_TRY(check_bounds(f, attr_int(f, const_cast<void*>(attrs))));
    if (f.kind != AttrKind::kInts) continue;
    for (int64_t v : attr_ints(f, attrs)) WICK_TRY(check_bounds(f, v));
  }
  if (info.id == OpId::kFusedElementwise)
    return check_chain(*static_cast<const ChainAttrs*>(attrs), inputs);
  return {};
}

}  // namespace wick
