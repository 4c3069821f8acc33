// Order between elements of one dtype.

bool is_nan_64(uvec2 v) {
  uint high = v.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && v.x != 0);
}
// A number that grows as a double does; both zeros are one.
uvec2 order_of(uvec2 v) {
  if ((v.x | (v.y & 0x7fffffffu)) == 0) return uvec2(0, 0x80000000u);
  return (v.y & 0x80000000u) != 0 ? ~v : uvec2(v.x, v.y | 0x80000000u);
}
bool below(uvec2 p, uvec2 q) { return p.y < q.y || (p.y == q.y && p.x < q.x); }

bool less_of(uvec2 p, uvec2 q, uint type) {
  const uvec2 sign = uvec2(0, 0x80000000u);
  switch (type) {
    case WICK_TYPE_F64: return !is_nan_64(p) && !is_nan_64(q) && below(order_of(p), order_of(q));
    case WICK_TYPE_I64: return below(p ^ sign, q ^ sign);
    case WICK_TYPE_U64: return below(p, q);
    case WICK_TYPE_U32: return p.x < q.x;
    default: break;
  }
  if (is_float_type(type)) return float_of_bits(p.x, type) < float_of_bits(q.x, type);
  return int_of_bits(p.x, type) < int_of_bits(q.x, type);
}
bool equal_of(uvec2 p, uvec2 q, uint type) {
  if (type == WICK_TYPE_F64) return !is_nan_64(p) && !is_nan_64(q) && order_of(p) == order_of(q);
  return is_float_type(type) ? float_of_bits(p.x, type) == float_of_bits(q.x, type) : p == q;
}
bool is_nan_of(uvec2 p, uint type) {
  return type == WICK_TYPE_F64 ? is_nan_64(p) : is_float_type(type) && is_nan(float_of_bits(p.x, type));
}
