// Records the ops of a step, and compares two records.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "runtime/kernels/copy.h"
#include "trainer/autograd/running_node.h"
#include "trainer/doctor/checks.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/watcher.h"

namespace wick::doctor {
namespace {

using Value = Recorded::Op::Value;

TensorView view_of(const Value& v) {
  return TensorView(const_cast<char*>(v.bytes.data()), v.dtype, v.shape);
}

Value copy_of(const Tensor& t) {
  const Tensor host = t.is_vulkan() ? t.cpu() : t;
  const TensorView& from = host.raw();
  Value v{from.dtype, from.shape, std::vector<char>(from.nbytes())};
  if (from.numel() > 0) copy_strided(from, view_of(v));
  return v;
}

class Recorder final : Watcher {
 public:
  Recorded recorded;

 private:
  void on_call(const TracedCall& call) override {
    if (copying_) return;
    std::vector<int64_t> made_by;
    for (const Tensor* t : call.in) {
      const auto at = t == nullptr ? made_.end() : made_.find(t->id());
      made_by.push_back(at == made_.end() ? -1 : at->second);
    }
    int64_t number = static_cast<int64_t>(recorded.ops.size());
    if (call.op == OpId::kCast || call.op == OpId::kIdentity) {
      number = made_by.empty() ? -1 : made_by[0];
    } else {
      add(call, std::move(made_by));
    }
    for (const Tensor& t : call.out) {
      if (!t.defined()) continue;
      made_[t.id()] = number;
      kept_.push_back(t);
    }
  }
  bool reads_numbers() const override { return true; }
  // What is written to is no longer what an op made.
  void on_write(const Tensor& tensor, const char*, const std::source_location&) override {
    for (const Tensor& t : kept_) {
      if (&t.storage() == &tensor.storage()) made_.erase(t.id());
    }
  }
  void add(const TracedCall& call, std::vector<int64_t> made_by) {
    Recorded::Op op;
    op.op = display_name(call.op);
    op.made_by = std::move(made_by);
    if (const Node* node = RunningNode::innermost()) {
      op.backward = true;
      op.module = module_of(*node);
      op.where = to_text(node->where);
    } else {
      op.module = module_path();
      op.where = to_text(call.where);
    }
    copying_ = true;  // a copy to the host is a call of its own
    NoGrad guard;
    for (size_t i = 0; i < op.made_by.size(); ++i) {
      const Tensor* t = call.in[i];
      op.in.push_back(op.made_by[i] < 0 && t != nullptr && t->defined() ? copy_of(*t) : Value());
    }
    for (const Tensor& t : call.out) op.out.push_back(t.defined() ? copy_of(t) : Value());
    copying_ = false;
    recorded.ops.push_back(std::move(op));
  }

