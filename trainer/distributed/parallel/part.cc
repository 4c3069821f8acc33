#include "trainer/distributed/parallel/part_run.h"

#include <utility>

namespace wick::distributed {
namespace {

constinit thread_local const PartRun* g_run = nullptr;

}  // namespace

std::pair<int64_t, int64_t> samples_of(int index, int shards, int64_t total) {
  const int64_t each = total / shards, more = total % shards;
  auto bound = [&](int64_t i) { return i * each + std::min(i, more); };
  return {bound(index), bound(index + 1)};
}

const PartRun* current_part() { return g_run; }

PartScope::PartScope(const PartRun& run, Generator* generator)
    : run_(run), before_(std::exchange(g_run, &run_)) {
  if (generator != nullptr) generator_.emplace(*generator);
}
PartScope::~PartScope() { g_run = before_; }

}  // namespace wick::distributed
