#include "runtime/program/program.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>

#include "runtime/core/regular_file.h"
#include "runtime/program/reader.h"
#include "runtime/program/release.h"

namespace wick {
namespace {

// Read only, whole. Empty files and what is not a regular file are errors.
Result<Span<const uint8_t>> map_file(const char* path, uint64_t max_file) {
  RegularFile file;
  WICK_TRY(annotate(file.open(path), "cannot open %.300s: ", path));
  if (file.size() > max_file) {
    return error(Code::kBudgetExceeded, "%s has %llu bytes, max_file is %llu", path,
                 static_cast<unsigned long long>(file.size()),
                 static_cast<unsigned long long>(max_file));
  }
  // A file larger than memory has addresses is an error where these are 32 bits.
  const auto size = static_cast<size_t>(file.size());
  if (size != file.size() || size > PTRDIFF_MAX) {
    return error(Code::kBudgetExceeded, "%s has %llu bytes, more than a process here can map", path,
                 static_cast<unsigned long long>(file.size()));
  }
  if (size == 0) return error(Code::kInvalidProgram, "%s is empty", path);
  void* p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (p == MAP_FAILED) return error(Code::kIo, "cannot map %s: %s", path, strerror(errno));
  return Span<const uint8_t>{static_cast<const uint8_t*>(p), size};
}

}  // namespace

Result<Owned<Program>> Program::load(Span<const uint8_t> bytes, const LoadOptions& options) {
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
  if (bytes.size() > options.max_file) {
    return error(Code::kBudgetExceeded, "%zu bytes, max_file is %llu", bytes.size(),
                 static_cast<unsigned long long>(options.max_file));
  }
  void* memory = allocator.allocate(sizeof(Program), alignof(Program));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a program");
  Owned<Program> program(new (memory) Program(allocator, options.max_ram));
  program->bytes_ = bytes;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kSegmentAlignment != 0) {
    if (bytes.size() > options.max_ram)
      return Status(Code::kBudgetExceeded, "max_ram: an unaligned file must be copied");
    void* copy = allocator.allocate(bytes.size(), kSegmentAlignment);
    if (copy == nullptr)
      return error(Code::kOutOfMemory, "cannot allocate %zu bytes", bytes.size());
    memcpy(copy, bytes.data(), bytes.size());
    program->bytes_ = {static_cast<const uint8_t*>(copy), bytes.size()};
    program->copied_ = true;
  }
  WICK_TRY(ProgramReader(*program, options).read(program->bytes_));
  return program;
}

Result<Owned<Program>> Program::load(const char* path, const LoadOptions& options) {
  if (path == nullptr) return Status(Code::kInvalidArgument, "path is null");
  WICK_ASSIGN(auto bytes, map_file(path, options.max_file));
  auto program = load(bytes, options);
  if (program.ok()) {
    (*program)->mapped_ = true;
    return program;
  }
  munmap(const_cast<uint8_t*>(bytes.data()), bytes.size());
  return annotate(program.status(), "%s: ", path);
}

Program::~Program() {
  if (mapped_) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
  if (copied_)
    allocator_->deallocate(const_cast<uint8_t*>(bytes_.data()), bytes_.size(), kSegmentAlignment);
}

bool is_mapped(const Program& program, const void* data, size_t bytes) {
  const Span<const uint8_t> file = ProgramReader::mapping(program);
  const auto first = reinterpret_cast<uintptr_t>(data),
             begin = reinterpret_cast<uintptr_t>(file.data());
  return !file.empty() && first >= begin && first - begin <= file.size() &&
         bytes <= file.size() - (first - begin);
}

void release_pages(const Program& program, const void* data, size_t bytes) {
  if (!is_mapped(program, data, bytes)) return;
  const auto first = reinterpret_cast<uintptr_t>(data);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
  if (to <= from) return;
  auto* begin = static_cast<char*>(const_cast<void*>(data)) + (from - first);
  (void)madvise(begin, to - from, MADV_DONTNEED);
}

void Program::destroy(Program* program) {
  if (program == nullptr) return;
  Allocator* allocator = program->allocator_;
  program->~Program();
  allocator->deallocate(program, sizeof(Program), alignof(Program));
}

const EntryDef* Program::find_entry(const char* name) const {
  for (const EntryDef& entry : entries_) {
    if (name != nullptr && strcmp(entry.name, name) == 0) return &entry;
  }
  return nullptr;
}

const char* Program::find_metadata(const char* key) const {
  for (const KeyValueDef& kv : metadata_) {
    if (key != nullptr && strcmp(kv.key, key) == 0) return kv.value;
  }
  return nullptr;
}

uint64_t Program::weight_bytes() const {
  uint64_t total = 0;
  for (const ConstantDef& c : constants_) total += c.view.nbytes();
  return total;
}

}  // namespace wick
