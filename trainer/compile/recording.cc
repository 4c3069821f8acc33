#include "trainer/compile/recording.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/registry/registry.h"

namespace wick::compiled {
namespace {

bool same_view(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}
bool same_ref(const Ref& a, const Ref& b) {
  return a.buffer == b.buffer && a.offset == b.offset && same_view(a.view, b.view);
}
bool same_refs(const std::vector<Ref>& a, const std::vector<Ref>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_ref(a[i], b[i])) return false;
  }
  return true;
}
bool same_fill(const DrawFill& a, const DrawFill& b) {
  return a.kind == b.kind && a.a == b.a && a.b == b.b && a.steps == b.steps && a.low == b.low &&
         a.high == b.high;
}
bool same_state(const GradState& a, const GradState& b) {
  return a.kind == b.kind && (a.kind != GradState::kBytes || same_ref(a.ref, b.ref));
}

std::string name_of(const Entry& e) {
  switch (e.kind) {
    case Entry::kKernel: return op_info(e.op)->name;
    case Entry::kCopy: return "a copy";
    case Entry::kZero: return "zero_";
    case Entry::kFill: return "a constant";
    case Entry::kDraw: return "a random draw";
    default: return e.name;
  }
}

// Returns how b differs from a; empty: it does not.
std::string entry_difference(const Entry& a, const Entry& b) {
  if (a.kind != b.kind || a.op != b.op) {
    return fmt::format("{} instead of {}", name_of(b), name_of(a));
  }
  if (!same_refs(a.in, b.in) || !same_refs(a.out, b.out)) {
    return fmt::format("{} with other tensors or shapes", name_of(b));
  }
  switch (a.kind) {
    case Entry::kKernel:
      if (attrs_equal(*op_info(a.op)->attrs, a.attrs.get(), b.attrs.get())) return "";
      return fmt::format("{} with other numbers", name_of(b));
    case Entry::kFill:
      if (!b.exact || a.bytes == b.bytes) return "";
      return "a tensor that the program fills with other values";
    case Entry::kDraw:
      if (same_fill(a.fill, b.fill) && a.generator == b.generator && a.stream == b.stream) {
        return "";
      }
      return "another random draw";
    case Entry::kHost:
      for (size_t i = 0; i < a.grads.size() && i < b.grads.size(); ++i) {
        if (!same_state(a.grads[i], b.grads[i]))
          return fmt::format("{} with other gradients", name_of(b));
      }
      return a.grad_mode == b.grad_mode ? "" : "another gradient mode";
    default: return "";
  }
}

}  // namespace

bool is_whole(const Ref& r, size_t bytes) {
  return r.offset == 0 && r.view.contiguous() && r.view.nbytes() == bytes;
}

std::string line_of(const Where& where) { return where.line() == 0 ? "" : to_text(where); }

std::string difference(const Recording& a, const Recording& b) {
  const size_t n = std::min(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < n; ++i) {
    const std::string text = entry_difference(a.entries[i], b.entries[i]);
    if (text.empty()) continue;
    const std::string line = line_of(b.entries[i].where);
    return fmt::format("{}{}", text, line.empty() ? "" : " (" + line + ")");
  }
  if (a.entries.size() != b.entries.size()) {
    const bool more = b.entries.size() > n;
    const Entry& e = more ? b.entries[n] : a.entries[n];
    const std::string line = line_of(e.where);
    return fmt::format("{} {}{}", name_of(e), more ? "is new" : "is gone",
                       line.empty() ? "" : " (" + line + ")");
  }
  for (size_t i = 0; i < a.buffers.size() && i < b.buffers.size(); ++i) {
    const Buffer &x = a.buffers[i], &y = b.buffers[i];
    if (x.place != y.place || x.index != y.index || x.bytes != y.bytes ||
        (x.place == Place::kOutside && !(x.storage == y.storage))) {
      const std::string line = line_of(y.born);
      return fmt::format("another tensor from outside is used{}",
                         line.empty() ? "" : ", made at " + line);
    }
  }
  if (a.results.size() != b.results.size()) return "another number of results";
  for (size_t i = 0; i < a.results.size(); ++i) {
    if (a.results[i].argument != b.results[i].argument ||
        !same_ref(a.results[i].ref, b.results[i].ref)) {
      return fmt::format("another result {}", i);
    }
  }
  if (a.leaves.size() != b.leaves.size()) return "another number of leaves";
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    if (!a.leaves[i].is_same(b.leaves[i]) || !same_state(a.grads_after[i], b.grads_after[i])) {
      return "the gradients that are left";
    }
  }
  return "";
}

}  // namespace wick::compiled
