// Along one dim, the positions k of a kernel that connect an input q to an output: at = q * stride + k * dilation. They
// are k, k + k_step, ..., with the inputs q, q - q_step, ...; k_step = stride / g, q_step = dilation / g, where g is
// their greatest common divisor.
struct Sources {
  int k, q, count;
};

// Needs at >= 0.
Sources sources(int at, int extent, int kernel, int stride, int dilation, int k_step, int q_step) {
  Sources s = Sources(0, 0, 0);
  while (s.k < kernel && s.k < k_step && s.k * dilation <= at && (at - s.k * dilation) % stride != 0) ++s.k;
  if (s.k >= kernel || s.k >= k_step || s.k * dilation > at) return s;
  s.q = (at - s.k * dilation) / stride;
  s.count = (min(kernel - 1, at / dilation) - s.k) / k_step + 1;
  if (s.q >= extent) {
    int beyond = (s.q - extent) / q_step + 1;
    s.k += beyond * k_step;
    s.q -= beyond * q_step;
    s.count = max(s.count - beyond, 0);
  }
  return s;
}
