// Ops of one's own from C++ source: compiled, kept and loaded while the program runs
// (docs/recipes/write-a-kernel.md). Example (examples/inline_op):
//
//   load_inline(R"(
//   #include <wick/custom_op.h>
//   ...
//   WICK_EXPORT_OPS(&kHypot)
//   )");
//   Tensor c = custom_op("my::Hypot", {a, b});
#pragma once

#include <string>
#include <vector>

#include "runtime/registry/registry.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// The source of a library of ops. A literal keeps the place where it begins, which is the line of
// the call: what the compiler says names that file and its lines. Another text is named by `name`
// and begins at line 1.
struct InlineSource {
  template <size_t N>
  InlineSource(const char (&literal)[N], Where at = Where::current())  // NOLINT: implicit
      : text(literal), name(at.file_name()), line(at.line()) {}
  explicit InlineSource(std::string source, std::string called = "inline source")
      : text(std::move(source)), name(std::move(called)) {}

  // The text, and the file and line of its first character.
  std::string text, name;
  unsigned line = 1;
};

// How a source is compiled, and where the library is kept.
struct InlineOptions {
  // The compiler and its first arguments ("ccache g++"); "": the variable CXX, else c++.
  std::string compiler = {};
  // Arguments behind Wick's own, which are -std=c++20 -O3 -ffp-contract=off and what a library
  // needs. With -march=native the library is kept for this processor alone.
  std::vector<std::string> flags = {};
  // The folder that has wick/custom_op.h; "": the variable WICK_INCLUDE, else the headers beside
  // this program, of the tree that built it, or where they were installed.
  std::string include = {};
  // The folder where libraries are kept; "": the variable WICK_CACHE, else wick/ in
  // $XDG_CACHE_HOME or ~/.cache. It must be one that nobody else may write to.
  std::string cache = {};
};

// A library of ops that was made of a source.
struct BuiltOps {
  std::string library;  // for load_ops(), OpLibrary::open() and `wick run --ops`
  bool compiled;        // false: it was kept, of an equal source, flags and headers
  double seconds;       // that the compiler took
};

// Compiles the source, unless the cache has it. Throws Error: kNotFound where there is no compiler
// or Wick's headers are not there, kInvalidArgument with what the compiler says of the source, kIo
// where the cache cannot be written.
BuiltOps build_inline(const InlineSource& source, const InlineOptions& options = {},
                      Where where = Where::current());
// Compiles a file; what it includes is looked for beside it, too.
BuiltOps build_source(const std::string& path, const InlineOptions& options = {},
                      Where where = Where::current());

// Compile and load: the source has WICK_EXPORT_OPS(...). Return the ops in the library's order; an
// equal source gives the same ops again. Throw what build_inline() and load_ops() do: an op keeps
// its name until the process ends, so a changed source needs another name or another process.
std::vector<const CustomOp*> load_inline(const InlineSource& source,
                                         const InlineOptions& options = {},
                                         Where where = Where::current());
std::vector<const CustomOp*> load_source(const std::string& path, const InlineOptions& options = {},
                                         Where where = Where::current());

}  // namespace wick
