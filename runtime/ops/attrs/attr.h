// The description of attribute structs. Each struct lists its fields once (WICK_ATTR_FIELDS below
// it); reading, writing, printing and comparing use that list, so a new op never changes the file
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "runtime/core/span.h"

namespace wick {

// Up to N integers, stored inline. Code that uses AttrField::capacity relies on this layout (count,
// then values).
template <int N>
struct IntList {
  int64_t count = 0;
  int64_t values[N] = {};

  constexpr IntList() = default;
  constexpr IntList(std::initializer_list<int64_t> list) {
    for (int64_t v : list) {
      if (count < N) values[count++] = v;
    }
  }
  constexpr explicit IntList(Span<const int64_t> list) {
    for (int64_t v : list) {
      if (count < N) values[count++] = v;
    }
  }
  static constexpr int kCapacity = N;  // the most integers
  constexpr int64_t operator[](int64_t i) const { return values[i]; }
  // Returns values[i], or `fallback` when the list is empty (an omitted ONNX attribute).
  constexpr int64_t at_or(int64_t i, int64_t fallback) const {
    return count == 0 ? fallback : values[i];
  }
  // Returns the values.
  constexpr Span<const int64_t> span() const { return {values, static_cast<size_t>(count)}; }
  constexpr bool empty() const { return count == 0; }
};

// A short text, stored inline like a list, a character in each integer: "mean" for a mode. For ops
// of one's own; Wick's have integers there.
template <int N>
struct AttrText {
  // How many characters there are, and they.
  int64_t count = 0;
  int64_t values[N] = {};

  constexpr AttrText() = default;
  // Keeps the first N characters.
  constexpr AttrText(const char* text) {  // NOLINT: implicit
    for (; count < N && text[count] != '\0'; ++count)
      values[count] = static_cast<unsigned char>(text[count]);
  }
  static constexpr int kCapacity = N;  // the most characters
  // Returns whether it is this text.
  constexpr bool operator==(const char* text) const {
    for (int64_t i = 0; i < count; ++i) {
      if (text[i] == '\0' || values[i] != static_cast<unsigned char>(text[i])) return false;
    }
    return text[count] == '\0';
  }
};

// One integer for each dimension.
using DimList = IntList<kMaxRank>;

// What a field is.
enum class AttrKind : uint8_t {
  kInt = 1,    // int64
  kFloat = 2,  // double
  kInts = 3,   // IntList
  kText = 4,   // AttrText
};
// Returns whether such a field is a count and integers.
constexpr bool is_list(AttrKind kind) { return kind == AttrKind::kInts || kind == AttrKind::kText; }

// A field of an attribute struct.
struct AttrField {
  const char* name;   // ONNX's name where ONNX has the attribute
  uint16_t id;        // stored in files: never reused within a struct
  AttrKind kind;      // what it is
  uint8_t bounds;     // of an integer, or of each one of a list; 0: none (up_to)
  uint16_t offset;    // of the field in the struct, in bytes
  uint16_t capacity;  // of a list

  // Returns the field with an enumerated meaning: an integer between `least`, 0 or 1, and `most`.
  template <class Last>
  constexpr AttrField up_to(Last most, int least = 0) const {
    AttrField bounded = *this;
    bounded.bounds = static_cast<uint8_t>(static_cast<int>(most) << 1 | least);
    return bounded;
  }
  // Return the bounds, of a field that has them.
  int least() const { return bounds & 1; }
  int most() const { return bounds >> 1; }
};

// The description of an attribute struct.
struct AttrType {
  const char* name;  // the struct's
  uint16_t size;
  Span<const AttrField> fields;  // in order of declaration
  void (*init)(void*);           // constructs the struct with its defaults
};

template <class A>
struct AttrFields;  // specialised by WICK_ATTR_FIELDS

// The kind of a field of type T.
template <class T>
inline constexpr AttrKind kAttrKindOf = AttrKind::kInts;
template <>
inline constexpr AttrKind kAttrKindOf<int64_t> = AttrKind::kInt;
template <>
inline constexpr AttrKind kAttrKindOf<double> = AttrKind::kFloat;
template <int N>
inline constexpr AttrKind kAttrKindOf<AttrText<N>> = AttrKind::kText;

// Returns the most integers of a list of type T; 0 for a number.
template <class T>
constexpr uint16_t attr_capacity() {
  if constexpr (is_list(kAttrKindOf<T>)) return T::kCapacity;
  return 0;
}

// Describes a field.
#define WICK_FIELD(Struct, id, member)                             \
  ::wick::AttrField {                                              \
    #member, id, ::wick::kAttrKindOf<decltype(Struct::member)>, 0, \
        static_cast<uint16_t>(offsetof(Struct, member)),           \
        ::wick::attr_capacity<decltype(Struct::member)>()          \
  }
// Describes all fields of a struct. Use it in namespace wick, below the struct.
#define WICK_ATTR_FIELDS(Struct, ...)                                      \
  template <>                                                              \
  struct AttrFields<Struct> {                                              \
    static constexpr AttrField kFields[] = {__VA_ARGS__};                  \
    static constexpr AttrType kType = {#Struct, sizeof(Struct), kFields,   \
                                       [](void* p) { new (p) Struct(); }}; \
  };                                                                       \
  static_assert(std::is_trivially_copyable_v<Struct> && alignof(Struct) <= 8)
// Describes a field of a member struct.
#define WICK_NESTED(Struct, id, outer, Inner, member)                             \
  ::wick::AttrField {                                                             \
    #member, id, ::wick::kAttrKindOf<decltype(Inner::member)>, 0,                 \
        static_cast<uint16_t>(offsetof(Struct, outer) + offsetof(Inner, member)), \
        ::wick::attr_capacity<decltype(Inner::member)>()                          \
  }

// The attributes of an op that has none.
struct NoAttrs {};
template <>
struct AttrFields<NoAttrs> {
  static constexpr AttrType kType = {"NoAttrs", 0, {}, [](void*) {}};
};

// Compares field by field (a list by its used part). Both structs must be of type `type`.
bool attrs_equal(const AttrType& type, const void* a, const void* b);
// Returns whether the field has its default value: files and texts omit it then.
bool attr_is_default(const AttrType& type, const AttrField& field, const void* attrs);

// Return the field of a struct: a number, or the used part of a list. The field's kind must be
// that.
inline int64_t& attr_int(const AttrField& f, void* attrs) {
  return *reinterpret_cast<int64_t*>(static_cast<char*>(attrs) + f.offset);
}
inline double& attr_float(const AttrField& f, void* attrs) {
  return *reinterpret_cast<double*>(static_cast<char*>(attrs) + f.offset);
}
inline Span<const int64_t> attr_ints(const AttrField& f, const void* attrs) {
  auto* p = reinterpret_cast<const int64_t*>(static_cast<const char*>(attrs) + f.offset);
  return {p + 1, static_cast<size_t>(p[0])};
}
// Return false when the list or text is longer than the field's capacity.
bool set_attr_ints(const AttrField& f, void* attrs, Span<const int64_t> values);
bool set_attr_text(const AttrField& f, void* attrs, const char* text, size_t length);

}  // namespace wick
