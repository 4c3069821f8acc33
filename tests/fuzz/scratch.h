// A folder for the files of cases, removed when the program has ended, whatever ended it.
#pragma once

#include <string>

namespace wick::fuzz {

// Made when it is first asked for, for this process and those that it forks. A process of its own
// waits for the end of them all and removes it.
const std::string& scratch();

// Removes its contents; the folder stays.
void empty_scratch();

}  // namespace wick::fuzz
