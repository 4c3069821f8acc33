// Custom ops whose descriptors say what no library should: input for a Program or wick_ops_load().
// Their functions do what they should, except for shape rules.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/ops/op_library.h"
#include "tests/support/dice.h"

namespace wick::fuzz {

using test::Dice;

// y = x; my::Loop, which a file may give regions.
extern const CustomOp kLoopOp;

// One to three of them, each with up to three things that are odd; in place, so it does not move.
class OddOps {
 public:
  explicit OddOps(Dice& dice);
  OddOps(const OddOps&) = delete;

  Span<const CustomOp* const> ops() const { return list_; }
  // Returns what a library's entry point returns.
  const OpLibraryInfo& info() const { return info_; }

 private:
  void change(CustomOp& op, Dice& dice);
  void change_attrs(CustomOp& op, Dice& dice);
  void change_kernels(CustomOp& op, Dice& dice);

  std::deque<CustomOp> made_;
  std::deque<AttrType> types_;
  std::deque<std::vector<AttrField>> fields_;
  std::deque<std::vector<KernelRow>> rows_;
  std::vector<const CustomOp*> list_;
  OpLibraryInfo info_ = {};
};

}  // namespace wick::fuzz
