// Converts any element to a number of 64 digits, and back with one rounding: the same on every device.
#include "soft_double.glsl"

Number integer_number(uvec2 v, bool is_signed) {
  bool negative = is_signed && (v.y & 0x80000000u) != 0;
  return finite(negative, negative ? negate_64(v) : v, 0);
}

bool is_signed_type(uint type) {
  return type == WICK_TYPE_I32 || type == WICK_TYPE_I16 || type == WICK_TYPE_I8 || type == WICK_TYPE_I4 ||
         type == WICK_TYPE_I2 || type == WICK_TYPE_I64;
}
bool is_real_type(uint type) {
  return is_float_type(type) || type == WICK_TYPE_F64 || type == WICK_TYPE_F4E2M1 ||
         (type >= WICK_TYPE_F8E4M3FN && type <= WICK_TYPE_F8E8M0);
}

// Extends an integer to 64 bits.
uvec2 widened(uvec2 bits, uint type) {
  uint width = 1u << log_bits(type);
  if (width == 64u || !is_signed_type(type)) return bits;
  int low = int(bits.x << (32u - width)) >> (32u - width);
  return uvec2(uint(low), uint(low >> 31));
}

// The formats of the float types. A single call for all of them, because a compiler inlines the whole code at every
// call.
struct Format {
  int digits, width, bias;
};
Format format_of(uint type) {
  switch (type) {
    case WICK_TYPE_F64: return Format(52, 64, 1023);
    case WICK_TYPE_F16: return Format(10, 16, 15);
    case WICK_TYPE_BF16: return Format(7, 16, 127);
    case WICK_TYPE_F8E5M2: return Format(2, 8, 15);
    case WICK_TYPE_F8E4M3FN: return Format(3, 8, 7);
    case WICK_TYPE_F8E4M3FNUZ: return Format(3, 8, 8);
    case WICK_TYPE_F8E5M2FNUZ: return Format(2, 8, 16);
    case WICK_TYPE_F4E2M1: return Format(1, 4, 1);
    default: return Format(23, 32, 127);
  }
}
bool is_ieee(uint type) { return is_float_type(type) || type == WICK_TYPE_F64 || type == WICK_TYPE_F8E5M2; }

Number number_of(uvec2 bits, uint type) {
  if (!is_real_type(type)) return integer_number(widened(bits, type), is_signed_type(type));
  if (type == WICK_TYPE_F8E8M0) {
    if (bits.x == 0xffu) return Number(kNaN, false, 0, uvec2(0));
    return finite(false, uvec2(1, 0), int(bits.x) - 127);
  }
  Format f = format_of(type);
  if (is_ieee(type)) return ieee_number(bits, f.digits, f.width, f.bias);
  uint sign = 1u << (f.width - 1), magnitude = bits.x & (sign - 1u);
  bool negative = (bits.x & sign) != 0;
  if (type == WICK_TYPE_F8E4M3FN && magnitude == 0x7fu) return Number(kNaN, negative, 0, uvec2(0));
  bool one_zero = type == WICK_TYPE_F8E4M3FNUZ || type == WICK_TYPE_F8E5M2FNUZ;
  if (one_zero && bits.x == 0x80u) return Number(kNaN, false, 0, uvec2(0));
  return small_number(negative, uvec2(magnitude, 0), f.digits, f.bias);
}

// Like float_to_narrow() of core/narrow.h.
uint to_narrow(Number v, uint type, bool saturate) {
  Format f = format_of(type);
  uint sign_bit = 1u << (f.width - 1), sign = v.negative ? sign_bit : 0u;
  uint largest = type == WICK_TYPE_F8E4M3FN ? 0x7eu : type == WICK_TYPE_F8E5M2 ? 0x7bu : sign_bit - 1u;
  // Only the sign bit for types with a single zero, and for 4 bits, which have no NaN.
  uint nan = type == WICK_TYPE_F8E4M3FN ? 0x7fu | sign : type == WICK_TYPE_F8E5M2 ? 0x7eu | sign : sign_bit;
  if (v.kind == kNaN) return nan;
  uint code = 0;
  if (v.kind == kInfinite) code = 0xffffffffu;
  if (v.kind == kFinite) code = v.e > 128 ? 0xffffffffu : magnitude_of(v, f.digits, f.bias).x;
  if (code > largest) {
    if (!saturate && type != WICK_TYPE_F4E2M1) return type == WICK_TYPE_F8E5M2 ? 0x7cu | sign : nan;
    code = largest;
  }
  bool one_zero = type == WICK_TYPE_F8E4M3FNUZ || type == WICK_TYPE_F8E5M2FNUZ;
  return code == 0 && one_zero ? 0u : code | sign;
}

