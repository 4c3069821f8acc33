// Trust: a kernel runs on a device only if its driver was seen to compute what the CPU does. When a
// call of some shape occurs for the first time it runs several times, on several inputs, beside the
// CPU's kernel; a call that fails is left to the CPU from then on. Verdicts are stored on disk, for
// one driver of one device and one set of shaders.
#pragma once

#include <atomic>

#include "runtime/backend/vulkan/ctx/disk_cache.h"
#include "runtime/backend/vulkan/trust/fingerprint.h"
#include "runtime/core/arena.h"
#include "runtime/kernels/kernel.h"

namespace wick::vulkan {

class Trust {
 public:
  Trust(Context& context, Allocator& allocator)
      : context_(context),
        allocator_(allocator),
        verdicts_(allocator),
        warm_(allocator),
        lines_(allocator),
        complaints_(allocator) {}

  // Loads earlier verdicts; a missing or damaged file is ignored.
  void load(const DiskCache& disk);
  // Stores new verdicts, if there are any.
  void save(const DiskCache& disk);

  // Adds verdicts that came with a model, in the form that put() gives. They count in this process
  // where it has none of its own, and are not stored. kInvalidProgram: they are no verdicts.
  Status add_warm(Span<const uint8_t> bytes);
  Status check_warm(Span<const uint8_t> bytes) const;  // the same without adding them
  // Returns all verdicts that are known.
  Status put(Array<uint8_t>& bytes);

  // Returns ok if calls with this fingerprint may run on the device; checks `query`, which has it,
  // if that is not known. If the check was not possible it returns an error without a verdict:
  // kUnsupported if memory was short.
  Status why_not(const KernelQuery& query, uint64_t fingerprint);

  // Checks `query` in any case. kUnsupported: the device's results differ, or did before: a kernel
  // once found wrong stays on the CPU. Other errors: the check was not possible.
  Status examine(const KernelQuery& query, uint64_t fingerprint);

  // Kernels that failed in this process, one line each, valid as long as this object. May be called
  // from any thread, without waiting for a check.
  size_t complaint_count() const;
  const char* complaint(size_t i) const;
  size_t checked() const { return checked_.load(std::memory_order_relaxed); }

 private:
  enum class Verdict : uint64_t { kGood = 1, kBad = 2 };
  struct Entry {
    uint64_t fingerprint = 0;
    Verdict verdict = Verdict::kBad;
  };
  struct Line {
    uint64_t fingerprint = 0;
    char text[360] = "";
  };
  Status reason(uint64_t fingerprint) const;  // why the kernel is bad
  // Returns the position of a fingerprint in a list, present or not.
  static size_t place_of(const Array<Entry>& list, uint64_t fingerprint);
  static const Entry* find(const Array<Entry>& list, uint64_t fingerprint);
  static Status parse(Span<const uint8_t> bytes, Array<Entry>& list);
  static Status merge(const Array<Entry>& more, Array<Entry>& list);
  Status find_out(const KernelQuery& query, uint64_t fingerprint, size_t place);
  // Sets *verdict; fails if the check was not possible.
  Status check(const KernelQuery& query, Verdict* verdict, Line* line);
  Status complain(const Line& line);

  Context& context_;
  Allocator& allocator_;
  Mutex lock_;
  Array<Entry> verdicts_,
      warm_;  // by fingerprint: of this machine, and those that came with models
  Arena lines_;
  mutable Mutex complaints_lock_;  // protects readers against writers, which also hold lock_
  Array<const Line*> complaints_;
  std::atomic<size_t> checked_{0};
  bool changed_ = false;
};

}  // namespace wick::vulkan
