// Combines an element and an update of a scatter.

uvec2 combine(uvec2 old, uvec2 update) {
  if (kReduction == WICK_SCATTER_ADD || kReduction == WICK_SCATTER_MUL)
    return sum_or_product(old, update, kReduction == WICK_SCATTER_MUL);
  switch (kReduction) {
    // NaN takes precedence.
    case WICK_SCATTER_MAX: return above(key_of(update, true), key_of(old, true)) ? update : old;
    case WICK_SCATTER_MIN: return above(key_of(old, false), key_of(update, false)) ? update : old;
    default: return update;
  }
}
