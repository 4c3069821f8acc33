// Trust: a kernel runs on a device once its driver was seen to compute what the CPU does. The first
// time a call of some shape is met it runs several times, on several inputs, beside the CPU's
// kernel; what fails is left to the CPU from then on. Verdicts are kept on disk, for one driver of
// one device and one set of shaders.
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
        lines_(allocator),
        complaints_(allocator) {}

  // What was found out before; no file, or a broken one, is nothing.
  void load(const DiskCache& disk);
  // Writes what was found out since, if anything.
  void save(const DiskCache& disk);

  // Ok where calls of this fingerprint may run on the device; checks `query`, which has it, where
  // that is not known. An error without a verdict where the check could not be made: kUnsupported
  // where memory was short.
  Status why_not(const KernelQuery& query, uint64_t fingerprint);

  // Checks `query` in any case. kUnsupported: what the device does otherwise, or did before: what
  // was found wrong once stays on the CPU. Other errors: it could not be found out.
  Status examine(const KernelQuery& query, uint64_t fingerprint);

  // Kernels that failed in this process, each in a line that stays as long as this does. From any
  // thread, without waiting for a check.
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
  Status reason(uint64_t fingerprint) const;    // why a kernel that is bad is
  size_t place_of(uint64_t fingerprint) const;  // in verdicts_, there or not
  Status find_out(const KernelQuery& query, uint64_t fingerprint, size_t place);
  // Sets *verdict; an error: it could not be found out.
  Status check(const KernelQuery& query, Verdict* verdict, Line* line);
  Status complain(const Line& line);

  Context& context_;
  Allocator& allocator_;
  Mutex lock_;
  Array<Entry> verdicts_;  // by fingerprint
  Arena lines_;
  mutable Mutex complaints_lock_;  // for who changes them, who holds lock_, and who reads
  Array<const Line*> complaints_;
  std::atomic<size_t> checked_{0};
  bool changed_ = false;
};

}  // namespace wick::vulkan
