// Names of tests that have one of the rows as their parameter.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/functions/function_row.h"

namespace wick::test {

// Prints a row in messages; GoogleTest would print its bytes.
inline void PrintTo(const FunctionRow* row, std::ostream* out) { *out << row->name; }
// Returns the name of a test on a row: letters, digits and underscores.
inline std::string test_name(const testing::TestParamInfo<const FunctionRow*>& info) {
  std::string name = info.param->name;
  for (char& c : name)
    if (isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace wick::test
