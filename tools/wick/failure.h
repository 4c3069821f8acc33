// What --json prints where a command fails.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct Failure {
  std::string command;  // "" if none was called
  std::string error;    // the whole message, as stderr has it
  std::string where;    // the option, file or op that it is about; "" if it is about none
  std::string hint;     // what to do; "" if the message does not say
};

// Returns a message with what to do about a file that is not there or not whole: the rooms that
// read files say what they found, and where.
std::string with_advice(const std::string& error);

// Returns the parts of a message that stopped a command; `words` are what was typed behind it.
Failure failure_of(const std::string& command, const std::string& error,
                   const std::vector<std::string>& words);

// Prints one object to stdout, unless the command has printed its document already.
void print_failure(const Failure& failure);

}  // namespace wick::tool
