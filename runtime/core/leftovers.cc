#include "runtime/core/leftovers.h"

#include <cstring>

#include "runtime/platform/files.h"

namespace wick {
namespace {

// Returns the number in the digits from `at` up to `end`; -1 where there is anything else.
long digits(const char* at, const char* end) {
  if (at == end || end - at > 9) return -1;
  long n = 0;
  for (; at != end; ++at) {
    if (*at < '0' || *at > '9') return -1;
    n = n * 10 + (*at - '0');
  }
  return n;
}

}  // namespace

bool left_behind(const char* entry, const char* name, const char* kind) {
  const char* end = entry + strlen(entry);
  const char* dots[3] = {end, end, end};  // the dots before KIND, PID and N
  const char* at = end;
  for (int k = 2; k >= 0; --k) {
    do {
      if (at == entry) return false;
      --at;
    } while (*at != '.');
    dots[k] = at;
  }
  const size_t stem = static_cast<size_t>(dots[0] - entry), length = strlen(kind);
  if (stem == 0 || (name != nullptr && (strlen(name) != stem || memcmp(entry, name, stem) != 0)))
    return false;
  if (static_cast<size_t>(dots[1] - dots[0]) != length + 1 ||
      memcmp(dots[0] + 1, kind, length) != 0)
    return false;
  const long pid = digits(dots[1] + 1, dots[2]);
  if (pid <= 0 || digits(dots[2] + 1, end) < 0) return false;
  return platform::process_ended(pid);
}

void remove_leftovers(const char* path, const char* name) {
  auto goes = [](void* of, const char* entry) {
    return left_behind(entry, static_cast<const char*>(of), "tmp");
  };
  platform::remove_from_folder(path, goes, const_cast<char*>(name));
}

}  // namespace wick
