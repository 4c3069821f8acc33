#include "runtime/core/status.h"

#include <cstdio>
#include <cstring>

#include "runtime/platform/system.h"

namespace wick {
#if WICK_ERROR_TEXTS
namespace {

constexpr size_t kMessageBytes = 512;
// Aligned because of a bug of the linker mold: it begins the pages to protect at the thread-local
// data, and a program whose text ended 8 bytes before a page did not start.
alignas(16) WICK_THREAD_LOCAL char g_message[kMessageBytes];

void format_into(char* buffer, const char* format, va_list args) {
  int n = vsnprintf(buffer, kMessageBytes, format, args);
  if (n >= static_cast<int>(kMessageBytes)) memcpy(buffer + kMessageBytes - 4, "...", 4);
  if (n < 0) buffer[0] = '\0';
}

}  // namespace
#endif

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kShapeMismatch: return "shape mismatch";
    case Code::kTypeMismatch: return "type mismatch";
    case Code::kNotFound: return "not found";
    case Code::kNeedsValue: return "needs a value";
    case Code::kUnsupported: return "unsupported";
    case Code::kInvalidProgram: return "invalid program";
    case Code::kBudgetExceeded: return "budget exceeded";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kIo: return "i/o error";
    case Code::kDevice: return "device error";
    case Code::kDeadline: return "deadline passed";
    case Code::kInternal: return "internal error";
    case Code::kCancelled: return "cancelled";
    case Code::kBusy: return "busy";
  }
  return "unknown code";
}

#if WICK_ERROR_TEXTS
Status error(Code code, const char* format, ...) {
  // The arguments may point into the old message (annotate), so the new one is formatted in a local
  // buffer first.
  char local[kMessageBytes];
  va_list args;
  va_start(args, format);
  format_into(local, format, args);
  va_end(args);
  memcpy(g_message, local, kMessageBytes);
  return Status(code, g_message);
}

Status annotate(Status status, const char* format, ...) {
  if (status.ok()) return status;
  char prefix[kMessageBytes];
  va_list args;
  va_start(args, format);
  format_into(prefix, format, args);
  va_end(args);
  return error(status.code(), "%s%s", prefix, status.message());
}

size_t part_of_text(char* to, size_t room, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(to, room, format, args);
  va_end(args);
  if (n < 0 || room == 0) return 0;
  return static_cast<size_t>(n) < room ? static_cast<size_t>(n) : room - 1;
}
#endif

}  // namespace wick
