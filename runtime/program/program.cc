#include "runtime/program/program.h"

#include <algorithm>

#include "runtime/platform/files.h"
#include "runtime/platform/memory.h"
#include "runtime/program/guard.h"
#include "runtime/program/pack_store.h"
#include "runtime/program/reader.h"
#include "runtime/program/release.h"

namespace wick {

Result<Owned<Program>> Program::make(const LoadOptions& options) {
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
  void* memory = allocator.allocate(sizeof(Program), alignof(Program));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a program");
  Owned<Program> program(new (memory) Program(allocator));
  void* packs = allocator.allocate(sizeof(PackStore), alignof(PackStore));
  if (packs == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a program");
  program->packs_ = new (packs) PackStore(allocator, options.keep_packed);
  return program;
}

Result<Owned<Program>> Program::load(Span<const uint8_t> bytes, const LoadOptions& options) {
  if (bytes.size() > options.max_file) {
    return error(Code::kBudgetExceeded, "%zu bytes, max_file is %llu", bytes.size(),
                 static_cast<unsigned long long>(options.max_file));
  }
  WICK_ASSIGN(auto program, make(options));
  ProgramReader reader(*program, options);
  WICK_TRY(reader.read_head(bytes.subspan(0, std::min(bytes.size(), sizeof(FileBytes::head))),
                            bytes.size()));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kSegmentAlignment != 0) {
    if (options.max_ram != 0 && bytes.size() > options.max_ram)
      return Status(Code::kBudgetExceeded, "max_ram: an unaligned file must be copied");
    void* copy = program->allocator_->allocate(bytes.size(), kSegmentAlignment);
    if (copy == nullptr)
      return error(Code::kOutOfMemory, "cannot allocate %zu bytes", bytes.size());
    memcpy(copy, bytes.data(), bytes.size());
    bytes = program->copied_ = {static_cast<const uint8_t*>(copy), bytes.size()};
  }
  FileBytes in_place;
  memcpy(in_place.head, bytes.data(), std::min(bytes.size(), sizeof(in_place.head)));
  in_place.table = bytes.data() + reader.header().table_offset;
  in_place.rest_at = reader.rest_at();
  in_place.rest = bytes.data() + in_place.rest_at;
  WICK_TRY(reader.read(in_place));
  return program;
}

Program::~Program() {
  if (packs_ != nullptr) {
    packs_->~PackStore();
    allocator_->deallocate(packs_, sizeof(PackStore), alignof(PackStore));
  }
  unguard(guard_);
  if (!mapped_.empty()) platform::unmap(mapped_.data(), mapped_.size());
  if (file_ >= 0) platform::close_file(file_);
  if (!copied_.empty())
    allocator_->deallocate(const_cast<uint8_t*>(copied_.data()), copied_.size(), kSegmentAlignment);
}

PackedTotals Program::packed() const { return packs_->totals(); }

// Only whole pages that are gone raise a fault. Within the last page of a file that became shorter
// zeros are read, so its size is asked, too.
Status Program::intact() const {
  platform::FileInfo info;
  if (file_ >= 0 && (platform::file_info(file_, &info) != 0 || info.size < mapped_.size()))
    lost_.store(1, std::memory_order_release);
  return intact_so_far();
}

Status Program::intact_so_far() const {
  if (lost_.load(std::memory_order_acquire) == 0) return {};
  return Status(Code::kIo,
                "the model's file became shorter, or its storage failed, while it was mapped: load "
                "it again, and replace such a file by renaming a new one over it");
}

bool is_mapped(const Program& program, const void* data, size_t bytes) {
  const Span<const uint8_t> file = ProgramReader::mapping(program);
  const auto first = reinterpret_cast<uintptr_t>(data),
             begin = reinterpret_cast<uintptr_t>(file.data());
  return !file.empty() && first >= begin && first - begin <= file.size() &&
         bytes <= file.size() - (first - begin);
}

void release_pages(const Program& program, const void* data, size_t bytes) {
  if (is_mapped(program, data, bytes)) platform::release_pages(data, bytes);
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
