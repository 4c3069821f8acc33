// The random streams that a thread's draws use; internal. A function that is run again must draw
// the same numbers as the first time, whatever other threads have drawn since.
#pragma once

#include <array>
#include <vector>

#include "trainer/tensor/philox.h"

namespace wick {

struct Draw {
  uint64_t seed, stream;
};
// How a draw fills a tensor: enough to fill another one from another stream.
struct DrawFill {
  enum Kind : uint8_t {
    kUniform,      // [a, b) of float32 or float64
    kCoarse,       // the same in steps of 1 / steps, of float32 for a 16-bit float
    kNormal,       // of float32 or float64
    kIntegers,     // [low, high) of int64
    kPermutation,  // 0 .. n - 1 of int64
  } kind;
  double a = 0, b = 1;
  float steps = 0;
  int64_t low = 0, high = 0;
};
// Fills `to`, which is contiguous, from the draw's stream.
void fill_draw(const DrawFill& fill, const Draw& draw, const TensorView& to);

// Returns the stream for a draw from `g`, and advances `g`.
Draw next_draw(Generator& g);

// The steps of draws, in float64 using only +, -, *, / and square roots, so that a seed gives the
// same bits on every machine. Uniform in [0, 1) with 53 bits of two words; the logarithm of a
// positive normal number, accurate to 2 ulp; two normal numbers of the four words of a block
// (Box-Muller).
double unit_double(uint32_t hi, uint32_t lo);
double draw_log(double u);
std::array<double, 2> normal_pair(const std::array<uint32_t, 4>& words);

// While it lives, this thread's draws, from any generator, are appended to `list` (kNote); or
// (kAgain) they are taken from `list`, in order, and no generator advances. Scopes nest.
class DrawScope {
 public:
  enum Mode { kNote, kAgain };
  DrawScope(std::vector<Draw>* list, Mode mode);
  ~DrawScope();  // kAgain: restores the default generator if the function seeded it
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;
  size_t draws() const { return draws_; }  // so far; beyond the end of the list, new ones

 private:
  friend Draw next_draw(Generator& g);
  std::vector<Draw>* list_;
  Mode mode_;
  size_t draws_ = 0;
  Generator before_;
  DrawScope* outer_;
};

}  // namespace wick
