// Reductions in the CPU's order: an output's elements go to 16 lanes, element i to lane i mod 16, lanes are combined by
// halving, blocks of 4096 in order. The including shader defines the element type (VALUE) and load(at),
// identity(first), combine(a, b), store(output, total).
layout(local_size_x = 16, local_size_y = WICK_SOFTMAX_ROWS) in;
layout(constant_id = 1) const uint kKept = 0;
layout(constant_id = 2) const uint kReduced = 1;

// The dims and strides are those of x: the kept dims, then the reduced ones, with neighbours merged.
layout(push_constant) uniform Push { uint outputs, count; uint dims[8]; uint strides[8]; };

VALUE load(uint at);
VALUE identity(VALUE first);  // `first`: any element
VALUE combine(VALUE a, VALUE b);
void store(uint output_at, VALUE total);

const uint kBlock = 4096;
shared VALUE lanes[WICK_SOFTMAX_ROWS][16];

uint offset_of(uint i, uint first, uint n) {
  uint at = 0;
  for (uint d = first + n; d-- > first;) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

void reduce() {
  uint lane = gl_LocalInvocationID.x, row = gl_LocalInvocationID.y;
  // All invocations of a work group have the same loop bounds: barriers need uniform control flow.
  for (uint o0 = gl_WorkGroupID.x * WICK_SOFTMAX_ROWS; o0 < outputs;
       o0 += gl_NumWorkGroups.x * WICK_SOFTMAX_ROWS) {
    uint o = o0 + row;
    bool in_range = o < outputs;
    uint base = offset_of(in_range ? o : o0, 0, kKept);
    VALUE none = identity(load(base)), total = none;
    for (uint block = 0; block < count; block += kBlock) {
      VALUE v = none;
      uint end = in_range ? min(block + kBlock, count) : 0;
      for (uint i = block + lane; i < end; i += 16) v = combine(v, load(base + offset_of(i, kKept, kReduced)));
      lanes[row][lane] = v;
      barrier();
      for (uint step = 8; step > 0; step /= 2) {
        if (lane < step) lanes[row][lane] = combine(lanes[row][lane], lanes[row][lane + step]);
        barrier();
      }
      total = combine(total, lanes[row][0]);
      barrier();
    }
    if (in_range && lane == 0) store(o, total);
  }
}
