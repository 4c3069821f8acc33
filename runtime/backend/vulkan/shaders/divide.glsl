// A correctly rounded quotient: 64 digits of it, the last of which notes what is left.
Number divide(Number v, Number s) {
  bool negative = v.negative != s.negative;
  if (v.kind == kNaN || s.kind == kNaN || (v.kind == kZero && s.kind == kZero) ||
      (v.kind == kInfinite && s.kind == kInfinite))
    return Number(kNaN, false, 0, uvec2(0));
  if (v.kind == kInfinite || s.kind == kZero) return Number(kInfinite, negative, 0, uvec2(0));
  if (v.kind == kZero || s.kind == kInfinite) return Number(kZero, negative, 0, uvec2(0));
  uvec2 rest = v.m, q = uvec2(0);
  int e = v.e - s.e;
  bool over = false;  // a 65th digit of the remainder
  if (less_64(rest, s.m)) {
    e -= 1;
    over = true;
    rest = shift_left(rest, 1);
  }
  const uvec2 minus = negate_64(s.m);
  for (int i = 0; i < 64; ++i) {
    bool take = over || !less_64(rest, s.m);
    if (take) rest = add_64(rest, minus);
    q = shift_left(q, 1) | uvec2(take ? 1u : 0u, 0);
    over = (rest.y >> 31) != 0;
    rest = shift_left(rest, 1);
  }
  if (over || rest != uvec2(0)) q.x |= 1u;
  return Number(kFinite, negative, e, q);
}
float quotient_f32(float v, float s) {
  return uintBitsToFloat(f32_bits(divide(f32_number(v), f32_number(s))).x);
}
