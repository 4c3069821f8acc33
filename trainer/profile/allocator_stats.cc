#include "trainer/profile/allocator_stats.h"

#include <fmt/core.h>

#include "trainer/explain/values.h"

namespace wick {

std::string AllocatorStats::text() const {
  std::string text = fmt::format(
      "allocated {} (peak {}), reserved {} (peak {}), cached {}, scratch {}\n"
      "{} allocations, {:.1f} % from the cache; {} from the system, {} given back\n",
      bytes_text(allocated), bytes_text(peak_allocated), bytes_text(reserved),
      bytes_text(peak_reserved), bytes_text(cached), bytes_text(scratch), allocations,
      100 * hit_rate(), system_allocations, system_frees);
  for (const SizeClass& c : classes) {
    text +=
        fmt::format("  {:>10}: {} live, {} cached\n",
                    c.bytes == 0 ? std::string("larger") : bytes_text(c.bytes), c.live, c.cached);
  }
  return text;
}

}  // namespace wick
