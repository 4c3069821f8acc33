// StringNormalizer: removes stop words and changes the case of the others. Letters are mapped one
// to one by Unicode's rules for every language but Turkish and Azeri, whose i is dotted in both
// cases; letters that map to several ("ß") and bytes that are not UTF-8 stay.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/merge_sort.h"
#include "runtime/kernels/reference/strings.h"
#include "runtime/ops/attrs.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

struct CaseRange {
  uint32_t first, last, step;
  int32_t delta;
};
#include "runtime/kernels/reference/unicode_case.inc"

template <size_t N>
uint32_t mapped(const CaseRange (&ranges)[N], uint32_t c) {
  const CaseRange* r = std::lower_bound(
      ranges, ranges + N, c, [](const CaseRange& range, uint32_t v) { return range.last < v; });
  if (r == ranges + N || c < r->first || (c - r->first) % r->step != 0) return c;
  return static_cast<uint32_t>(static_cast<int32_t>(c) + r->delta);
}

struct Casing {
  CaseChange change = CaseChange::kNone;
  bool dotted = false;  // Turkish, Azeri

  uint32_t operator()(uint32_t c) const {
    if (c == kNoCodePoint || change == CaseChange::kNone) return c;
    const bool lower = change == CaseChange::kLower;
    if (dotted && lower && (c == 'I' || c == 0x130)) return c == 'I' ? 0x131 : 'i';
    if (dotted && !lower && (c == 'i' || c == 0x131)) return c == 'i' ? 0x130 : 'I';
    return lower ? mapped(kLower, c) : mapped(kUpper, c);
  }
};

bool is_dotted(const StringNormalizerAttrs& a) {
  const auto letters = a.locale.span();
  auto starts = [&](char first, char second) {
    return letters.size() >= 2 && (letters[0] | 0x20) == first && (letters[1] | 0x20) == second &&
           (letters.size() == 2 || letters[2] == '_' || letters[2] == '-' || letters[2] == '.');
  };
  return starts('t', 'r') || starts('a', 'z');
}

// Returns -1, 0 or 1: compares code points after the mapping; bytes that are not UTF-8 count as
// single ones, above all others.
int compare(const StringRef& a, const StringRef& b, const Casing& casing, Poll& poll) {
  uint64_t i = 0, j = 0;
  while (i < a.size && j < b.size && !poll(16)) {
    const CodePoint x = code_point(a.data + i, a.size - i), y = code_point(b.data + j, b.size - j);
    const uint32_t p = casing(x.value), q = casing(y.value);
    if (p != q) return p < q ? -1 : 1;
    if (x.value == kNoCodePoint && a.data[i] != b.data[j]) return a.data[i] < b.data[j] ? -1 : 1;
    i += x.bytes;
    j += y.bytes;
  }
  return i < a.size ? 1 : j < b.size ? -1 : 0;
}

unsigned put(uint32_t c, char* to) {
  if (c < 0x80) {
    to[0] = static_cast<char>(c);
    return 1;
  }
  const unsigned bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (unsigned i = bytes - 1; i > 0; --i, c >>= 6) to[i] = static_cast<char>(0x80 | (c & 0x3F));
  to[0] = static_cast<char>((0xF00u >> bytes) | c);
  return bytes;
}

// Writes to `to`, or only counts bytes where that is null.
uint64_t change_case(const StringRef& s, const Casing& casing, char* to, Poll& poll) {
  uint64_t size = 0;
  char letter[4];
  for (uint64_t i = 0; i < s.size && !poll(8);) {
    const CodePoint c = code_point(s.data + i, s.size - i);
    letter[0] = s.data[i];
    const unsigned bytes = c.value == kNoCodePoint ? 1 : put(casing(c.value), letter);
    if (to != nullptr) memcpy(to + size, letter, bytes);
    size += bytes;
    i += c.bytes;
  }
  return size;
}

Status plan_normalizer(const KernelQuery& q,
                       KernelPlan* plan) {  // room for sorting the stop words
  if (q.in.size() > 1 && q.in[1].present())
    plan->scratch_bytes = byte_count(static_cast<uint64_t>(q.in[1].numel()) * 2 * sizeof(int64_t));
  return {};
}

Status run_normalizer(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  const auto& a = *static_cast<const StringNormalizerAttrs*>(attrs);
  const bool dotted = is_dotted(a);
  const Casing casing{static_cast<CaseChange>(a.case_change_action), dotted};
  const Casing same{a.is_case_sensitive != 0 ? CaseChange::kNone : CaseChange::kLower, dotted};
  const bool stops = in.size() > 1 && in[1].present();
  const auto* words = stops ? in[1].as<StringRef>() : nullptr;
  auto* order = static_cast<int64_t*>(ctx.scratch);
  const int64_t count = stops ? in[1].numel() : 0;
  Poll poll;
  for (int64_t i = 0; i < count && !poll(); ++i) order[i] = i;
  merge_sort(order, order + count, count, poll,
             [&](int64_t i, int64_t j) { return compare(words[i], words[j], same, poll) < 0; });
  if (stopped()) return {};
  auto* y = out[0].as<StringRef>();
  int64_t kept = 0;
  for (int64_t i = 0, n = in[0].numel(); i < n; ++i) {
    if (poll(16)) return {};
    const StringRef& s = in[0].as<StringRef>()[i];
    const int64_t* at = std::lower_bound(
        order, order + count, s,
        [&](int64_t word, const StringRef& v) { return compare(words[word], v, same, poll) < 0; });
    if (at != order + count && compare(words[*at], s, same, poll) == 0) continue;
    StringRef to = s;
    if (casing.change != CaseChange::kNone && s.size != 0) {
      to.size = change_case(s, casing, nullptr, poll);
      if (stopped()) return {};
      WICK_ASSIGN(void* room, string_room(ctx, to.size));
      change_case(s, casing, static_cast<char*>(room), poll);
      to.data = static_cast<const char*>(room);
    }
    y[kept++] = to;
  }
  if (kept == 0) y[kept++] = StringRef();
  out[0].shape[out[0].rank() - 1] = kept;
  return {};
}

}  // namespace

WICK_REF_ROWS(StringNormalizer, {"string_normalizer.ref", kContiguous, match<StringRef>,
                                 plan_normalizer, nullptr, run_normalizer});
WICK_NO_CPU_ROWS(StringNormalizer);

}  // namespace wick
