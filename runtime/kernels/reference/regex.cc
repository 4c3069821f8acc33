// RegexFullMatch on RE2, where the build has it (WICK_RE2): the one kernel that calls a library,
// and one that allocates memory of its own.
#ifdef WICK_HAS_RE2
#include <re2/re2.h>
#endif

#include "runtime/kernels/reference/strings.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what this folder shares

#ifdef WICK_HAS_RE2
re2::StringPiece piece(const StringRef& s) { return {s.data, static_cast<size_t>(s.size)}; }

Status run_regex(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(piece(in[1].as<StringRef>()[0]), options);
  if (!pattern.ok())
    return error(Code::kInvalidArgument, "the pattern is not RE2's: %s", pattern.error().c_str());
  const auto* x = in[0].as<StringRef>();
  for (int64_t i = 0, n = in[0].numel(); i < n; ++i)
    out[0].as<uint8_t>()[i] = RE2::FullMatchN(piece(x[i]), pattern, nullptr, 0) ? 1 : 0;
  return {};
}
#else
Status run_regex(const KernelCtx&, Span<const TensorView> in, Span<TensorView>, const void*) {
  if (in[0].numel() == 0) return {};
  return Status(
      Code::kUnsupported,
      "this build has no RE2: configure with -DWICK_RE2=ON where libre2-dev is installed");
}
#endif

}  // namespace

WICK_REF_ROWS(RegexFullMatch,
              {"regex_full_match.ref", kContiguous, match<StringRef>, nullptr, nullptr, run_regex});
WICK_NO_CPU_ROWS(RegexFullMatch);

}  // namespace wick
