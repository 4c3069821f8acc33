// The dtypes of inputs against the operators' table, and names that no operator has.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "exporter/onnx/microsoft.h"
#include "exporter/onnx/signature.h"

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

// Letters to change, leave out or put in, in any case.
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

// The name of a table that is the fewest letters away, at most a third of them; "" where none is.
std::string nearest(Span<const Signature> all, const std::string& name) {
  std::string found;
  if (name.size() > 64) return found;
  size_t least = name.size() / 3 + 1;
  for (const Signature& s : all) {
    const size_t d = distance(name, s.name);
    if (d < least) least = d, found = s.name;
  }
  return found;
}

}  // namespace

const InputTypes* find_input_types(const std::string& name) {
  const Span<const InputTypes> all = input_types();
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const InputTypes& t, const std::string& wanted) { return t.name < wanted; });
  return at != all.end() && name == at->name ? &*at : nullptr;
}

uint32_t taken_by(const InputTypes& types, size_t input) {
  size_t last = std::size(types.takes);
  while (last > 1 && types.takes[last - 1] == 0) --last;
  return types.takes[std::min(input, last - 1)];
}

bool takes(const InputTypes& types, size_t input, DType dtype) {
  const uint32_t set = taken_by(types, input);
  return set == 0 || dtype == DType::kNone || is_container(dtype) ||
         (set >> static_cast<int>(dtype) & 1) != 0;
}

void check_types(const ReadCtx& c) {
  const InputTypes* types = find_input_types(c.node.op_type());
  for (int i = 0; types != nullptr && i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    const DType dtype = c.dtype(c.in(i));
    if (!takes(*types, static_cast<size_t>(i), dtype))
      c.fail(fmt::format("input {} ('{}') is {}; {} takes {} there", i, c.node.input(i),
                         dtype_name(dtype), c.node.op_type(),
                         names_of(taken_by(*types, static_cast<size_t>(i)))));
  }
}

std::string unknown_operator(const std::string& op_type, const std::string& domain) {
  const bool microsoft = domain == kMicrosoft;
  const std::string here = microsoft ? kMicrosoft : "ONNX's default domain";
  const std::string other = microsoft ? "the default domain" : kMicrosoft;
  std::string why = fmt::format("{} has no operator of this name", here);
  if (find_signature(op_type, INT32_MAX, microsoft ? "" : kMicrosoft) != nullptr)
    return why + fmt::format("; {} has one: is it the node's domain that is wrong?", other);
  const std::string near = nearest(microsoft ? microsoft_signatures() : signatures(), op_type);
  if (!near.empty()) return why + fmt::format("; is '{}' meant?", near);
  return why + (microsoft ? ", and no custom op of its name is registered (load_ops, or --ops "
                            "LIBRARY.so)"
                          : "; `wick ops --onnx` lists those that there are");
}

}  // namespace wick::onnx
