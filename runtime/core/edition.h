// Editions of the numeric contract (docs/numerics.md, "Editions").
#pragma once

#include <cstdint>

// Zero leaves the forms of the first edition out of a build; it then refuses files of that edition.
#ifndef WICK_EDITION_1
#define WICK_EDITION_1 1  // set by the build
#endif

namespace wick {

// The number of a program's order of operations: which form computes the f32 functions that have
// more than one. It belongs to a whole graph or program. A file that does not say one has the
// first, so that its results keep their bits for ever.
enum class Edition : uint8_t {
  k1 = 1,  // of the files from before there were editions
  k2 = 2,  // exp, sigmoid, SiLU, tanh and GELU in their cheapest forms within 2.5 ulp
};

// What is captured, imported from ONNX or run by the trainer has this one.
constexpr Edition kNewestEdition = Edition::k2;

// Returns whether to run the forms of the first edition; a build without them never does.
constexpr bool is_first(Edition e) { return WICK_EDITION_1 != 0 && e == Edition::k1; }

// Returns the number that people read.
constexpr int edition_number(Edition e) { return static_cast<int>(e); }

}  // namespace wick
