// Derives output dtypes from the signatures. Separate from op_info.cc, since a program on a device
// knows its shapes and does not need this.
#include <cstring>

#include "runtime/ops/op_info.h"

namespace wick {
namespace {

// Returns the dtype that an attribute names: `to`, or `output_dtype`, where 0 means that none is
// given.
DType attribute_dtype(const OpInfo& info, const void* attrs) {
  for (const AttrField& f : info.attrs->fields) {
    if (strcmp(f.name, "to") != 0 && strcmp(f.name, "output_dtype") != 0) continue;
    int64_t to;
    memcpy(&to, static_cast<const char*>(attrs) + f.offset, sizeof(to));
    return static_cast<DType>(to);
  }
  return DType::kNone;
}

DType named_dtype(const char* name, size_t length) {
  for (int t = 1; t < kDTypeCount; ++t) {
    const char* full = dtype_name(static_cast<DType>(t));  // "float32", "int64", "uint8", "bool"
    if (strlen(full) == length && memcmp(full, name, length) == 0) return static_cast<DType>(t);
  }
  return DType::kNone;
}

}  // namespace

DType output_dtype(OpId op, const void* attrs, Span<const DType> in, size_t i) {
  const OpInfo* info = find_op(op);
  if (info == nullptr) return in.empty() ? DType::kNone : in[0];
  // For sequences and optionals only the rules know the element type and the kind.
  if (info->kind == OpKind::kSequence) return DType::kNone;
  const char* p = strstr(signature_of(op), "->") + 3;
  for (; i > 0 && p[strcspn(p, " ")] == ' '; --i) p += strcspn(p, " ") + 1;
  while (true) {  // takes the first of a/b that is present
    const size_t length = strcspn(p, " /*");
    DType found = DType::kNone;
    if (*p >= '0' && *p <= '9') {
      const auto input = static_cast<size_t>(*p - '0');
      if (input < in.size()) found = in[input];
    } else {
      const bool named = length != 2 || memcmp(p, "to", 2) != 0;
      found = named ? named_dtype(p, length) : attribute_dtype(*info, attrs);
    }
    if (found != DType::kNone || p[length] != '/') return found;
    p += length + 1;
  }
}

}  // namespace wick
