// The driver of the tests stays mapped once it was loaded.
//
// A driver keeps some memory for good, which LeakSanitizer finds and suppresses by the library that asked for it. Which
// library that was is looked up when the process ends, and the loader has unloaded the driver with the last instance by
// then: the addresses belong to nothing, or to whatever was mapped there later. So each program of this folder opens a
// device before its first test and holds every library that came with it.
#pragma once

#include <set>
#include <string>

namespace wick::test {

// The libraries that are mapped now.
std::set<std::string> mapped_libraries();

// Opens the device that tests run on, if there is one, and closes it again. Returns what was mapped while it was open.
std::set<std::string> open_and_close_device();

}  // namespace wick::test
