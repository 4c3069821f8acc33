// Returns the offset of a batch of a product in an operand.
uint batch_offset(uint batch, bool of_left) {
  uint offset = 0;
  for (int d = 3; d >= 0; --d) {
    offset += (batch % batch_dims[d]) * (of_left ? left_strides[d] : right_strides[d]);
    batch /= batch_dims[d];
  }
  return offset;
}
