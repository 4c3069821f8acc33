// One node as a program: a call of an op that may be as odd as a file can make it.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/op_info.h"
#include "tests/support/dice.h"

namespace wick::fuzz {

using test::Dice;

enum class From : uint8_t { kAbsent, kConstant, kCaller, kAlias };

struct OpInput {
  From from = From::kCaller;
  int alias_of = 0;  // kAlias: the same value as that input, which is before it
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<double> values;        // row-major; cut or repeated to the shape
  std::vector<std::string> strings;  // for dtype kString
  // The type that the file declares.
  DType declared = DType::kF32;
  bool unranked = true;
  std::vector<int64_t> dims;  // -1 - k: symbol k
};

struct OpOutput {
  DType declared = DType::kF32;
  DType element = DType::kF32;  // for a container
  bool unranked = true;
  std::vector<int64_t> dims;
};

struct OpCase {
  const OpInfo* op = nullptr;
  const char* seed = "";
  AnyAttrs attrs;
  std::vector<OpInput> in;
  std::vector<OpOutput> out;
};

// A case a sample of tests/ops; `missing` lists the ops that no sample has and that are no control.
const std::vector<OpCase>& op_seeds(std::vector<std::string>* missing = nullptr);
// The seeds by op, so that each op is drawn alike.
const OpCase& draw_seed(Dice& dice);

// Up to six changes of the case, each of which its op may or may not take.
void mutate(OpCase& c, Dice& dice);
// Decides where inputs come from and what the file declares, after all changes. `made`: the output
// dtypes by the rule, if it gives them.
void declare(OpCase& c, Dice& dice, Span<const DType> made);

// The bytes that an input of numbers holds, values saturated; strings have none.
std::vector<uint8_t> bytes_of(const OpInput& in);

// The .wick file, valid but for what the case says otherwise.
std::vector<uint8_t> build(const OpCase& c);

std::string to_text(const OpCase& c);

int64_t hostile_int(Dice& dice);
double hostile_real(Dice& dice);

}  // namespace wick::fuzz
