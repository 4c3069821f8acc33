// The gradient of a split is a sum of padded tensors: each part costs a copy, a pad and an addition
// of the whole. Every element of the sum is one element of a part, plus zeros, so it is written
// once.
#include <algorithm>
#include <cmath>

#include "trainer/compile/values.h"
#include "trainer/tensor/view_rule.h"

namespace wick::compiled {
namespace {

// A sum of padded tensors so far: what lies where along an axis, and the works that made it.
struct Sum {
  struct Part {
    Operand from;
    int64_t begin, count;
  };
  int axis = -1;  // < 0: no such sum
  std::vector<Part> parts;
  std::vector<int> works;
};

// Returns what a Pad with zeros along one axis is.
Sum padded(const Work& work, int index) {
  Sum s;
  const auto& a = work.attrs.as<PadAttrs>();
  const int rank = work.out[0].view.rank();
  if (a.mode != 0 || a.value != 0 || std::signbit(a.value) || !a.axes.empty() ||
      a.pads.count != 2 * rank)
    return s;
  for (size_t i = 1; i < work.in.size(); ++i) {
    if (work.in[i].view.present()) return s;
  }
  int axis = -1;
  for (int d = 0; d < rank; ++d) {
    const int64_t before = a.pads[d], after = a.pads[d + rank];
    if (before < 0 || after < 0 || ((before != 0 || after != 0) && axis >= 0)) return s;
    if (before != 0 || after != 0) axis = d;
  }
  if (axis < 0 || work.in[0].value < 0) return s;
  s.axis = axis;
  s.parts = {{work.in[0], a.pads[axis], work.in[0].view.shape[axis]}};
  s.works = {index};
  return s;
}

class Joiner {
 public:
  explicit Joiner(Works* works) : w_(*works), uses_(*works), sums_(works->values.size()) {}

  int run() {
    int gone = 0;
    for (size_t i = 0; i < w_.list.size(); ++i) {
      Work& work = w_.list[i];
      if (work.gone || work.entry->kind != Entry::kKernel || work.out.size() != 1) continue;
      const Operand& out = work.out[0];
      if (out.value < 0 || out.view.dtype != DType::kF32 || !out.view.contiguous()) continue;
      const auto index = static_cast<int>(i);
      Sum sum;
      if (work.op == OpId::kPad) sum = padded(work, index);
      if (work.op == OpId::kAdd) sum = added(work, index);
      if (sum.axis < 0) continue;
      if (work.op == OpId::kAdd && whole(sum, out)) {
        gone += write(sum, index);
      } else if (value(out).once) {
        sums_[static_cast<size_t>(out.value)] = std::move(sum);
      }
    }
    return gone;
  }

 private:
  const Value& value(const Operand& o) const { return w_.values[static_cast<size_t>(o.value)]; }

  Sum added(const Work& work, int index) const {
    Sum sum;
    for (const Operand& o : work.in) {
      if (o.value < 0 || !(o.view.shape == work.out[0].view.shape)) return {};
      const Sum& part = sums_[static_cast<size_t>(o.value)];
      if (part.axis < 0 || uses_.only_reader(o) != index) return {};
      if (sum.axis >= 0 && sum.axis != part.axis) return {};
      sum.axis = part.axis;
      sum.parts.insert(sum.parts.end(), part.parts.begin(), part.parts.end());
      sum.works.insert(sum.works.end(), part.works.begin(), part.works.end());
    }
    if (work.in[0].value == work.in[1].value) return {};
    sum.works.push_back(index);
    return sum;
  }

  // Returns whether the parts fill the axis, each place once.
  static bool whole(Sum& sum, const Operand& out) {
    std::sort(sum.parts.begin(), sum.parts.end(),
              [](const Sum::Part& a, const Sum::Part& b) { return a.begin < b.begin; });
    int64_t at = 0;
    for (const Sum::Part& p : sum.parts) {
      if (p.begin != at) return false;
      at += p.count;
    }
    return at == out.view.shape[sum.axis];
  }

  int write(const Sum& sum, int index) {
    Work joined = w_.list[static_cast<size_t>(index)];
    const Operand out = joined.out[0];
    joined.op = OpId::kNone;
    joined.joins = true;
    joined.in.clear();
    joined.out.clear();
    std::vector<int> gone;
    for (int i : sum.works) {
      if (i == index) continue;
      if (!uses_.may_wait(w_.list[static_cast<size_t>(i)], i, index)) return 0;
      gone.push_back(i);
    }
    for (const Sum::Part& p : sum.parts) {
      Operand from = p.from, to = out;
      to.view.shape[sum.axis] = p.count;
      to.offset += p.begin * out.view.strides[sum.axis] * static_cast<int64_t>(sizeof(float));
      // A copy that only brings the elements into this order is not needed either.
      const int maker = uses_.maker(from.value);
      Strides strides;
      if (maker >= 0 && value(from).once && uses_.only_reader(from) >= 0) {
        const Work& copy = w_.list[static_cast<size_t>(maker)];
        if (!copy.gone && copy.entry->kind == Entry::kKernel &&
            (copy.op == OpId::kReshape || copy.op == OpId::kIdentity) && copy.in[0].value >= 0 &&
            same_operand(copy.out[0], from) && uses_.may_wait(copy, maker, index) &&
            reshape_strides(to.view, copy.in[0].view.shape, &strides)) {
          from = copy.in[0];
          to.view.shape = from.view.shape;
          to.view.strides = strides;
          gone.push_back(maker);
        }
      }
      joined.in.push_back(from);
      joined.out.push_back(to);
    }
    for (int i : gone) w_.list[static_cast<size_t>(i)].gone = true;
    w_.list[static_cast<size_t>(index)] = std::move(joined);
    return static_cast<int>(gone.size());
  }

  Works& w_;
  Uses uses_;
  std::vector<Sum> sums_;  // of values
};

}  // namespace

int join_pads(Works* works) { return Joiner(works).run(); }

}  // namespace wick::compiled
