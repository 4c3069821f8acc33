// StepBreak: why compile_step() cannot repeat a step.
#pragma once

#include <string>

namespace wick {

// A reason for which a recorded step cannot be repeated.
struct StepBreak {
  std::string op;       // the function: "item"
  std::string why;      // what it does that cannot be repeated
  std::string rewrite;  // what to write instead
  std::string where;    // the user's line, "train.cpp:41"; empty: no line is known
};

}  // namespace wick
