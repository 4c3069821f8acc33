// Programs to start from: those of the loader's and the sessions' tests, and chains of single ops.
#pragma once

#include "tests/fuzz/program_text.h"

namespace wick::fuzz {

// A whole program by hand, or some nodes of any ops (tests/ops has samples of each) in a row.
ProgramText draw_program(Dice& dice);

}  // namespace wick::fuzz
