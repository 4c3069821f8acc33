// Damage to bytes and to words.
#pragma once

#include <string>
#include <vector>

#include "tests/support/dice.h"

namespace wick::fuzz {

using test::Dice;

// One to six changes: bits, bytes, numbers of 2 to 8 bytes, numbers in text, words, cuts, repeats,
// parts of `other`.
void mutate_bytes(std::string& bytes, const std::string& other,
                  const std::vector<std::string>& words, Dice& dice);

}  // namespace wick::fuzz
