// RegexFullMatch on RE2, in builds with WICK_RE2: the only kernel that calls a library and that
// allocates memory itself.
#ifdef WICK_HAS_RE2
#include "runtime/kernels/reference/regex_match.h"
#endif
#include "runtime/kernels/reference/strings.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

#ifdef WICK_HAS_RE2
Status run_regex(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const Span<const StringRef> texts(in[0].as<StringRef>(), static_cast<size_t>(in[0].numel()));
  return match_whole(in[1].as<StringRef>()[0], texts, out[0].as<uint8_t>());
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
