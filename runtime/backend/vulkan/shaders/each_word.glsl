// An invocation writes a word of y, or both words of an element. The including shader defines element(i), n and y.
void each_word(uint log) {  // log2 of an element's bits
  const uint per = elements_a_word(log), mask = 0xffffffffu >> (32u - (1u << min(log, 5u)));
  for (uint w = gl_GlobalInvocationID.x; w < (n + per - 1) / per; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    // A single call, because a compiler would inline element()'s whole code twice.
    uvec2 v = uvec2(0);
    uint result = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      v = element(w * per + k);
      result |= (v.x & mask) << (k << log);
    }
    if (log == 6u) {
      y[2 * w] = v.x;
      y[2 * w + 1] = v.y;
    } else {
      y[w] = result;
    }
  }
}
