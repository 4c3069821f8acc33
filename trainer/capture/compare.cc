#include "trainer/capture/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick {
namespace {

std::string where(const ir::Node& n) {
  std::string s = op_info(n.op)->name;
  if (!n.module.empty()) s += " in " + n.module;
  if (!n.source.file.empty()) s += " (" + n.source.text() + ")";
  return s;
}

std::string field_text(const AttrField& f, const AnyAttrs& a) {
  auto* bytes = const_cast<void*>(a.get());
  if (f.kind == AttrKind::kInt) return std::to_string(attr_int(f, bytes));
  if (f.kind == AttrKind::kFloat) return fmt::format("{}", attr_float(f, bytes));
  auto list = attr_ints(f, a.get());
  return fmt::format("[{}]", fmt::join(list.begin(), list.end(), ","));
}

// A graph as what it computes: its nodes without those that hand on a value.
struct Steps {
  explicit Steps(const ir::Graph& graph) : g(graph) {
    for (const ir::Node& n : g.nodes()) {
      if (n.op != OpId::kIdentity) nodes.push_back(&n);
    }
  }
  ir::ValueId value(ir::ValueId v) const {
    while (v != ir::kNoValue && g.value(v).producer >= 0 &&
           g.node(g.value(v).producer).op == OpId::kIdentity)
      v = g.node(g.value(v).producer).inputs[0];
    return v;
  }
  // The op that made a value, or what else it is.
  std::string maker(ir::ValueId v) const {
    const ir::Value& made = g.value(value(v));
    if (made.producer >= 0) return where(g.node(made.producer));
    return (made.origin == ir::ValueOrigin::kInput ? "the input \"" : "the tensor \"") + made.name +
           "\"";
  }
  const ir::Graph& g;
  std::vector<const ir::Node*> nodes;
};

class Comparison {
 public:
  Comparison(const CaptureRun& a, const CaptureRun& b, const std::string& hint)
      : a_(a.graph),
        b_(b.graph),
        reads_(a.reads),
        here_(a.sizes),
        there_(b.sizes),
        hint_(hint),
        match_(a.graph.value_count(), -1) {
    for (size_t i = 0; i < a_.g.inputs().size(); ++i) pair(a_.g.inputs()[i], b_.g.inputs()[i]);
  }

  void run() {
    const size_t common = std::min(a_.nodes.size(), b_.nodes.size());
    for (size_t i = 0; i < common; ++i) {
      at_ = static_cast<ir::NodeId>(a_.nodes[i] - a_.g.nodes().data());
      node(*a_.nodes[i], *b_.nodes[i]);
    }
    at_ = static_cast<ir::NodeId>(a_.g.node_count());
    if (a_.nodes.size() != b_.nodes.size()) {
      const bool first = a_.nodes.size() > b_.nodes.size();
      fail("control flow depends on data or on a dynamic size: " +
           where(*(first ? a_ : b_).nodes[common]) + " runs " + (first ? at(here_) : at(there_)) +
           " and not " + (first ? at(there_) : at(here_)));
    }
    for (size_t i = 0; i < a_.g.outputs().size(); ++i) {
      const ir::ValueId v = a_.g.outputs()[i].value, w = b_.g.outputs()[i].value;
      if (same(v, w)) continue;
      fail("control flow depends on data or on a dynamic size: forward returns the result of " +
           a_.maker(v) + " " + at(here_) + " and of " + b_.maker(w) + " " + at(there_));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const SizeRead* last = nullptr;
    for (const SizeRead& r : reads_) last = r.before <= at_ ? &r : last;
    const bool told = last != nullptr && !here_.empty();
    throw Error("[capture] " + what +
                (told ? "; a dynamic size is read at " + last->line.text() : "") + hint_);
  }
  static std::string at(const std::string& sizes) {
    return sizes.empty() ? "for one input" : "at " + sizes;
  }
  // "for two inputs", or at which sizes.
  std::string both() const {
    return here_.empty() ? "for two inputs" : at(here_) + " and " + at(there_);
  }

  void pair(ir::ValueId v, ir::ValueId w) { match_[static_cast<size_t>(v)] = w; }

  // One tensor for both: made by the same step, or the same constant.
  bool same(ir::ValueId v, ir::ValueId w) const {
    v = a_.value(v);
    w = b_.value(w);
    if (v == ir::kNoValue || w == ir::kNoValue) return v == w;
    if (a_.g.is_constant(v) != b_.g.is_constant(w)) return false;
    if (!a_.g.is_constant(v)) return match_[static_cast<size_t>(v)] == w;
    const ir::Value &x = a_.g.value(v), &y = b_.g.value(w);
    if (x.parameter != y.parameter) return false;
    return x.parameter ? x.name == y.name : same_bits(x.constant, y.constant);
  }

  void node(const ir::Node& x, const ir::Node& y) {
    if (x.op != y.op || x.module != y.module || x.source.text() != y.source.text() ||
        x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size()) {
      fail("control flow depends on data or on a dynamic size: " + where(x) + " runs " + at(here_) +
           ", " + where(y) + " " + (there_.empty() ? "for another" : at(there_)));
    }
    for (const AttrField& f : op_info(x.op)->attrs->fields) {
      const std::string was = field_text(f, x.attrs), now = field_text(f, y.attrs);
      if (was == now) continue;
      fail(fmt::format("{}: {} is baked in, it was {} and {} {}", where(x), f.name, was, now,
                       both()));
    }
    for (size_t k = 0; k < x.inputs.size(); ++k) input(x, y, k);
    for (size_t k = 0; k < x.outputs.size(); ++k) pair(x.outputs[k], y.outputs[k]);
  }

  void input(const ir::Node& x, const ir::Node& y, size_t k) const {
    const ir::ValueId v = a_.value(x.inputs[k]), w = b_.value(y.inputs[k]);
    if (same(v, w)) return;
    if (!a_.g.is_constant(v) || !b_.g.is_constant(w) || a_.g.value(v).parameter ||
        b_.g.value(w).parameter) {
      fail(fmt::format("{}: input {} comes from different places {}", where(x), k, both()));
    }
    fail(
        fmt::format("{}: input {} is baked in, a tensor computed from data or from a dynamic size "
                    "outside of the ops; it differs {}",
                    where(x), k, both()));
  }

  Steps a_, b_;
  const std::vector<SizeRead>& reads_;
  const std::string &here_, &there_, &hint_;
  ir::NodeId at_ = 0;               // a's node that is looked at
  std::vector<ir::ValueId> match_;  // b's value for a's, where a step or an input made it
};

}  // namespace

void compare_captures(const CaptureRun& a, const CaptureRun& b, const std::string& hint) {
  Comparison(a, b, hint).run();
}

}  // namespace wick
