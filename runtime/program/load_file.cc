// Loads a program from a file and decides what is copied and what is mapped.
#include <algorithm>

#include "runtime/core/file_error.h"
#include "runtime/core/regular_file.h"
#include "runtime/platform/memory.h"
#include "runtime/program/guard.h"
#include "runtime/program/reader.h"

namespace wick {

class ProgramFile {
 public:
  ProgramFile(const LoadOptions& options, Program& program)
      : options_(options), p_(program), reader_(program, options) {}
  Status open(const char* path);
  Status read();

 private:
  Status read_table();
  Status read_rest();
  Status copy_rest(size_t bytes);
  Status map_rest();

  const LoadOptions& options_;
  Program& p_;
  ProgramReader reader_;
  RegularFile file_;
  FileBytes bytes_;
};

Status ProgramFile::open(const char* path) {
  WICK_TRY(annotate(file_.open(path), "cannot open %.300s: ", path));
  if (file_.size() > options_.max_file) {
    return error(Code::kBudgetExceeded, "%s has %llu bytes, max_file is %llu", path,
                 static_cast<unsigned long long>(file_.size()),
                 static_cast<unsigned long long>(options_.max_file));
  }
  // With 32-bit addresses a file can be larger than the address space; with 64-bit ones off_t
  // cannot express a larger size. GCOVR_EXCL_START
  if (file_.size() > PTRDIFF_MAX) {
    return error(Code::kBudgetExceeded, "%s has %llu bytes, more than a process here can map", path,
                 static_cast<unsigned long long>(file_.size()));
  }
  // GCOVR_EXCL_STOP
  if (file_.size() == 0) return error(Code::kInvalidProgram, "%s is empty", path);
  return {};
}

Status ProgramFile::read() {
  const auto head = static_cast<size_t>(std::min<uint64_t>(file_.size(), sizeof(bytes_.head)));
  WICK_TRY(file_.read(0, bytes_.head, head));
  WICK_TRY(reader_.read_head({bytes_.head, head}, file_.size()));
  WICK_TRY(read_table());
  WICK_TRY(read_rest());
  WICK_TRY(file_.check_size());
  if (p_.guard_ >= 0) p_.file_ = file_.release();
  const Status s = reader_.read(bytes_);
  WICK_TRY(p_.intact());  // reports a lost mapping rather than a wrong digest
  return s;
}

// The table is always copied, so that what is checked now cannot change later. The header's sizes
// are within the file.
Status ProgramFile::read_table() {
  const FileHeader& h = reader_.header();
  const auto size = static_cast<size_t>(h.table_bytes);
  WICK_ASSIGN(void* table, p_.arena_.allocate(size, kSegmentAlignment));
  WICK_TRY(file_.read(h.table_offset, table, size));
  bytes_.table = static_cast<const uint8_t*>(table);
  return {};
}

// Reads from the table's end (its padding is part of the digest) to the end of the file.
Status ProgramFile::read_rest() {
  bytes_.rest_at = reader_.rest_at();
  const auto size = static_cast<size_t>(file_.size() - bytes_.rest_at);
  if (size == 0) {
    bytes_.check = true;  // the table alone, which was read
    return {};
  }
  const bool small = size <= kCopiedWeights;
  switch (options_.weights) {
    case WeightsIn::kMap: return map_rest();
    case WeightsIn::kCopy: break;
    case WeightsIn::kAuto:
      if (!small && file_.is_local()) return map_rest();
  }
  bytes_.check = small;
  return copy_rest(size);
}

Status ProgramFile::copy_rest(size_t size) {
  void* to = p_.allocator_->allocate(size, kSegmentAlignment);
  if (to == nullptr)
    return error(Code::kOutOfMemory, "cannot allocate %zu bytes for the weights", size);
  p_.copied_ = {static_cast<const uint8_t*>(to), size};
  bytes_.rest = p_.copied_.data();
  return file_.read(bytes_.rest_at, to, size);
}

Status ProgramFile::map_rest() {
  const auto size = static_cast<size_t>(file_.size());
  const void* p = nullptr;
  const int cause = platform::map_file(file_.fd(), size, &p);
  if (cause != 0) return error(file_code(), "cannot map it: %s", file_words(cause));
  p_.mapped_ = {static_cast<const uint8_t*>(p), size};
  bytes_.rest = p_.mapped_.data() + bytes_.rest_at;
  if (!options_.guard) return {};
  WICK_ASSIGN(p_.guard_, guard_mapping(p, size, &p_.lost_));
  return {};
}

Result<Owned<Program>> Program::load(const char* path, const LoadOptions& options) {
  if (path == nullptr) return Status(Code::kInvalidArgument, "path is null");
  WICK_ASSIGN(auto program, make(options));
  ProgramFile file(options, *program);
  WICK_TRY(file.open(path));
  WICK_TRY(annotate(file.read(), "%s: ", path));
  return program;
}

}  // namespace wick
