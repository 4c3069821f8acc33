// A library of custom ops: libmyop.so with one entry point, made by WICK_EXPORT_OPS.
#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/core/owned.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

struct CustomOp;  // custom_op.h

// The name of the function that a library of custom ops exports, and the number by which it is
// known.
constexpr char kOpLibraryEntry[] = "wick_op_library";
constexpr uint32_t kOpLibraryMagic = 0x4b434957;  // "WICK"

// The result of the entry point. `magic` and `abi` never move; a reader looks at the rest only when
// both are as it expects.
struct OpLibraryInfo {
  uint32_t magic;
  uint32_t abi;
  // Sizes of the shared structs: a library built with other headers, or by a compiler with another
  // struct layout, is refused.
  uint32_t op_bytes, row_bytes;
  const CustomOp* const* ops;  // the library's ops
  uint64_t count;              // of ops
};
// The function of a library that returns what it has.
using OpLibraryEntry = const OpLibraryInfo* (*)();

// A loaded library of custom ops (docs/recipes/custom-op.md). The code runs in this process: load
// only what you trust.
class OpLibrary {
 public:
  // `path` as for dlopen: a name with a slash is a file, one without is searched for. kNotFound,
  // kIo (not a library), kUnsupported (not of Wick ops, or built for another version),
  // kInvalidArgument (a malformed op).
  static Result<Owned<OpLibrary>> open(const char* path, Allocator* allocator = nullptr);
  // Unloads the library: no program, session or tensor may use its ops any more.
  static void destroy(OpLibrary* library);

  // Returns the ops; valid while the library is loaded.
  Span<const CustomOp* const> ops() const { return ops_; }
  // Keeps the library loaded for as long as the process lives.
  void keep() { handle_ = nullptr; }

 private:
  OpLibrary(Allocator& allocator, void* handle) : allocator_(allocator), handle_(handle) {}
  ~OpLibrary() = default;

  Allocator& allocator_;
  void* handle_;
  Span<const CustomOp* const> ops_;
};

}  // namespace wick
