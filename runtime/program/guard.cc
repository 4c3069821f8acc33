#include "runtime/program/guard.h"

#include "runtime/core/file_error.h"

namespace wick {
namespace {

Status installed(int cause) {
  if (cause == 0) return {};
  return error(file_code(), "cannot install the guard of mapped files: %s", file_words(cause));
}

}  // namespace

Status install_guard() { return installed(platform::install_fault_guard()); }

Result<int> guard_mapping(const void* begin, size_t bytes, std::atomic<uint32_t>* lost) {
  int place = -1;
  WICK_TRY(installed(platform::guard_pages(begin, bytes, lost, &place)));
  if (place >= 0) return place;
  return error(Code::kBudgetExceeded,
               "%d mapped files are guarded already: load this one with WeightsIn::kCopy",
               kMostGuarded);
}

void unguard(int place) { platform::unguard(place); }

}  // namespace wick
