// Returns the text of the wick::Error that f throws; "no error" if it throws none.
#pragma once

#include <string>

#include "wick/error.h"

namespace wick::test {

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace wick::test