// Rounds to a power of two: the next above |v| (0), the next below (1), or the nearest, half up (2).
uint to_e8m0(Number v, bool saturate, uint round_mode) {
  if (v.kind == kNaN) return 0xffu;
  int code = v.kind == kZero ? -1 : v.kind == kInfinite ? 0xff : v.e + 127;
  if (v.kind == kFinite) {
    bool digits = (v.m.x | (v.m.y & 0x7fffffffu)) != 0, half_or_more = (v.m.y & 0x40000000u) != 0;
    if ((round_mode == 0 && digits) || (round_mode == 2 && half_or_more)) code += 1;
  }
  if (code < 0) return saturate ? 0u : 0xffu;
  if (code > 0xfe) return saturate ? 0xfeu : 0xffu;
  return uint(code);
}

// Rounds towards zero and saturates; NaN is 0.
uvec2 to_integer(Number v, uint type) {
  int width = int(1u << log_bits(type));
  bool is_signed = is_signed_type(type);
  if (v.kind == kNaN || v.kind == kZero || (v.negative && !is_signed)) return uvec2(0);
  uvec2 top = shift_left(uvec2(1, 0), is_signed ? width - 1 : width);  // 0 for unsigned 64 bits
  uvec2 limit = v.negative ? top : add_64(top, uvec2(0xffffffffu));
  uvec2 whole = v.kind == kInfinite || v.e > 63 ? uvec2(0xffffffffu) : v.e < 0 ? uvec2(0) : shift_right(v.m, 63 - v.e);
  if (less_64(limit, whole)) whole = limit;
  return v.negative ? negate_64(whole) : whole;
}
// Returns the low bits of the nearest integer, half to even; 0 if it is so large that they are 0, or not finite.
uint low_bits_of(Number v) {
  if (v.kind != kFinite || v.e >= 62 || v.e < -1) return 0;
  uint whole = without(v.m, 63 - v.e).x;
  return v.negative ? 0u - whole : whole;
}

uvec2 bits_of_number(Number v, uint type, bool saturate, uint round_mode) {
  if (is_float_type(type) || type == WICK_TYPE_F64) {
    Format f = format_of(type);
    return to_ieee(v, f.digits, f.width, f.bias);
  }
  switch (type) {
    case WICK_TYPE_F8E8M0: return uvec2(to_e8m0(v, saturate, round_mode), 0);
    case WICK_TYPE_U4:
    case WICK_TYPE_I4: return uvec2(low_bits_of(v) & 15u, 0);
    case WICK_TYPE_U2:
    case WICK_TYPE_I2: return uvec2(low_bits_of(v) & 3u, 0);
    case WICK_TYPE_BOOL: return uvec2(v.kind != kZero ? 1u : 0u, 0);
    default: break;
  }
  return is_real_type(type) ? uvec2(to_narrow(v, type, saturate), 0) : to_integer(v, type);
}

// Rounds a number to one of the IEEE types.
Number rounded_to(Number v, uint type) {
  if (type == WICK_TYPE_F64) return v;
  Format f = format_of(type);
  return ieee_number(to_ieee(v, f.digits, f.width, f.bias), f.digits, f.width, f.bias);
}
uvec2 f32_bits(Number v) { return to_ieee(v, 23, 32, 127); }
Number f32_number(float v) { return ieee_number(uvec2(floatBitsToUint(v), 0), 23, 32, 127); }
