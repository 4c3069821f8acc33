// An allocator whose blocks end, or begin, at an inaccessible page, so that a release build stops
// where it reads or writes outside. Mappings are kept and used again, so that a block costs no
// system call. Under AddressSanitizer, which sees as much, each block is separate.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/core/allocator.h"

namespace wick::fuzz {

class GuardAllocator final : public Allocator {
 public:
  ~GuardAllocator();
  void* allocate(size_t bytes, size_t align) override;
  void deallocate(void* p, size_t bytes, size_t align) override;

  // Sets what new blocks hold; another value shows what depends on it.
  void fill_with(uint8_t byte) { fill_ = byte; }
  // Called at the end of a case. Returns null, or what was wrong: blocks not given back, bytes
  // written between a block's end and its page's.
  const char* check();
  void limit(size_t bytes) { limit_ = bytes; }

 private:
  char* take(size_t pages);

  std::mutex mutex_;
  std::vector<std::vector<char*>> free_;  // by number of pages
  uint8_t fill_ = 0xA5;
  uint32_t turn_ = 0;
  int64_t alive_ = 0;
  size_t held_ = 0, limit_ = size_t{64} << 20;
  const char* wrong_ = nullptr;
};

}  // namespace wick::fuzz
