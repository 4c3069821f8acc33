#include "trainer/capture/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "trainer/capture/control.h"
#include "trainer/capture/size_values.h"
#include "trainer/capture/solve.h"
#include "trainer/capture/varied.h"
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
  if (f.kind == AttrKind::kText) return fmt::format("\"{}\"", ir::attr_text(f, a.get()));
  auto list = attr_ints(f, a.get());
  return fmt::format("[{}]", fmt::join(list.begin(), list.end(), ","));
}

// The steps of a run: its nodes without Identity.
struct Steps {
  Steps(const ir::Graph& graph, const SizeLog& size_log) : g(graph), log(size_log) {
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
  // Returns the op that made a value, or describes the input or tensor that it is.
  std::string maker(ir::ValueId v) const {
    const ir::Value& made = g.value(value(v));
    if (made.producer >= 0) return where(g.node(made.producer));
    return (made.origin == ir::ValueOrigin::kInput ? "the input \"" : "the tensor \"") + made.name +
           "\"";
  }
  const ir::Graph& g;
  const SizeLog& log;
  std::vector<const ir::Node*> nodes;
  std::string sizes;  // "batch = 4"; empty if all runs have the same sizes
};

class Merge {
 public:
  Merge(const std::vector<CaptureRun>& runs, const std::vector<FreeSize>& free, ir::Graph& graph)
      : free_(free),
        runs_(runs),
        g_(graph),
        own_solver_(std::in_place, symbols_of(free, graph), sizes_of(runs)),
        solver_(*own_solver_),
        sizes_(graph) {
    for (const CaptureRun& run : runs) steps_.emplace_back(run.graph, run.log);
    for (size_t r = 1; r < runs.size(); ++r) {
      if (runs[r].sizes == runs[0].sizes) continue;
      steps_[r].sizes = sizes_text(free, runs[r].sizes);
      steps_[0].sizes = sizes_text(free, runs[0].sizes);
    }
    begin();
  }
  // Merges one region of a node that all runs have.
  Merge(Merge& outside, std::vector<const ir::Node*> nodes, size_t region, ir::Graph& graph)
      : free_(outside.free_),
        runs_(outside.runs_),
        g_(graph),
        solver_(outside.solver_),
        sizes_(graph, [this](const SymDim& d) { return captures_->take(outside_->sizes_.one(d)); }),
        outside_(&outside),
        nodes_(std::move(nodes)),
        captures_(std::in_place, outside.g_, graph),
        at_(outside.at_) {
    for (size_t r = 0; r < runs_.size(); ++r) {
      steps_.emplace_back(nodes_[r]->regions[region], runs_[r].log);
      steps_[r].sizes = outside.steps_[r].sizes;
    }
    begin();
  }

  void input(size_t i, ir::ValueId value) {
    for (size_t r = 0; r < runs_.size(); ++r) pair(r, first().inputs()[i], graph(r).inputs()[i]);
    made_[ir::at(first().inputs()[i])] = value;
  }
  SizeValues& sizes() { return sizes_; }

  static constexpr size_t kMostAnswers = 48;  // of a run, examined in sequence

