// A mistake in a request, with the name of the option that it is about.
#pragma once

#include <string>

#include "wick/error.h"

namespace wick::tool {

// what() is "--dim: must be NAME=N, got 'x'". The command line ends with exit code 2 for it.
class UsageError : public Error {
 public:
  UsageError(const std::string& option, const std::string& why)
      : Error(option + ": " + why), option_(option), why_(why) {}
  // Return the option that is wrong, and what is wrong with it.
  const std::string& option() const { return option_; }
  const std::string& why() const { return why_; }

 private:
  std::string option_, why_;
};

// Throws a UsageError.
[[noreturn]] inline void wrong_usage(const std::string& option, const std::string& why) {
  throw UsageError(option, why);
}

}  // namespace wick::tool
