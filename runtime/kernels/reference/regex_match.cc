// The only file of the runtime that is compiled with exceptions: RE2 allocates with operator new,
// and an exception from it would end a process whose code has no unwind tables.
#include "runtime/kernels/reference/regex_match.h"

#include <re2/re2.h>

#include <new>

namespace wick::reference {
namespace {

// The memory for a compiled pattern and for the states that matching keeps. It is RE2's own
// default, repeated because docs/use/runtime.md promises it. A larger pattern is refused, more
// states are discarded.
constexpr int64_t kMaxMemory = int64_t{8} << 20;

re2::StringPiece piece(const StringRef& s) { return {s.data, static_cast<size_t>(s.size)}; }

}  // namespace

Status match_whole(const StringRef& pattern, Span<const StringRef> texts, uint8_t* matched) try {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  const RE2 compiled(piece(pattern), options);
  if (!compiled.ok()) {
    return error(Code::kInvalidArgument, "the pattern is not RE2's: %.200s",
                 compiled.error().c_str());
  }
  for (size_t i = 0; i < texts.size(); ++i)
    matched[i] = RE2::FullMatchN(piece(texts[i]), compiled, nullptr, 0) ? 1 : 0;
  return {};
} catch (const std::bad_alloc&) {
  return Status(Code::kOutOfMemory, "RE2 had no memory for the pattern");
} catch (...) {
  return Status(Code::kInternal, "RE2 failed");
}

}  // namespace wick::reference
