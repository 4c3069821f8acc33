// wick ops new, test and bench: a file with an op of one's own.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

// The text of skeleton.cc, which `wick ops new` copies under another name.
extern const char* const kOpSkeleton;

struct OwnOp {
  std::string domain = "my";
  std::vector<std::string> flags;  // of the compiler
  bool json = false;
};

// Writes a new file for the op into this folder.
void ops_new(const std::string& name, const OwnOp& options);
// Checks the ops of a file by their test rows; throws Differs where a check fails.
void ops_test(const std::string& path, const OwnOp& options);
// Times the kernels of a file's ops.
void ops_bench(const std::string& path, const OwnOp& options);

}  // namespace wick::tool
