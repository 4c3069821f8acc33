// What this machine can do at most: the peaks that `wick bench --roofline` holds nodes against.
#pragma once

#include "trainer/profile/roofline.h"

namespace wick::tool {

// Measures how many multiply-adds of float32 and how many bytes read from memory `threads` threads
// reach, by loops that do nothing else, with the vectors that the runtime's kernels use: the best
// of several tries, in about 0.2 s. The memory read is four times the last cache, 64 to 256 MiB.
// Throws Error where the threads or the memory cannot be had.
Roofline measure_peaks(int threads);

// The vectors' name, as Highway has it: "AVX3".
const char* peak_target();

}  // namespace wick::tool