  bool copying_ = false;
  std::map<uint64_t, int64_t> made_;  // by id of a tensor
  std::vector<Tensor> kept_;          // so that no id is used again
};

bool same_bits(const Value& a, const Value& b) {
  if (a.bytes == b.bytes) return true;
  if (!is_float(a.dtype)) return false;
  bool same = true;
  std::vector<double> numbers;
  for_each_element(view_of(a), [&](double x, int64_t) { numbers.push_back(x); });
  for_each_element(view_of(b), [&](double y, int64_t i) {
    const double x = numbers[static_cast<size_t>(i)];
    same = same && ((std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0);
  });
  return same;
}

// How far the results of an op are apart, all of them together: running statistics that are nearly
// 0 beside the normalized values do not count alone.
struct Apart {
  double difference = 0, size = 0;  // sums of squares
  bool broken = false;              // only one of two numbers is finite

  void add(const Value& a, const Value& b) {
    std::vector<double> numbers;
    for_each_element(view_of(a), [&](double x, int64_t) { numbers.push_back(x); });
    for_each_element(view_of(b), [&](double y, int64_t i) {
      const double x = numbers[static_cast<size_t>(i)];
      if (!std::isfinite(x) || !std::isfinite(y)) {
        broken = broken || std::isfinite(x) != std::isfinite(y);
        return;
      }
      difference += (x - y) * (x - y);
      size += x * x;
    });
  }
  void add(const Apart& other) {
    difference += other.difference;
    size += other.size;
    broken = broken || other.broken;
  }
  // Returns |b - a| / max(|a|, least).
  double share(double least) const {
    if (broken) return std::numeric_limits<double>::infinity();
    return difference == 0 ? 0 : std::sqrt(difference) / std::max(std::sqrt(size), least);
  }
};

bool alike(const Recorded::Op& a, const Recorded::Op& b) {
  if (a.op != b.op || a.backward != b.backward || a.out.size() != b.out.size() ||
      a.made_by.size() != b.made_by.size())
    return false;
  for (size_t k = 0; k < a.out.size(); ++k) {
    if (!(a.out[k].shape == b.out[k].shape)) return false;
  }
  return true;
}

struct Partners {
  std::vector<int64_t> of;  // for each op of b the op of a that it is paired with, or -1
  size_t begin = 0;         // so many ops are the same in both before the first difference
};

// Pairs the ops that both begin with, those that both end with, and by a longest common subsequence
// those between. Longer lists than kMost are paired at their ends alone.
Partners partners(const std::vector<Recorded::Op>& a, const std::vector<Recorded::Op>& b) {
  constexpr size_t kMost = 8000;
  Partners pairs{std::vector<int64_t>(b.size(), -1)};
  std::vector<int64_t>& partner = pairs.of;
  size_t& begin = pairs.begin;
  size_t ends = 0;
  while (begin < std::min(a.size(), b.size()) && alike(a[begin], b[begin])) {
    partner[begin] = static_cast<int64_t>(begin);
    ++begin;
  }
  while (begin + ends < std::min(a.size(), b.size()) &&
         alike(a[a.size() - 1 - ends], b[b.size() - 1 - ends])) {
    partner[b.size() - 1 - ends] = static_cast<int64_t>(a.size() - 1 - ends);
    ++ends;
  }
  const size_t n = a.size() - begin - ends, m = b.size() - begin - ends;
  if (n == 0 || m == 0 || n > kMost || m > kMost) return pairs;
  std::vector<uint16_t> longest((n + 1) * (m + 1), 0);  // of what is left from (i, j) on
  const auto at = [&](size_t i, size_t j) -> uint16_t& { return longest[i * (m + 1) + j]; };
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) {
      at(i, j) = alike(a[begin + i], b[begin + j]) ? static_cast<uint16_t>(at(i + 1, j + 1) + 1)
                                                   : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (size_t i = 0, j = 0; i < n && j < m;) {
    if (alike(a[begin + i], b[begin + j])) {
      partner[begin + j] = static_cast<int64_t>(begin + i);
      ++i, ++j;
    } else {
      at(i + 1, j) >= at(i, j + 1) ? ++i : ++j;
    }
  }
  return pairs;
}

}  // namespace

std::string Recorded::Op::text() const {
  std::string text = (backward ? "backward's " : "") + op;
  if (!module.empty()) text += " in module '" + module + "'";
  return where.empty() ? text : text + " (" + where + ")";
}

Recorded record_step(const std::function<void()>& step) {
  Recorder recorder;
  step();
  return std::move(recorder.recorded);
}

void compare_recorded(const Recorded& a, const Recorded& b, double far, Finding* finding) {
  const auto found = [&](const Recorded::Op& op, std::string text) {
    finding->verdict = Finding::Verdict::kFound;
    finding->op = op.op;
    finding->where = op.where;
    finding->text = std::move(text);
  };
  const Partners pairs = partners(a.ops, b.ops);
  const std::vector<int64_t>& partner = pairs.of;
  std::vector<bool> is_far(b.ops.size());   // one of its results is: whoever reads it may be, too
  std::vector<double> norms(b.ops.size());  // of the results
  double worst = 0;
  for (size_t i = 0; i < b.ops.size(); ++i) {
    const Recorded::Op& op = b.ops[i];
    bool inherited = false, first = true, alone = false;
    double least = 0;  // gradients that cancel to nothing are held against what they are sums of
    for (size_t k = 0; k < op.made_by.size(); ++k) {
      const int64_t from = op.made_by[k];
      inherited = inherited || (from >= 0 && is_far[static_cast<size_t>(from)]);
      first = first && from < 0;
      if (op.backward && from >= 0) least = std::max(least, norms[static_cast<size_t>(from)]);
      // What reads the result of an op without a partner may be another op of the same name.
      const int64_t known = from < 0 ? -1 : partner[static_cast<size_t>(from)];
      alone = alone || partner[i] < 0 || (from >= 0 && known < 0) ||
              known != a.ops[static_cast<size_t>(partner[i])].made_by[k];
    }
    alone = alone || (first && i >= pairs.begin);  // nothing says that they read the same
    if (far == 0 && partner[i] != static_cast<int64_t>(i)) {
      return found(op, op.text() + " ran where the other run " +
                           (i < a.ops.size() ? "had " + a.ops[i].text() : "had ended") +
                           ": the program took another path");
    }
    if (partner[i] < 0) {  // other dtypes are computed by other ops in places
      is_far[i] = inherited;
      continue;
    }
    for (size_t k = 0; k < op.in.size(); ++k) {
      const Value& x = a.ops[static_cast<size_t>(partner[i])].in[k];
      if (!is_float(x.dtype) || !is_float(op.in[k].dtype) || !(x.shape == op.in[k].shape)) continue;
      Apart unknown;
      unknown.add(x, op.in[k]);
      inherited = inherited || unknown.share(0) > far;
    }
    Apart apart;
    for (size_t k = 0; k < op.out.size(); ++k) {
      const Value &x = a.ops[static_cast<size_t>(partner[i])].out[k], &y = op.out[k];
      if (far > 0) {
        if (!is_float(x.dtype)) continue;
        Apart alone_result;
        alone_result.add(x, y);
        is_far[i] = is_far[i] || alone_result.share(least) > far;
        apart.add(alone_result);
      } else if (x.dtype != y.dtype || !same_bits(x, y)) {
        return found(op, op.text() + " has other bits");
      }
    }
    const double here = apart.share(least);
    norms[i] = std::sqrt(apart.size);
    if (!alone) worst = std::max(worst, here);
    if (here <= far || inherited || alone) continue;
    return found(op, fmt::format("{} is apart by {:.3g} of its norm, and its inputs by less than "
                                 "{:g}",
                                 op.text(), here, far));
  }
  if (far == 0 && a.ops.size() > b.ops.size()) {
    const Recorded::Op& missing = a.ops[b.ops.size()];
    return found(missing, missing.text() +
                              " did not run, where the other run had ended: the program took "
                              "another path");
  }
  finding->text =
      far == 0 ? fmt::format("{} ops, the same bits", b.ops.size())
               : fmt::format("{} ops, at most {:.2g} of an op's norm apart", b.ops.size(), worst);
}

}  // namespace wick::doctor
