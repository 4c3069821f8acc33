// Computes the offsets of element i's operands. The including shader defines the specialisation constant kRank and the
// push constants dims, a_strides and b_strides; a stride is 0 where the operand is broadcast.
void places(uint i, out uint ia, out uint ib) {
  ia = 0;
  ib = 0;
  for (int d = int(kRank) - 1; d >= 0; --d) {
    uint at = i % dims[d];
    i /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
  }
}
