// The operators of the format: their numbers, their names and what reads them.
#pragma once

#include <cstdint>

namespace wick::tflite {

class ReadCtx;

struct Operator {
  int32_t code;
  const char* name;
  void (*read)(ReadCtx&);  // null: it cannot be read
};

inline constexpr int32_t kCustomCode = 32;  // an operator that has a name of its own in the file

// Returns the operator of a number, or null if there is none that Wick knows.
const Operator* find_operator(int32_t code);

}  // namespace wick::tflite