  SizeUse use() {
    SizeUse use;
    std::set<std::string> seen;  // answers so far, as a key
    std::vector<std::pair<std::string, SizeGuard>> unlike;
    for (size_t r = 0; r < runs_.size(); ++r) {
      const SizeLog& log = runs_[r].log;
      terms_[r].extend(log, INT32_MAX, [&](const SizeLog::Entry& e) { return size_of(r, e); });
      for (const auto& [entry, where] : log.escaped()) escapes(r, entry, where, &use);
      std::vector<SizeGuard> before;
      std::string answers;
      for (const SizeLog::Guard& g : log.guards()) {
        const auto &a = term(r, g.a), &b = term(r, g.b);
        if (!a || !b || before.size() == kMostAnswers) {
          escapes(r, g.a, g.where, &use);
          escapes(r, g.b, g.where, &use);
          continue;
        }
        const SymDim difference = *a - *b;
        if (difference.known()) continue;
        SizeGuard guard{g.how, *a, *b, g.yes, to_text(g.where)};
        if (!of_sizes(difference)) {
          throw Error(fmt::format(
              "[capture] {}: a size that data decides is compared ({}): other data go the other "
              "way, and the graph would hold this one. Compute with masks instead, or compare "
              "before capture",
              guard.line, guard.text()));
        }
        const std::string asked = answers + "|" + guard.text();
        answers = asked + (g.yes ? " yes" : " no");
        seen.insert(answers);
        unlike.emplace_back(asked + (g.yes ? " no" : " yes"), guard);
        unlike.back().second.before = before;
        unlike.back().second.from = runs_[r].sizes;
        before.push_back(std::move(guard));
      }
    }
    for (auto& [answers, guard] : unlike) {
      if (seen.insert(answers).second) use.guards.push_back(std::move(guard));
    }
    alike(&use);
    use.doubtful = solver_.doubtful();
    return use;
  }
  // Adds guards for expressions that forward computed and that had, in every run, the value of a
  // number or of another expression: the graph may have either, so a further run must distinguish
  // them.
  void alike(SizeUse* use) {
    struct Known {
      SymDim term;
      std::vector<int64_t> values;
    };
    std::vector<Known> seen;
    auto values_of = [&](const SymDim& t) {
      std::vector<int64_t> values;
      for (const CaptureRun& run : runs_) values.push_back(evaluate(t, free_, run.sizes));
      return values;
    };
    for (const FreeSize& f : free_) {
      const SymDim size = g_.symbol(f.symbol, f.min, f.max);
      seen.push_back({size, values_of(size)});
    }
    for (size_t i = 0; i < terms_[0].all().size(); ++i) {
      const auto& t = terms_[0].all()[i];
      if (!t || t->known() || !of_sizes(*t)) continue;
      const std::vector<int64_t> values = values_of(*t);
      std::optional<SymDim> same;
      if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; }))
        same = SymDim(values[0]);
      bool old = false;
      for (const Known& k : seen) {
        old = old || k.term == *t;
        if (!same && k.values == values && !(k.term == *t)) same = k.term;
      }
      if (old) continue;
      seen.push_back({*t, values});
      if (same && !(*t - *same).known()) {
        use->guards.push_back({detail::SizeCompare::kEqual, *t, *same, true,
                               to_text(runs_[0].log.entries()[i].where)});
      }
    }
  }

  void run(const std::vector<std::string>& outputs) {
    run_steps();
    for (size_t r = 1; r < runs_.size(); ++r) {
      const size_t here = first().outputs().size(), there = runs_[r].graph.outputs().size();
      if (here == there) continue;
      fail(r, fmt::format("control flow depends on data or on a dynamic size: forward returns {} "
                          "tensors {} and {} {}",
                          here, at(steps_[0].sizes), there, at(steps_[r].sizes)));
    }
    for (size_t i = 0; i < first().outputs().size(); ++i) output(i, outputs[i]);
  }
  void run_region() {
    run_steps();
    for (size_t i = 0; i < first().outputs().size(); ++i)
      g_.add_output("out" + std::to_string(i), result(i));
  }
  const RegionCaptures& captures() const { return *captures_; }

 private:
  void begin() {
    match_.resize(runs_.size(), std::vector<ir::ValueId>(first().value_count(), -1));
    terms_.resize(runs_.size());
    inner_.resize(runs_.size());
    for (size_t r = 0; r < runs_.size(); ++r)
      in_first_.emplace_back(graph(r).value_count(), ir::kNoValue);
    made_.resize(first().value_count(), ir::kNoValue);
  }

  void run_steps() {
    size_t common = steps_[0].nodes.size();
    for (const Steps& s : steps_) common = std::min(common, s.nodes.size());
    for (size_t i = 0; i < common; ++i) {
      if (outside_ == nullptr)
        at_ = static_cast<ir::NodeId>(steps_[0].nodes[i] - first().nodes().data());
      for (size_t r = 1; r < runs_.size(); ++r)
        same_step(r, *steps_[0].nodes[i], *steps_[r].nodes[i]);
      step(i);
    }
    if (outside_ == nullptr) at_ = static_cast<ir::NodeId>(first().node_count());
    for (size_t r = 1; r < runs_.size(); ++r) {
      if (steps_[0].nodes.size() == steps_[r].nodes.size()) continue;
      const bool longer = steps_[0].nodes.size() > steps_[r].nodes.size();
      const Steps &with = steps_[longer ? 0 : r], &without = steps_[longer ? r : 0];
      fail(r, "control flow depends on data or on a dynamic size: " + where(*with.nodes[common]) +
                  " runs " + at(with.sizes) + " and not " + at(without.sizes) +
                  " (a loop over a dynamic size is scan(fn, init, xs, dim))");
    }
  }

  static std::vector<SymDim> symbols_of(const std::vector<FreeSize>& free, ir::Graph& g) {
    std::vector<SymDim> symbols;
    for (const FreeSize& f : free) symbols.push_back(g.symbol(f.symbol, f.min, f.max));
    return symbols;
  }
  static std::vector<Sizes> sizes_of(const std::vector<CaptureRun>& runs) {
    std::vector<Sizes> sizes;
    for (const CaptureRun& run : runs) sizes.push_back(run.sizes);
    return sizes;
  }
  const ir::Graph& first() const { return steps_[0].g; }
  const ir::Graph& graph(size_t r) const { return steps_[r].g; }

  // A value of a run and the level that owns it: a value that a region captured belongs to an outer
  // level.
  struct Place {
    Merge* level;
    ir::ValueId value;
  };
  // Returns the outer value that a captured value of a region stands for; kNoValue if it is the
  // region's own.
  ir::ValueId outer(size_t r, ir::ValueId v) const {
    if (outside_ == nullptr || v == ir::kNoValue) return ir::kNoValue;
    const std::vector<ir::ValueId>& in = graph(r).inputs();
    const auto at = static_cast<size_t>(std::find(in.begin(), in.end(), v) - in.begin());
    const size_t own = ir::own_region_inputs(*nodes_[r]);
    if (at >= in.size() || at < own) return ir::kNoValue;
    return nodes_[r]->inputs[ir::own_inputs(*nodes_[r]) + at - own];
  }
  Place place(size_t r, ir::ValueId v) {
    v = steps_[r].value(v);
    const ir::ValueId from = outer(r, v);
    return from == ir::kNoValue ? Place{this, v} : outside_->place(r, from);
  }

  // Throws an Error that names the sizes of run `r`, and says what to do if the model is not meant
  // for them. It names the last size whose value differs between the runs.
  [[noreturn]] void fail(size_t r, const std::string& what) const {
    std::string why;
    if (!steps_[r].sizes.empty()) why = asked_differently(r);
    if (why.empty() && !steps_[r].sizes.empty()) why = read_differently(r);
    throw RunsDiffer("[capture] " + what + why + bounds_hint(free_, runs_[r].sizes));
  }
  // Describes the first comparison of sizes before the current step that has another answer in run
  // r.
  std::string asked_differently(size_t r) const {
    const auto &mine = steps_[0].log.guards(), &others = steps_[r].log.guards();
    for (const SizeLog::Guard& g : mine) {
      if (g.before > at_) break;
      for (const SizeLog::Guard& other : others) {
        const std::string where = to_text(g.where);
        if (other.how != g.how || other.yes == g.yes || to_text(other.where) != where) continue;
        return fmt::format("; a size that is read at {} is compared: {} {}, {} {}", where,
                           asked(steps_[0].log, g), at(steps_[0].sizes),
                           asked(steps_[r].log, other), at(steps_[r].sizes));
      }
    }
    return "";
  }
  std::string read_differently(size_t r) const {
    auto reads_of = [](const SizeLog& log) {
      std::vector<const SizeLog::Entry*> reads;
      for (const SizeLog::Entry& e : log.entries()) {
        if (e.op == detail::SizeOp::kRead) reads.push_back(&e);
      }
      return reads;
    };
    const auto mine = reads_of(steps_[0].log), others = reads_of(steps_[r].log);
    const SizeLog::Entry* last = nullptr;
    for (size_t i = 0; i < mine.size(); ++i) {
      const bool differs = i >= others.size() || mine[i]->number != others[i]->number;
      if (mine[i]->before <= at_ && differs) last = mine[i];
    }
    return last == nullptr ? "" : "; a dynamic size is read at " + to_text(last->where);
  }
  // Returns "12 < 10 is false".
  static std::string asked(const SizeLog& log, const SizeLog::Guard& g) {
    auto number = [&](int32_t e) { return log.entries()[static_cast<size_t>(e)].number; };
    const char* sign = g.how == detail::SizeCompare::kEqual  ? "=="
                       : g.how == detail::SizeCompare::kLess ? "<"
                                                             : "<=";
    return fmt::format("{} {} {} is {}", number(g.a), sign, number(g.b), g.yes);
  }

  const std::optional<SymDim>& term(size_t r, int32_t entry) const {
    return terms_[r].all()[static_cast<size_t>(entry)];
  }
  // Returns the graph's expression for a size that a run read.
  std::optional<SymDim> size_of(size_t r, const SizeLog::Entry& e) const {
    if (e.a < ir::kNoValue) {
      const auto known = inner_[r].find({e.a, e.b});
      return known == inner_[r].end() ? std::optional<SymDim>() : known->second;
    }
    return dim_of(r, e.a, e.b, e.number);
  }
  std::optional<SymDim> dim_of(size_t r, ir::ValueId of, int32_t dim, int64_t number) const {
    const ir::ValueId v = steps_[r].value(of);
    if (is_number(r, v) || graph(r).value(v).parameter) return SymDim(number);
    const ir::ValueId made = r == 0                        ? made_[ir::at(v)]
                             : in_first_[r][ir::at(v)] < 0 ? ir::kNoValue
                                                           : made_[ir::at(in_first_[r][ir::at(v)])];
    if (made == ir::kNoValue) return {};
    const ir::Value& value = g_.value(made);
    if (!value.ranked || dim >= value.shape.rank()) return {};
    return value.shape[dim];
  }
  // Passes the sizes of this region's values that the runs read to the root, which outlives this
  // object.
  void tell_sizes() {
    Merge* root = outside_;
    while (root->outside_ != nullptr) root = root->outside_;
    for (size_t r = 0; r < runs_.size(); ++r) {
      const int number = std::stoi(graph(r).metadata.at(kRegionNumber));
      for (const SizeLog::Entry& e : runs_[r].log.entries()) {
        if (e.op != detail::SizeOp::kRead || e.a >= ir::kNoValue) continue;
        const RegionValue& v = runs_[r].region_values[static_cast<size_t>(-2 - e.a)];
        if (v.region != number) continue;
        const auto d = dim_of(r, v.value, e.b, e.number);
        if (d && of_sizes(*d)) root->inner_[r].insert_or_assign({e.a, e.b}, *d);
      }
    }
  }
  // Notes that an entry became a plain integer: the sizes in it are no longer followed.
  void escapes(size_t r, int32_t entry, const std::source_location& where, SizeUse* use) const {
    const SizeLog::Entry& e = runs_[r].log.entries()[static_cast<size_t>(entry)];
    if (const auto& t = term(r, entry)) {
      t->each_symbol([&](const std::string& name, int64_t, int64_t) {
        use->escaped.emplace(name, to_text(where));
      });
    } else if (e.op == detail::SizeOp::kRead && e.a < ir::kNoValue) {
      for (const FreeSize& f : free_) use->escaped.emplace(f.symbol, to_text(where));
    } else if (e.op != detail::SizeOp::kRead && e.op != detail::SizeOp::kNumber) {
      escapes(r, e.a, where, use);
      escapes(r, e.b, where, use);
    }
  }
  // Adds the expressions that forward computed from sizes before this node: its integers are likely
  // to be among them.
  void learn_terms() {
    const size_t before = terms_[0].all().size();
    terms_[0].extend(runs_[0].log, at_, [&](const SizeLog::Entry& e) { return size_of(0, e); });
    for (size_t i = before; i < terms_[0].all().size(); ++i) {
      const auto& t = terms_[0].all()[i];
      if (!t || t->known() || !of_sizes(*t)) continue;
      std::vector<int64_t> values;
      for (const CaptureRun& run : runs_) values.push_back(evaluate(*t, free_, run.sizes));
      solver_.tell(*t, std::move(values));
    }
  }
  static std::string at(const std::string& sizes) {
    return sizes.empty() ? "for one input" : "at " + sizes;
  }
  // Returns "for two inputs", or the sizes of both.
  std::string both(size_t r) const {
    return steps_[r].sizes.empty() ? "for two inputs"
                                   : at(steps_[0].sizes) + " and " + at(steps_[r].sizes);
  }

  void pair(size_t r, ir::ValueId v, ir::ValueId w) {
    match_[r][ir::at(v)] = w;
    in_first_[r][ir::at(w)] = v;
  }

  // Returns the value of run r that corresponds to a value of the first run.
  ir::ValueId in_run(size_t r, ir::ValueId v) const { return r == 0 ? v : match_[r][ir::at(v)]; }

  bool is_number(size_t r, ir::ValueId v) const {
    return graph(r).is_constant(v) && !graph(r).value(v).parameter;
  }
  bool same_place(size_t r, const Place& x, const Place& y) const {
    return x.level == y.level && x.level->same_place(r, x.value, y.value);
  }
  // Returns whether both have the same source: the same step, the same parameter, or two constants.
  bool same_place(size_t r, ir::ValueId v, ir::ValueId w) const {
    if (v == ir::kNoValue || w == ir::kNoValue) return v == w;
    if (is_number(0, v) || is_number(r, w)) return is_number(0, v) && is_number(r, w);
    const ir::Value &x = first().value(v), &y = graph(r).value(w);
    if (x.parameter || y.parameter) return x.parameter && y.parameter && x.name == y.name;
    return match_[r][ir::at(v)] == w;
  }

  void pair_numbers(size_t r, const Place& v, const Place& w) {
    if (v.value != ir::kNoValue && v.level->is_number(0, v.value))
      v.level->pair(r, v.value, w.value);
  }
  // Returns the number of inputs that a node reads itself; its regions' captures are compared where
  // they are read.
  static size_t own_count(const ir::Node& n) {
    return n.regions.empty() ? n.inputs.size() : ir::own_inputs(n);
  }

  void same_step(size_t r, const ir::Node& x, const ir::Node& y) {
    if (x.op != y.op || x.module != y.module || x.source.text() != y.source.text() ||
        own_count(x) != own_count(y) || x.outputs.size() != y.outputs.size()) {
      fail(r, "control flow depends on data or on a dynamic size: " + where(x) + " runs " +
                  at(steps_[0].sizes) + ", " + where(y) + " " +
                  (steps_[r].sizes.empty() ? "for another" : at(steps_[r].sizes)));
    }
    for (size_t k = 0; k < own_count(x); ++k) {
      const Place v = place(0, x.inputs[k]), w = place(r, y.inputs[k]);
      if (!same_place(r, v, w))
        fail(r, fmt::format("{}: input {} comes from different places {}", where(x), k, both(r)));
      pair_numbers(r, v, w);
    }
    for (size_t k = 0; k < x.outputs.size(); ++k) pair(r, x.outputs[k], y.outputs[k]);
  }

  // Returns the graph's value for a value of the first run.
  ir::ValueId value(const ir::Node& reader, size_t k) { return value(reader.inputs[k], reader, k); }
  ir::ValueId value(ir::ValueId from, const ir::Node& reader, size_t k) {
    const ir::ValueId v = steps_[0].value(from);
    if (v == ir::kNoValue || made_[ir::at(v)] != ir::kNoValue)
      return v == ir::kNoValue ? v : made_[ir::at(v)];
    if (const ir::ValueId of = outer(0, v); of != ir::kNoValue)
      return made_[ir::at(v)] = captures_->take(outside_->value(of, reader, k));
    const ir::Value& of = first().value(v);
    if (of.parameter) return made_[ir::at(v)] = g_.add_constant(of.constant, of.name, true);
    std::vector<const HostTensor*> all;
    size_t other = 0;
    for (size_t r = 0; r < runs_.size(); ++r) {
      all.push_back(&graph(r).value(in_run(r, v)).constant);
      if (other == 0 && !same_bits(*all[0], *all[r])) other = r;
    }
    if (other == 0) return made_[ir::at(v)] = g_.add_constant(of.constant, of.name);
    const ir::ValueId made = varied_constant(all, solver_, sizes_, g_);
    if (made == ir::kNoValue) {
      fail(other, fmt::format("{}: input {} is baked in, a tensor computed from data or from a "
                              "dynamic size outside of the ops; it differs {}",
                              where(reader), k, both(other)));
    }
    return made_[ir::at(v)] = made;
  }

  // Returns whether an Expand repeats nothing in any run.
  bool keeps_shapes(size_t i) const {
    for (const Steps& s : steps_) {
      const ir::Node& n = *s.nodes[i];
      if (!(s.g.value(n.inputs[0]).shape == s.g.value(n.outputs[0]).shape)) return false;
    }
    return true;
  }

  // Returns step i's attributes in each run. A Reshape writes the dims it keeps as 0 ("copy") in
  // runs with elements and as numbers, with allowzero, in runs without: the same text then has two
  // meanings, so that runs which differ in allowzero are compared by the shapes that they made.
  std::vector<AnyAttrs> attributes(size_t i) const {
    std::vector<AnyAttrs> said, made;
    for (const Steps& s : steps_) said.push_back(s.nodes[i]->attrs);
    if (steps_[0].nodes[i]->op != OpId::kReshape) return said;
    auto zeros = [](const AnyAttrs& a) { return a.as<ReshapeAttrs>().allowzero != 0; };
    if (std::none_of(said.begin(), said.end(), zeros) ||
        std::all_of(said.begin(), said.end(), zeros))
      return said;
    for (const Steps& s : steps_) {
      const ir::Value& out = s.g.value(s.nodes[i]->outputs[0]);
      if (!out.ranked) return said;
      ReshapeAttrs a{{}, 1};
      for (const SymDim& d : out.shape) {
        if (!d.known()) return said;
        a.shape.values[a.shape.count++] = d.constant();
      }
      made.push_back(AnyAttrs::of(a));
    }
    return made;
  }

  void step(size_t i) {
    const ir::Node& x = *steps_[0].nodes[i];
    if (!x.regions.empty()) return control(x, i);
    if (outside_ == nullptr) learn_terms();
    std::vector<ir::ValueId> inputs;
    for (size_t k = 0; k < x.inputs.size(); ++k) inputs.push_back(value(x, k));
    if (x.op == OpId::kExpand && keeps_shapes(i)) {
      made_[ir::at(x.outputs[0])] = inputs[0];
      return;
    }
    const std::vector<AnyAttrs> attrs = attributes(i);
    Call call{x.op, attrs[0], std::move(inputs), {}};
    for (const AttrField& f : op_info(x.op)->attrs->fields) {
      const std::string was = field_text(f, attrs[0]);
      size_t other = 0;
      for (size_t r = 1; r < runs_.size() && other == 0; ++r)
        other = field_text(f, attrs[r]) == was ? 0 : r;
      if (other == 0 || varied_field(f, attrs, solver_, &call)) continue;
      fail(other, fmt::format("{}: {} is baked in, it was {} and {} {}", where(x), f.name, was,
                              field_text(f, attrs[other]), both(other)));
    }
    add(x, i, call);
  }

  void add(const ir::Node& x, size_t i, const Call& call) {
    const size_t before = g_.node_count();
    ir::NodeId id = 0;
    try {
      id = add_call(call, static_cast<int>(x.outputs.size()), x.module, sizes_, g_);
    } catch (const Error& e) {
      throw Error(fmt::format("[capture] {}: {}: a size of a dynamic dimension may be baked in",
                              where(x), e.what()),
                  e.code());
    }
    finish(x, i, before, id);
  }

  // Merges a branch or a loop, region by region.
  void control(const ir::Node& x, size_t i) {
    std::vector<const ir::Node*> nodes;
    for (const Steps& s : steps_) nodes.push_back(s.nodes[i]);
    const size_t before = g_.node_count();
    std::vector<ir::ValueId> inputs;
    for (size_t k = 0; k < own_count(x); ++k) inputs.push_back(value(x, k));
    std::vector<ir::Graph> regions;
    std::vector<std::vector<ir::ValueId>> captured;
    for (size_t k = 0; k < x.regions.size(); ++k) {
      ir::Graph region = g_.region(x.regions[k].name);
      Merge inner(*this, nodes, k, region);
      for (size_t in = 0; in < ir::own_region_inputs(x); ++in) {
        ir::Value type = x.regions[k].value(x.regions[k].inputs()[in]);
        if (in >= 2) type = g_.value(inputs[in]);
        type.has_elements = false;
        inner.input(in, add_region_input(region, region_input_name(in), type));
      }
      inner.run_region();
      inner.tell_sizes();
      captured.push_back(inner.captures().captured());
      regions.push_back(std::move(region));
    }
    ir::NodeId id = 0;
    try {
      id = add_control_node(g_, x.op, x.attrs, inputs, std::move(regions), captured, x.module);
    } catch (const Error& e) {
      throw Error(fmt::format("[capture] {}: {}", where(x), e.what()), e.code());
    }
    finish(x, i, before, id);
    if (x.op != OpId::kLoop) return;
    for (auto k = static_cast<size_t>(x.attrs.as<LoopAttrs>().carried); k < x.outputs.size(); ++k)
      state_shape(x, x.outputs[k]);
  }

  // Reshapes a stack that may have no trips: runtimes that do not know a trip's sizes use 0 for
  // those that are free.
  void state_shape(const ir::Node& x, ir::ValueId of) {
    ir::ValueId& v = made_[ir::at(of)];
    const ir::Value& stack = g_.value(v);
    if (!stack.ranked || stack.shape[0].min() > 0) return;
    bool open = false;
    std::vector<SymDim> dims;
    for (const SymDim& d : stack.shape) {
      if (!of_sizes(d)) return;
      open = open || (!dims.empty() && !d.known());
      dims.push_back(d);
    }
    if (!open) return;
    const ir::ValueId shape = sizes_.list(dims);
    v = g_.emit(OpId::kReshape, ReshapeAttrs{{}, 1}, {v, shape}, x.module);
    ir::Node& made = g_.node(g_.value(v).producer);
    made.module = x.module;
    made.source = x.source;
  }

  // Finishes step i: sets module and source of the nodes from `before` on, and registers the
  // outputs of node `id`.
  void finish(const ir::Node& x, size_t i, size_t before, ir::NodeId id) {
    for (size_t n = before; n < g_.node_count(); ++n) {
      g_.node(static_cast<ir::NodeId>(n)).module = x.module;
      g_.node(static_cast<ir::NodeId>(n)).source = x.source;
    }
    for (size_t k = 0; k < x.outputs.size(); ++k) {
      const ir::ValueId v = g_.node(id).outputs[k];
      g_.value(v).name = first().value(x.outputs[k]).name;
      made_[ir::at(x.outputs[k])] = v;
      for (size_t r = 0; r < runs_.size(); ++r)
        check_shape(r, x, g_.value(v), graph(r).value(steps_[r].nodes[i]->outputs[k]));
      learn(g_.value(v), i, k);
    }
  }

  void learn(const ir::Value& made, size_t i, size_t k) {
    for (int d = 0; made.ranked && d < made.shape.rank(); ++d) {
      std::vector<int64_t> values;
      for (const Steps& s : steps_) {
        const SymShape& was = s.g.value(s.nodes[i]->outputs[k]).shape;
        if (d >= was.rank() || !was[d].known()) return;
        values.push_back(was[d].constant());
      }
      if (!is_open(made.shape[d]) && of_sizes(made.shape[d])) solver_.learn(made.shape[d], values);
    }
  }
  // Returns whether a dim is computed from the free sizes only.
  bool of_sizes(const SymDim& dim) const {
    bool known = true;
    dim.each_symbol([&](const std::string& name, int64_t, int64_t) {
      known = known && std::any_of(free_.begin(), free_.end(),
                                   [&](const FreeSize& f) { return f.symbol == name; });
    });
    return known;
  }

  // Checks that the shape that the graph's rules give is the one that forward made.
  void check_shape(size_t r, const ir::Node& x, const ir::Value& made, const ir::Value& was) const {
    if (!made.ranked || !was.ranked) return;
    bool fits = made.shape.rank() == was.shape.rank();
    for (int d = 0; d < was.shape.rank() && fits; ++d) {
      if (!of_sizes(made.shape[d]) || !was.shape[d].known()) continue;
      fits = evaluate(made.shape[d], free_, runs_[r].sizes) == was.shape[d].constant();
    }
    if (fits) return;
    throw Error(
        fmt::format("[capture] {}: forward makes {} at {}, and the graph would make {}: a "
                    "size of a dynamic dimension may be baked in",
                    where(x), shape_text(was.shape), sizes_text(free_, runs_[r].sizes),
                    shape_text(made.shape)));
  }

  // Returns the graph's value for result i of all runs.
  ir::ValueId result(size_t i) {
    const ir::ValueId of = first().outputs()[i].value;
    const Place v = place(0, of);
    for (size_t r = 1; r < runs_.size(); ++r) {
      const Place w = place(r, graph(r).outputs()[i].value);
      if (same_place(r, v, w)) {
        pair_numbers(r, v, w);
        continue;
      }
      fail(r, "control flow depends on data or on a dynamic size: forward returns the result of " +
                  v.level->steps_[0].maker(v.value) + " " + at(steps_[0].sizes) + " and of " +
                  w.level->steps_[r].maker(w.value) + " " + at(steps_[r].sizes));
    }
    ir::Node reader;
    reader.op = OpId::kIdentity;
    return value(of, reader, 0);
  }

  void output(size_t i, const std::string& name) {
    ir::ValueId made = result(i);
    // An input, a constant or an output that is used twice needs an Identity to be an output.
    if (g_.value(made).producer < 0 || g_.is_output(made)) made = g_.emit(OpId::kIdentity, {made});
    g_.add_output(name, made);
  }

  const std::vector<FreeSize>& free_;
  const std::vector<CaptureRun>& runs_;
  ir::Graph& g_;
  std::optional<SizeSolver> own_solver_;
  SizeSolver& solver_;
  SizeValues sizes_;
  // For a region: the enclosing level, its node in each run, and its captured values.
  Merge* outside_ = nullptr;
  std::vector<const ir::Node*> nodes_;
  std::optional<RegionCaptures> captures_;
  std::vector<std::map<std::pair<int32_t, int32_t>, SymDim>> inner_;  // by run: sizes in regions
  std::vector<Steps> steps_;
  ir::NodeId at_ = 0;                               // the current node of the first run
  std::vector<std::vector<ir::ValueId>> match_;     // by run: its value for the first run's
  std::vector<std::vector<ir::ValueId>> in_first_;  // by run: the first run's value for its own
  std::vector<SizeTerms> terms_;                    // by run
  std::vector<ir::ValueId> made_;                   // the graph's value for the first run's
};

}  // namespace

SizeUse merge_captures(const std::vector<CaptureRun>& runs, const std::vector<FreeSize>& free,
                       const std::vector<CaptureInput>& from,
                       const std::vector<ir::ValueId>& inputs,
                       const std::vector<std::string>& outputs, ir::Graph& graph) {
  Merge merge(runs, free, graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    merge.input(i, inputs[i]);
    for (const DynamicDim& d : from[i].dynamic)
      merge.sizes().source(d.symbol, graph.inputs()[i], d.dim);
  }
  merge.run(outputs);
  return merge.use();
}

}  // namespace wick
