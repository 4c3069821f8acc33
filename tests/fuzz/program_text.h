// A .wick file as plain structs that may say anything, and back.
#pragma once

// The form with objects; its include guard is that of the one without, which others include.
#include "tests/fuzz/object/program_generated.h"
//
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/dice.h"

namespace wick::fuzz {

using test::Dice;

struct ProgramText {
  fbs::ProgramT table;
  std::vector<uint8_t> segment;
  uint64_t features = 0;

  ProgramText() = default;
  explicit ProgramText(const std::vector<uint8_t>& file);  // one that loads
  std::vector<uint8_t> file() const;
};

// The nodes of `more` behind those of the first entry of `to`, with all that they name.
void append(ProgramText& to, const ProgramText& more);

// Up to eight changes: of what nodes read and write, regions, kinds, types, packed forms,
// constants, attributes, order, symbols, states.
void mutate(ProgramText& p, Dice& dice);

}  // namespace wick::fuzz
