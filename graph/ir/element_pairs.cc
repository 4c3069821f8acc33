#include "graph/ir/element_pairs.h"

#include <cmath>
#include <limits>

#include "graph/ir/packed.h"

namespace wick {
namespace {

using Visit = std::function<bool(const ElementPair&)>;

bool alike(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

// Each tensor has `parts` numbers in an element. Returns whether to go on.
bool visit_tensor(const HostTensor& a, const HostTensor& b, int64_t before, int64_t parts,
                  const Visit& visit) {
  if (same_bits(a, b)) return true;
  const bool strings = a.dtype() == DType::kString;
  for (int64_t i = 0; i < a.numel(); ++i) {
    ElementPair pair{before + i / parts};
    if (strings) {
      if (a.string_at(i) == b.string_at(i)) continue;
      pair.off = std::numeric_limits<double>::infinity();
      pair.text = true;
    } else {
      pair.a = element_as_double(a, i);
      pair.b = element_as_double(b, i);
      if (std::isnan(pair.a) && std::isnan(pair.b)) continue;
      pair.off = element_distance(a, b, i);
      if (pair.off == 0 && std::signbit(pair.a) == std::signbit(pair.b)) continue;
    }
    if (!visit(pair)) return false;
  }
  return true;
}

bool visit_any(const HostTensor& a, const HostTensor& b, int64_t before, const Visit& visit) {
  const HostTensor parts = complex_parts(a);
  if (parts.dtype() == a.dtype()) return visit_tensor(a, b, before, 1, visit);
  return visit_tensor(parts, complex_parts(b), before, 2, visit);
}

}  // namespace

DType element_dtype(const HostTensor& t) {
  return is_container(t.dtype()) ? unpack(t).element : t.dtype();
}

bool each_unequal(const HostTensor& a, const HostTensor& b, const Visit& visit) {
  if (!is_container(a.dtype()) || a.dtype() != b.dtype()) {
    if (!alike(a, b)) return false;
    visit_any(a, b, 0, visit);
    return true;
  }
  const Unpacked x = unpack(a), y = unpack(b);
  if (x.element != y.element || x.present != y.present || x.elements.size() != y.elements.size())
    return false;
  for (size_t i = 0; i < x.elements.size(); ++i) {
    if (!alike(x.elements[i], y.elements[i])) return false;
  }
  int64_t before = 0;
  for (size_t i = 0; i < x.elements.size(); ++i) {
    if (!visit_any(x.elements[i], y.elements[i], before, visit)) break;
    before += x.elements[i].numel();
  }
  return true;
}

}  // namespace wick
