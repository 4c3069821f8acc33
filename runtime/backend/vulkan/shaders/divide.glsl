// A correctly rounded float32 quotient, which no device guarantees: divides digit by digit (soft_double.glsl).
float quotient_f32(float v, float s) {
  return uintBitsToFloat(f32_bits(divide(f32_number(v), f32_number(s))).x);
}
