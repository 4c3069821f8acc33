// Indices of 32 or 64 bits in the buffer `indices`, counted from the end if negative. An index out of range is reported
// in the fault word. The including shader defines the specialisation constant kWideIndex.

// Returns -1 if out of range.
int index_at(uint i, uint extent, uint call) {
  int index = int(indices[kWideIndex != 0 ? 2 * i : i]);
  bool right = index < int(extent) && index >= -int(extent);
  if (kWideIndex != 0) right = right && int(indices[2 * i + 1]) == (index >> 31);
  if (!right) {
    atomicMax(fault, call);
    return -1;
  }
  return index < 0 ? index + int(extent) : index;
}
