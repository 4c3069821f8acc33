#include "runtime/ops/attrs.h"

#include <cstring>

namespace wick {
namespace {

bool field_equal(const AttrField& f, const void* a, const void* b) {
  if (is_list(f.kind)) {
    auto x = attr_ints(f, a), y = attr_ints(f, b);
    return x.size() == y.size() && (x.empty() || memcmp(x.data(), y.data(), x.size_bytes()) == 0);
  }
  // compares ints and doubles by bits: a NaN attribute equals itself
  return memcmp(static_cast<const char*>(a) + f.offset, static_cast<const char*>(b) + f.offset,
                8) == 0;
}

}  // namespace

bool attrs_equal(const AttrType& type, const void* a, const void* b) {
  for (const AttrField& f : type.fields) {
    if (!field_equal(f, a, b)) return false;
  }
  return true;
}

bool attr_is_default(const AttrType& type, const AttrField& field, const void* attrs) {
  alignas(8) char defaults[kMaxAttrBytes];
  type.init(defaults);
  return field_equal(field, attrs, defaults);
}

bool set_attr_ints(const AttrField& f, void* attrs, Span<const int64_t> values) {
  if (values.size() > f.capacity) return false;
  auto* p = reinterpret_cast<int64_t*>(static_cast<char*>(attrs) + f.offset);
  p[0] = static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) p[1 + i] = values[i];
  return true;
}

bool set_attr_text(const AttrField& f, void* attrs, const char* text, size_t length) {
  if (length > f.capacity) return false;
  auto* p = reinterpret_cast<int64_t*>(static_cast<char*>(attrs) + f.offset);
  p[0] = static_cast<int64_t>(length);
  for (size_t i = 0; i < length; ++i) p[1 + i] = static_cast<unsigned char>(text[i]);
  return true;
}

}  // namespace wick
