#include "runtime/platform/fault_guard.h"

#include <cerrno>

namespace wick::platform {

int install_fault_guard() { return ENOSYS; }
int guard_pages(const void* /*begin*/, size_t /*bytes*/, std::atomic<uint32_t>* /*lost*/,
                int* place) {
  *place = -1;
  return ENOSYS;
}
void unguard(int /*place*/) {}

}  // namespace wick::platform
