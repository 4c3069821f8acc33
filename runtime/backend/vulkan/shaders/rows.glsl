// An invocation computes kRows output channels of a group at one position, so that each element of x that it reads
// serves all of them. Needs kRows.

// The channels of block `block` among the blocks of all groups: the first, and their number.
struct Rows {
  uint group, first, count;
};
uint blocks_of(uint outputs) { return (outputs + kRows - 1) / kRows; }
Rows rows_of(uint block, uint outputs) {
  uint blocks = blocks_of(outputs), group = block / blocks, begin = block % blocks * kRows;
  return Rows(group, group * outputs + begin, min(kRows, outputs - begin));
}
