// The order of elements of one dtype.
#include "words.glsl"

bool less_of(uvec2 p, uvec2 q, uint type) {
  const uvec2 sign = uvec2(0, 0x80000000u);
  switch (type) {
    case WICK_TYPE_F64: return !is_nan_64(p) && !is_nan_64(q) && less_64(order_of(p), order_of(q));
    case WICK_TYPE_I64: return less_64(p ^ sign, q ^ sign);
    case WICK_TYPE_U64: return less_64(p, q);
    case WICK_TYPE_U32: return p.x < q.x;
    default: break;
  }
  if (is_float_type(type)) return less_f32(float_of_bits(p.x, type), float_of_bits(q.x, type));
  return int_of_bits(p.x, type) < int_of_bits(q.x, type);
}
bool equal_of(uvec2 p, uvec2 q, uint type) {
  if (type == WICK_TYPE_F64) return !is_nan_64(p) && !is_nan_64(q) && order_of(p) == order_of(q);
  return is_float_type(type) ? equal_f32(float_of_bits(p.x, type), float_of_bits(q.x, type)) : p == q;
}
bool is_nan_of(uvec2 p, uint type) {
  return type == WICK_TYPE_F64 ? is_nan_64(p) : is_float_type(type) && is_nan(float_of_bits(p.x, type));
}
