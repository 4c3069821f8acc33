// The CPU as a backend: it runs kernels in the session's arena.
#pragma once

#include "runtime/backend/backend.h"

namespace wick {

class CpuBackend final : public Backend {
 public:
  // `sets` are searched in order and must outlive the backend.
  explicit CpuBackend(Span<const KernelSet* const> sets) : sets_(sets) {}
  const char* name() const override { return "cpu"; }
  bool supports(const KernelQuery& query) override { return find_kernel(sets_, query) != nullptr; }
  Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) override;
  bool in_host_memory() const override { return true; }

 private:
  Span<const KernelSet* const> sets_;
};

}  // namespace wick
