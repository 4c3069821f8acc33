// Checks the dtypes of inputs against the operators' table, and reports names that no operator has.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "exporter/onnx/read/signature.h"
#include "exporter/onnx/read/subgraph.h"

namespace wick::onnx {
namespace {

std::string names_of(uint32_t set) {
  std::string all;
  for (int t = 1; t < kDTypeCount; ++t) {
    if ((set >> t & 1) != 0)
      all += (all.empty() ? "" : ", ") + std::string(dtype_name(static_cast<DType>(t)));
  }
  return all;
}

// Returns the edit distance: letters to change, leave out or put in, in any case.
size_t distance(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t before = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = before + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      before = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

// Returns the name of a table at the least edit distance, at most a third of its letters; "" if
// there is none.
std::string nearest(Span<const OperatorVersion> all, const std::string& name) {
  std::string found;
  if (name.size() > 64) return found;
  size_t least = name.size() / 3 + 1;
  for (const OperatorVersion& s : all) {
    const size_t d = distance(name, s.name);
    if (d < least) least = d, found = s.name;
  }
  return found;
}

}  // namespace

namespace {
uint32_t tensors_taken(const OperatorVersion& v, size_t input) {
  return v.ever.taken(input) & ~Inputs::kContainer;
}
}  // namespace

bool takes(const OperatorVersion& v, size_t input, DType dtype) {
  const uint32_t set = tensors_taken(v, input);
  return set == 0 || dtype == DType::kNone || is_container(dtype) ||
         (set >> static_cast<int>(dtype) & 1) != 0;
}

bool takes_containers(const std::string& op_type) {
  const OperatorVersion* v = find_version(op_type, 1);
  if (v == nullptr) return false;
  return std::any_of(std::begin(v->ever.types), std::end(v->ever.types),
                     [](uint32_t set) { return (set & Inputs::kContainer) != 0; });
}

void check_types(const ReadCtx& c) {
  const OperatorVersion* version = find_version(c.node.op_type(), c.opset, c.node.domain());
  for (int i = 0; version != nullptr && i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    const DType dtype = c.dtype(c.in(i));
    if (!takes(*version, static_cast<size_t>(i), dtype))
      c.fail(fmt::format("input {} ('{}') is {}; {} takes {} there", i, c.node.input(i),
                         dtype_name(dtype), c.node.op_type(),
                         names_of(tensors_taken(*version, static_cast<size_t>(i)))));
  }
}

std::string unknown_operator(const std::string& op_type, const std::string& domain) {
  const bool ours = default_domain(domain);
  const std::string here = ours ? "ONNX's default domain" : domain;
  std::string why = fmt::format("{} has no operator of this name", here);
  for (const char* other : {"", kMicrosoft, kMl, kPreview}) {
    if (find_version(op_type, INT32_MAX, other) != nullptr)
      return why + fmt::format("; {} has one: is it the node's domain that is wrong?",
                               *other == 0 ? "the default domain" : other);
  }
  const std::string near = nearest(operator_versions(domain), op_type);
  if (!near.empty()) return why + fmt::format("; is '{}' meant?", near);
  return why + (ours ? "; `wick ops --onnx` lists those that there are"
                     : ", and no custom op of its name is registered (load_ops, or --ops "
                       "LIBRARY.so)");
}

}  // namespace wick::onnx
