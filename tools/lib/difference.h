// Measures how two answers differ.
#pragma once

#include <string>

#include "graph/ir/host_tensor.h"

namespace wick::tool {

// How much two tensors differ.
struct Difference {
  bool comparable = true;  // same dtype and shape
  bool bits = true;        // equal by bits (all NaNs are one)
  int64_t worst = -1;      // the element that differs most
  double a = 0, b = 0;     // its two values
  double max_abs = 0;      // the largest |a - b|
  double max_rel = 0;      // max_abs / the largest magnitude of b
  int64_t max_ulp = 0;     // f32
  double largest = 0;      // the largest magnitude in b
  // Takes the worse of both, number by number.
  void merge(const Difference& other);
  // Returns one line for people.
  std::string text() const;
};

// Returns how many float32 numbers lie from one to the other, by their bits.
int64_t ulps(float a, float b);

// Returns what is to be added behind two elements that differ and are one double; "" for others.
const char* last_digits(double a, double b);

// Measures a against b.
Difference difference(const HostTensor& a, const HostTensor& b);

}  // namespace wick::tool
