// A file with an op of one's own: compiled, loaded, and its test rows (wick/op_test.h).
#pragma once

#include <string>
#include <vector>

#include "trainer/inline/load_inline.h"
#include "wick/op_test.h"

namespace wick::tool {

struct OpFile {
  BuiltOps built;
  std::vector<const CustomOp*> ops;  // registered
  std::vector<const OpTest*> tests;  // at least one; each names one of the ops
};

// Compiles the file, with these arguments behind Wick's own, and loads it. Throws Error: as
// load_source() does, and kUnsupported for a file without test rows or with some that are not
// sound.
OpFile open_op_file(const std::string& path, const std::vector<std::string>& flags);

// Returns the text of a new file for an op, "my_softmax" or "MySoftmax". Throws Error
// (kInvalidArgument) for a name that is no C identifier and for a domain that an op may not have.
struct NewOp {
  std::string file;  // "my_softmax.cc"
  std::string op;    // "my::MySoftmax"
  std::string text;
};
NewOp new_op(const std::string& name, const std::string& domain, const std::string& skeleton);

}  // namespace wick::tool
