// A folder of libraries that were compiled of inline sources. A library stands beside the whole of
// what it was made of: the command, the source, and the size and time of every header that was
// read (but the compiler's and the system's), and of itself.
#pragma once

#include <filesystem>
#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

class OpCache {
 public:
  // Makes the folder where it is missing. Throws Error (kIo): it cannot be made or is no folder of
  // this user's alone; libraries in it are run.
  OpCache(const std::string& asked, const Where& where);

  // Returns the path of the library that was made of `key`, or "".
  std::string find(const std::string& key) const;
  // Returns a new path for the files of a compilation, without an ending.
  std::string scratch(const std::string& key) const;
  // Takes scratch + ".so", made of `key`, and the list of headers in scratch + ".d"; returns where
  // the library is. Another process may be first, with the same.
  std::string keep(const std::string& key, const std::string& scratch, const Where& where) const;

 private:
  std::string base(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace wick
