#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// ArgMax, ArgMin, TopK: the first k of each line in the order of values, then of positions. The lanes of a line search
// the next element after the one that was found last.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kLanes = 1;     // lanes per line: a power of two
layout(constant_id = 3) const uint kSmallest = 0;  // smallest first
layout(constant_id = 4) const uint kNanFirst = 1;  // NaN comes first, else last
layout(constant_id = 5) const uint kLast = 0;      // of equal elements, the last one
layout(constant_id = 6) const uint kValues = 0;    // also writes the values

layout(push_constant) uniform Push { uint lines, count, inner, k; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Values { uint y[]; };
layout(binding = 2) writeonly buffer Indices { uint indices[]; };  // 64 bits each

#include "element.glsl"

const uint kNone = 0xffffffffu;
shared uvec2 keys[WICK_FLAT_SIZE];
shared uint places[WICK_FLAT_SIZE];

uvec2 order_of(uint i) {
  uvec2 key = key_of(LOAD(x, i), (kSmallest != 0) != (kNanFirst != 0));
  return kSmallest != 0 ? ~key : key;
}
bool before(uvec2 a, uint at_a, uvec2 b, uint at_b) {
  if (a == b) return kLast != 0 ? at_a > at_b : at_a < at_b;
  return above(a, b);
}

void main() {
  const uint kRows = WICK_FLAT_SIZE / kLanes;
  uint id = gl_LocalInvocationIndex, lane = id % kLanes, row = id / kLanes;
  // All invocations of a work group have the same loop bounds: barriers need uniform control flow.
  for (uint first = gl_WorkGroupID.x * kRows; first < lines; first += gl_NumWorkGroups.x * kRows) {
    uint line = first + row;
    bool in_range = line < lines;
    uint base = line / inner * count * inner + line % inner;
    uvec2 found = uvec2(0u);
    uint found_at = kNone;
    for (uint r = 0; r < k; ++r) {
      uvec2 best = uvec2(0u);
      uint best_at = kNone;
      for (uint i = lane; in_range && i < count; i += kLanes) {
        uvec2 key = order_of(base + i * inner);
        if (r > 0 && !before(found, found_at, key, i)) continue;
        if (best_at == kNone || before(key, i, best, best_at)) {
          best = key;
          best_at = i;
        }
      }
      if (kLanes > 1) {
        keys[id] = best;
        places[id] = best_at;
        barrier();
        for (uint step = kLanes / 2; step > 0; step /= 2) {
          if (lane < step && places[id + step] != kNone &&
              (places[id] == kNone || before(keys[id + step], places[id + step], keys[id], places[id]))) {
            keys[id] = keys[id + step];
            places[id] = places[id + step];
          }
          barrier();
        }
        best = keys[row * kLanes];
        best_at = places[row * kLanes];
        barrier();
      }
      found = best;
      found_at = best_at;
      if (in_range && lane == 0) {
        uint to = (line / inner * k + r) * inner + line % inner;
        indices[2 * to] = found_at;
        indices[2 * to + 1] = 0;
        if (kValues != 0) {
          uvec2 v = LOAD(x, base + found_at * inner);
          STORE_ELEMENT(y, to, v)
        }
      }
    }
  }
}
