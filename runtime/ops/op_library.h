// A library of a user's own ops: libmyop.so with one entry point, made by WICK_EXPORT_OPS.
#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/core/owned.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

struct CustomOp;  // custom_op.h

constexpr char kOpLibraryEntry[] = "wick_op_library";
constexpr uint32_t kOpLibraryMagic = 0x4b434957;  // "WICK"

// What the entry point returns. `magic` and `abi` stay where they are for ever; a reader looks at
// the rest only when both are its own.
struct OpLibraryInfo {
  uint32_t magic;
  uint32_t abi;
  // Sizes of what is shared: a library built with other headers, or by a compiler that lays them
  // out otherwise, is refused.
  uint32_t op_bytes, row_bytes;
  const CustomOp* const* ops;
  uint64_t count;
};
using OpLibraryEntry = const OpLibraryInfo* (*)();

class OpLibrary {
 public:
  // `path` as dlopen takes it: a name with a slash is a file, one without is searched for.
  // kNotFound, kIo (not a library), kUnsupported (not of Wick ops, or built for another version),
  // kInvalidArgument (an op that is not sound).
  static Result<Owned<OpLibrary>> open(const char* path, Allocator* allocator = nullptr);
  // Unloads it: no program, session or tensor may use its ops any more.
  static void destroy(OpLibrary* library);

  Span<const CustomOp* const> ops() const { return ops_; }
  // Leaves it loaded for as long as the process lives.
  void keep() { handle_ = nullptr; }

 private:
  OpLibrary(Allocator& allocator, void* handle) : allocator_(allocator), handle_(handle) {}
  ~OpLibrary() = default;

  Allocator& allocator_;
  void* handle_;
  Span<const CustomOp* const> ops_;
};

}  // namespace wick
