// The checks of doctor.h that compare two runs of a step. Internal to trainer/doctor.
#pragma once

#include "trainer/doctor/doctor.h"

namespace wick::doctor {

// The ops of a step, with copies of their results.
struct Recorded {
  struct Op {
    std::string op, module, where;
    bool backward = false;
    std::vector<int64_t> made_by;  // for each input the number of the op that made it; -1: none
    struct Value {
      DType dtype = DType::kNone;
      Shape shape;
      std::vector<char> bytes;  // contiguous
    };
    std::vector<Value> in;  // those that no recorded op made; the others are empty
    std::vector<Value> out;
    // Returns "backward's matmul in module 'fc1' (train.cpp:41)".
    std::string text() const;
  };
  // Casts and copies between devices are left out: what reads their results reads what they read.
  std::vector<Op> ops;
};

// Runs `step` and records it.
Recorded record_step(const std::function<void()>& step);

// Finds the first op of `b` whose result is far from that in `a` although those of its inputs are
// not. far 0: other bits, with every NaN taken as one value, or another op. Fills in the finding.
void compare_recorded(const Recorded& a, const Recorded& b, double far, Finding* finding);

// Compares compile_step() with the step itself, and bisects to the first op that differs.
void check_compiled(const MakeTraining& make, int steps, Finding* finding);

}  // namespace wick::doctor
