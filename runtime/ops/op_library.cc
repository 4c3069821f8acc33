#include "runtime/ops/op_library.h"

#include <cstring>

#include "runtime/core/regular_file.h"
#include "runtime/ops/custom_op.h"
#include "runtime/platform/library.h"

namespace wick {
namespace {

// Compares the struct sizes that the library was compiled with to this program's: see
// WICK_EXPORT_OPS.
Status check_info(const char* path, const OpLibraryInfo* info) {
  if (info == nullptr || info->magic != kOpLibraryMagic) {
    return error(Code::kUnsupported, "%.200s: its %s() does not return a list of Wick's ops", path,
                 kOpLibraryEntry);
  }
  if (info->abi != kCustomOpAbi) {
    return error(Code::kUnsupported,
                 "%.200s was built for version %u of the custom-op interface, this Wick has %u: "
                 "build it again with this Wick's <wick/custom_op.h>",
                 path, info->abi, kCustomOpAbi);
  }
  if (info->op_bytes != sizeof(CustomOp) || info->row_bytes != kKernelRowBytes) {
    return error(Code::kUnsupported,
                 "%.200s lays its ops out in %u and %u bytes, this Wick in %zu and %u: build it "
                 "again with this Wick's <wick/custom_op.h> and the same kind of compiler",
                 path, info->op_bytes, info->row_bytes, sizeof(CustomOp), kKernelRowBytes);
  }
  if (info->ops == nullptr || info->count == 0 || info->count > 4096)
    return error(Code::kUnsupported, "%.200s has no ops", path);
  return annotate(check_custom_ops({info->ops, static_cast<size_t>(info->count)}),
                  "%.200s: ", path);
}

}  // namespace

Result<Owned<OpLibrary>> OpLibrary::open(const char* path, Allocator* given) {
  if (path == nullptr || path[0] == '\0')
    return Status(Code::kInvalidArgument, "the op library's path is empty");
  if (!platform::kHasLibraries) {
    return error(Code::kUnsupported,
                 "this build opens no libraries: link %.200s, and give its ops by their address",
                 path);
  }
  if (strchr(path, '/') != nullptr) {
    RegularFile file;  // refuses pipes: opening one as a library would block
    Status there = file.open(path);
    if (there.code() == Code::kNotFound)
      return error(Code::kNotFound, "%.300s: there is no such library", path);
    if (!there.ok()) return annotate(there, "cannot load the op library: %.300s: ", path);
  }
  // Resolves all symbols now: an op that lacks one fails here and not in the middle of a run.
  void* handle = platform::open_library(path);
  if (handle == nullptr) {
    const char* why = platform::library_error();
    return error(Code::kIo, "cannot load the op library: %.400s", why == nullptr ? path : why);
  }
  auto entry = reinterpret_cast<OpLibraryEntry>(platform::find_symbol(handle, kOpLibraryEntry));
  Status s = entry == nullptr ? error(Code::kUnsupported,
                                      "%.200s is no library of Wick ops: it has no %s(), which "
                                      "WICK_EXPORT_OPS(...) defines",
                                      path, kOpLibraryEntry)
                              : Status();
  const OpLibraryInfo* info = entry == nullptr ? nullptr : entry();
  if (s.ok()) s = check_info(path, info);
  Allocator& allocator = given != nullptr ? *given : default_allocator();
  void* memory = s.ok() ? allocator.allocate(sizeof(OpLibrary), alignof(OpLibrary)) : nullptr;
  if (s.ok() && memory == nullptr) s = Status(Code::kOutOfMemory, "cannot allocate an op library");
  if (!s.ok()) {
    platform::close_library(handle);
    return s;
  }
  auto* library = new (memory) OpLibrary(allocator, handle);
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): check_info() has refused null
  library->ops_ = {info->ops, static_cast<size_t>(info->count)};
  return Owned<OpLibrary>(library);
}

void OpLibrary::destroy(OpLibrary* library) {
  if (library == nullptr) return;
  if (library->handle_ != nullptr) platform::close_library(library->handle_);
  Allocator& allocator = library->allocator_;
  library->~OpLibrary();
  allocator.deallocate(library, sizeof(OpLibrary), alignof(OpLibrary));
}

}  // namespace wick
