// Element types. The values are ONNX's TensorProto.DataType, so a file never needs a second table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// X(name, ONNX value, bits, text name as PyTorch prints it where PyTorch has it)
#define WICK_DTYPES(X)                    \
  X(F32, 1, 32, "float32")                \
  X(U8, 2, 8, "uint8")                    \
  X(I8, 3, 8, "int8")                     \
  X(U16, 4, 16, "uint16")                 \
  X(I16, 5, 16, "int16")                  \
  X(I32, 6, 32, "int32")                  \
  X(I64, 7, 64, "int64")                  \
  X(String, 8, 128, "string")             \
  X(Bool, 9, 8, "bool")                   \
  X(F16, 10, 16, "float16")               \
  X(F64, 11, 64, "float64")               \
  X(U32, 12, 32, "uint32")                \
  X(U64, 13, 64, "uint64")                \
  X(C64, 14, 64, "complex64")             \
  X(C128, 15, 128, "complex128")          \
  X(BF16, 16, 16, "bfloat16")             \
  X(F8E4M3FN, 17, 8, "float8_e4m3fn")     \
  X(F8E4M3FNUZ, 18, 8, "float8_e4m3fnuz") \
  X(F8E5M2, 19, 8, "float8_e5m2")         \
  X(F8E5M2FNUZ, 20, 8, "float8_e5m2fnuz") \
  X(U4, 21, 4, "uint4")                   \
  X(I4, 22, 4, "int4")                    \
  X(F4E2M1, 23, 4, "float4_e2m1")         \
  X(F8E8M0, 24, 8, "float8_e8m0fnu")      \
  X(U2, 25, 2, "uint2")                   \
  X(I2, 26, 2, "int2")

// The type of an element.
enum class DType : uint8_t {
  kNone = 0,  // an absent optional tensor
#define X(name, value, bits, text) k##name = value,
  WICK_DTYPES(X)
#undef X
  // Not dtypes of tensors, and not ONNX's numbers: the value is the bytes of one packed sequence
  // (packed_sequence.h). The dtype of its elements is stored separately where types are declared.
  kSequence = 64,
  kOptional = 65,          // an optional tensor
  kOptionalSequence = 66,  // an optional sequence
};

constexpr uint8_t kDTypeCount = 27;  // one past the last value of a tensor dtype

// Returns whether values of this dtype are packed sequences or optionals.
constexpr bool is_container(DType t) {
  return t == DType::kSequence || t == DType::kOptional || t == DType::kOptionalSequence;
}

// Returns the bits of an element; 0 for kNone and unknown values.
constexpr int dtype_bits(DType t) {
  switch (t) {
#define X(name, value, bits, text) \
  case DType::k##name: return bits;
    WICK_DTYPES(X)
#undef X
    case DType::kSequence:
    case DType::kOptional:
    case DType::kOptionalSequence: return 8;
    case DType::kNone: return 0;
  }
  return 0;
}

// Returns the name, "float32"; "invalid" for unknown values.
constexpr const char* dtype_name(DType t) {
  switch (t) {
#define X(name, value, bits, text) \
  case DType::k##name: return text;
    WICK_DTYPES(X)
#undef X
    case DType::kSequence: return "sequence";
    case DType::kOptional: return "optional";
    case DType::kOptionalSequence: return "optional_sequence";
    case DType::kNone: return "none";
  }
  return "invalid";
}

// Returns the bytes of one element; 0 for sub-byte types (their tensors count in bits).
constexpr size_t dtype_size(DType t) { return static_cast<size_t>(dtype_bits(t)) / 8; }

// Return whether the type is a float of 16 bits or more, and a signed, an unsigned or any integer
// of 8 bits or more.
constexpr bool is_float(DType t) {
  return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16;
}
constexpr bool is_signed_int(DType t) {
  return t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
}
constexpr bool is_unsigned_int(DType t) {
  return t == DType::kU8 || t == DType::kU16 || t == DType::kU32 || t == DType::kU64;
}
constexpr bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }

// Returns whether the type is a float of 8 or 4 bits. These types and integers of 4 and 2 bits can
// only be moved, converted and quantized.
constexpr bool is_small_float(DType t) {
  return (t >= DType::kF8E4M3FN && t <= DType::kF8E5M2FNUZ) || t == DType::kF4E2M1 ||
         t == DType::kF8E8M0;
}
// Return whether the type is an integer of 4 or 2 bits, and whether it is either.
constexpr bool is_small_int(DType t) {
  return t == DType::kU4 || t == DType::kI4 || t == DType::kU2 || t == DType::kI2;
}
constexpr bool is_small(DType t) { return is_small_float(t) || is_small_int(t); }

struct Half;
struct BFloat16;

// dtype_of<float> == DType::kF32, ...
template <class T>
inline constexpr DType dtype_of = DType::kNone;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::kU16;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::kU32;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::kU64;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;
template <>
inline constexpr DType dtype_of<Half> = DType::kF16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::kBF16;

}  // namespace wick
