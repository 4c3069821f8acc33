// Shared by the reference families: the type in which a value is computed, and macros for one row
// per dtype.
#pragma once

#include <type_traits>

#include "runtime/core/half.h"
#include "runtime/kernels/kernel_set.h"

namespace wick::reference {

template <class T>
inline constexpr bool kIs16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
// f16 and bf16 are loaded as f32 and rounded once at the end.
template <class T>
using Compute = std::conditional_t<kIs16<T>, float, T>;

// Elements of 16 bytes, which are only moved.
struct Wide128 {
  uint64_t half[2];
};

template <class T>
bool match(const KernelQuery& q) {
  return q.in[0].dtype == dtype_of<T>;
}

using RunFunction = decltype(KernelRow::run);
using PlanFunction = decltype(KernelRow::plan);
using MatchFunction = decltype(KernelRow::match);
constexpr KernelRow row(const char* name, uint32_t flags, MatchFunction match, RunFunction run) {
  return {name, flags, match, nullptr, nullptr, run};
}
constexpr KernelRow row(const char* name, uint32_t flags, MatchFunction match, PlanFunction plan,
                        RunFunction run) {
  return {name, flags, match, plan, nullptr, run};
}

}  // namespace wick::reference

// X(type, "name") for each dtype of a class.
#define WICK_FLOAT_TYPES(X) X(float, "f32") X(double, "f64") X(Half, "f16") X(BFloat16, "bf16")
#define WICK_INT_TYPES(X) \
  X(int8_t, "i8")         \
  X(int16_t, "i16")       \
  X(int32_t, "i32")       \
  X(int64_t, "i64")       \
  X(uint8_t, "u8")        \
  X(uint16_t, "u16")      \
  X(uint32_t, "u32")      \
  X(uint64_t, "u64")
#define WICK_NUMBER_TYPES(X) WICK_FLOAT_TYPES(X) WICK_INT_TYPES(X)

// Rows of an op, for WICK_REF_ROWS: one named text.<dtype>.ref per dtype. The arguments after the
// flags may use T, the dtype's type; a plan function may come before the last one:
//   WICK_REF_ROWS(Add, WICK_NUMBER_ROWS("add", kInPlace, match<T>, run<AddOp, T>));
// A match function with a comma in it goes in parentheses.
#define WICK_REF_ROW(Type, dtype, text, flags, match_function, ...)                           \
  [] {                                                                                        \
    using T = Type;                                                                           \
    return ::wick::reference::row(text "." dtype ".ref", flags, match_function, __VA_ARGS__); \
  }()
#define WICK_BOOL_ROW(...) WICK_REF_ROW(bool, "bool", __VA_ARGS__)
#define WICK_FLOAT_ROWS(...)                                                         \
  WICK_REF_ROW(float, "f32", __VA_ARGS__), WICK_REF_ROW(double, "f64", __VA_ARGS__), \
      WICK_REF_ROW(Half, "f16", __VA_ARGS__), WICK_REF_ROW(BFloat16, "bf16", __VA_ARGS__)
#define WICK_INT_ROWS(...)                                                                  \
  WICK_REF_ROW(int8_t, "i8", __VA_ARGS__), WICK_REF_ROW(int16_t, "i16", __VA_ARGS__),       \
      WICK_REF_ROW(int32_t, "i32", __VA_ARGS__), WICK_REF_ROW(int64_t, "i64", __VA_ARGS__), \
      WICK_REF_ROW(uint8_t, "u8", __VA_ARGS__), WICK_REF_ROW(uint16_t, "u16", __VA_ARGS__), \
      WICK_REF_ROW(uint32_t, "u32", __VA_ARGS__), WICK_REF_ROW(uint64_t, "u64", __VA_ARGS__)
#define WICK_NUMBER_ROWS(...) WICK_FLOAT_ROWS(__VA_ARGS__), WICK_INT_ROWS(__VA_ARGS__)
