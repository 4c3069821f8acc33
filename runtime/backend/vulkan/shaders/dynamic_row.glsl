// Quantizes DynamicLinear's rows to signed bytes, by each row's range extended to 0: gives the CPU's bytes
// (runtime/kernels/bytes/qlinear.h). A byte is its code minus 128, and so is the zero point.
struct RowRange {
  float scale, inverse, zero;  // inverse: 0 if multiplying by it is not precise enough
};
RowRange row_range(float low, float high) {
  float scale = quotient_f32(high - low, 255.0);
  // Compares bits, because a device may treat a subnormal as 0.
  if (floatBitsToUint(scale) == 0 || is_nan(scale)) return RowRange(1.0, 1.0, 0.0);
  float zero = quotient_f32(-low, scale);
  zero = is_nan(zero) ? 0.0 : roundEven(clamp(zero, 0.0, 255.0));  // NaN: an end is infinite
  return RowRange(scale, scale > 1e-30 && scale < 1e30 ? 1.0 / scale : 0.0, zero);
}

// Near a tie the quotient is divided digit by digit; elsewhere the product, whose error is below 2^-12 for up to 255,
// rounds to the same integer.
uint row_byte(float v, RowRange r) {
  if ((floatBitsToUint(v) & 0x7fffffffu) == 0) return (uint(r.zero) ^ 0x80u) & 0xffu;
  float q = v * r.inverse, whole = roundEven(q);
  if (r.inverse == 0.0 || is_nan(q) || abs(q) > 1024.0 || abs(abs(q - whole) - 0.5) < 1e-3) {
    q = quotient_f32(v, r.scale);
    whole = is_nan(q) ? 0.0 : roundEven(clamp(q, -1024.0, 1024.0));
  }
  return (uint(clamp(whole + r.zero, 0.0, 255.0)) ^ 0x80u) & 0xffu;
}

// Returns a word of left, whose words are x's floats.
uint row_word(uint at, uint k, uint depth, RowRange r) {
  uint word = 0;
  for (uint j = 0; j < 4 && k + j < depth; ++j) word |= row_byte(uintBitsToFloat(left[at + k + j]), r) << (j * 8u);
  return word;
}

// Computes the ranges of up to kRangeRows rows from row0 on with all 128 invocations: 16 per row.
const uint kRowLanes = 16, kAtOnce = 128 / kRowLanes;
shared float row_lows[128], row_highs[128];
shared RowRange ranges[kRangeRows];
void find_ranges(uint thread, uint row0, uint rows, uint depth) {
  uint lane = thread % kRowLanes;
  for (uint first = 0; first < kRangeRows; first += kAtOnce) {
    uint row = row0 + first + thread / kRowLanes;
    float low = 0.0, high = 0.0;
    for (uint k = lane; k < depth && row < rows; k += kRowLanes) {
      float v = uintBitsToFloat(left[row * depth + k]);
      if (is_nan(v)) continue;
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    row_lows[thread] = low;
    row_highs[thread] = high;
    barrier();
    for (uint step = kRowLanes / 2; step > 0; step /= 2) {
      if (lane < step) {
        row_lows[thread] = min(row_lows[thread], row_lows[thread + step]);
        row_highs[thread] = max(row_highs[thread], row_highs[thread + step]);
      }
      barrier();
    }
    if (lane == 0) ranges[first + thread / kRowLanes] = row_range(row_lows[thread], row_highs[thread]);
    barrier();
  }
}

// Converts a sum, with each step rounded like the CPU's.
uint row_result(int sum, RowRange r, uint column) {
  uint of_weights = table[kScales != 0 ? column : 0];
  if (kChecked != 0 && (of_weights == 0 || of_weights >= 0x7f800000u)) atomicMax(fault, call);
  precise float scale = r.scale * uintBitsToFloat(of_weights);
  precise float y = float(sum) * scale;
  if (kBias == 0) return floatBitsToUint(y);
  precise float sum_of_both = y + uintBitsToFloat(bias[column]);
  return floatBitsToUint(sum_of_both);
}
