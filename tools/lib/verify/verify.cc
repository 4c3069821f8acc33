#include "tools/lib/verify/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "exporter/onnx/cut.h"
#include "exporter/onnx/onnx.h"
#include "graph/rewrite/checked.h"
#include "runtime/registry/registry.h"
#include "tools/lib/arrays.h"
#include "tools/lib/difference.h"
#include "tools/lib/oracle.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/trust.h"
#include "tools/lib/verify/cut_graph.h"
#include "tools/lib/verify/made_file.h"
#include "tools/lib/verify/old_library.h"
#include "tools/lib/verify/onnxruntime.h"
#include "tools/lib/verify/repro.h"
#include "tools/lib/verify/rows.h"
#include "tools/lib/verify/session_values.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using ir::GivenValues;
using ir::Promise;
using Verdict = VerifyRow::Verdict;

constexpr size_t kMostReproNodes = 8;    // as fused patterns have; the fewest are taken
constexpr size_t kMostWrittenNodes = 4;  // a writer writes nodes one by one; each trial is a file

Promise promise_of(NumericsClass c) { return ir::promise_of(static_cast<ir::Numerics>(c)); }

// Returns whether a graph's inputs take a sample: a size may be out of bounds.
bool takes(const ir::Graph& g, Span<const HostTensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& v = g.value(g.inputs()[i]);
    if (!v.ranked || is_container(v.dtype)) continue;
    if (v.dtype != inputs[i].dtype() || v.shape.rank() != inputs[i].shape().rank()) return false;
    for (int d = 0; d < v.shape.rank(); ++d) {
      const int64_t n = inputs[i].shape()[d];
      if (n < v.shape[d].min() || n > v.shape[d].max()) return false;
    }
  }
  return true;
}

bool dequantizes(const ir::Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(), [](const ir::Node& n) {
    return !n.removed() && n.op == OpId::kDequantizeLinear;
  });
}

class Verifier {
 public:
  Verifier(const Verified& model, const VerifyOptions& options,
           const std::function<void(const VerifyRow&)>& progress)
      : model_(model), o_(options), progress_(progress), root_(model.root) {
    ir::name_values(root_, "%");
  }

  VerifyReport run() {
    if (model_.is_wick && !digests(model_.path)) return std::move(report_);
    make_samples();
    for (const VerifySample& s : samples_) {
      if (model_.trainer) trainer(s);
      if (model_.unlowered && !s.not_finite) lowering(s);
      ir::Graph last = o_.passes ? passes(s) : root_;
      if (!o_.passes) {
        ir::optimize(last);
        ir::name_values(last, "%optimized.");
      }
      sessions(last, s, "");
      optimized_ = std::move(last);
      optimized_for_ = s.sizes;
      if (model_.is_wick) file_session(model_.path, root_, s, "the file");
      // ONNX Runtime's kernels treat NaN differently from each other.
      if (o_.onnxruntime && !s.not_finite) onnxruntime(s);
      if (!o_.old_library.empty()) old_library(s);
    }
    if (o_.onnxruntime) fail_where_all_were_refused();
    if (samples_.size() > 1) one_session();
    for (const std::string& path : model_.made_of_it) {
      if (!is_wick_file(path) || digests(path)) made_of_it(path);
    }
    return std::move(report_);
  }

 private:
  VerifyRow row(const std::string& target, const std::string& numerics,
                const VerifySample* s = nullptr) const {
    begins(target, s != nullptr ? s->sizes : "");
    VerifyRow r;
    r.model = model_.name;
    r.target = target;
    r.numerics = numerics;
    r.sizes = s != nullptr ? s->sizes : "";
    return r;
  }
  void begins(const std::string& what, const std::string& sizes) const {
    if (o_.begins) o_.begins(sizes.empty() ? what : fmt::format("{} [{}]", what, sizes));
  }
  void add(VerifyRow r) {
    if (progress_) progress_(r);
    report_.rows.push_back(std::move(r));
  }
  ir::InterpreterOptions interpreter() {
    left_ = o_.work;
    ir::InterpreterOptions i;
    i.work_left = &left_;
    return i;
  }

  // Checks the digests: in a damaged file nothing else is worth checking.
  bool digests(const std::string& path) {
    VerifyRow r = row("digests", "exact");
    std::vector<const CustomOp*> ops = registered_ops();
    LoadOptions load;
    load.custom_ops = ops;
    load.verify_digests = true;
    auto loaded = Program::load(path.c_str(), load);
    if (!loaded.ok()) {
      r.verdict = Verdict::kDiffers;
      r.why = loaded.status().message();
    }
    const bool sound = loaded.ok();
    if (sound && (*loaded)->digest().empty()) {
      r.verdict = Verdict::kSkipped;
      r.why = "the file has no digest of its own: it was written by an older version";
    }
    add(std::move(r));
    return sound;
  }

  void make_samples() {
    const Model compiled = Model::from_graph(root_, false);
    Runner runner(compiled, {"cpu", 1, false, nullptr});
    if (!o_.files.empty()) {
      VerifySample s{"the inputs given", {}, {}};
      s.inputs = named_arrays(runner.session(), compiled.program(), o_.files);
      begins("interpreter", s.sizes);
      s.truth = ir::named_values(root_, s.inputs, interpreter());
      samples_.push_back(std::move(s));
      return;
    }
    std::string last_error;
    std::vector<VerifySample> tried =
        size_samples(runner.session(), compiled.program(), o_.dims, o_.sizes, o_.edges);
    for (VerifySample& s : tried) {
      begins("interpreter", s.sizes);
      try {
        ir::InterpreterOptions budget = interpreter();
        if (s.extra) left_ = std::min(left_, o_.extra_work);
        s.truth = ir::named_values(root_, s.inputs, budget);
      } catch (const Error& e) {  // the model has no answer for these sizes
        last_error = e.what();
        VerifyRow r = row("interpreter", "exact", &s);
        r.verdict = Verdict::kSkipped;
        r.why = s.extra && e.code() == Code::kBudgetExceeded
                    ? "it takes long: --batch and --dim ask for a size"
                    : e.what();
        add(std::move(r));
        continue;
      }
      samples_.push_back(std::move(s));
    }
    const bool nothing = std::none_of(samples_.begin(), samples_.end(), [&](const VerifySample& s) {
      const bool empty = std::any_of(s.inputs.begin(), s.inputs.end(),
                                     [](const HostTensor& t) { return t.numel() == 0; });
      return !empty &&
             std::any_of(root_.outputs().begin(), root_.outputs().end(),
                         [&](const ir::GraphOutput& o) { return s.truth.at(o.name).numel() > 0; });
    });
    if (!samples_.empty() && (!nothing || last_error.empty())) return;
    std::optional<VerifySample> larger =
        larger_sample(runner.session(), compiled.program(), o_.dims, [&](VerifySample* s) {
          begins("interpreter", s->sizes);
          const ir::InterpreterOptions budget = interpreter();
          left_ = std::min(left_, o_.extra_work);
          s->truth = ir::named_values(root_, s->inputs, budget);
        });
    if (!larger)
      throw Error(fmt::format(
          "{}: the interpreter runs none of the sizes tried{} (--dim NAME=N and "
          "--input choose others): {}",
          model_.name, samples_.empty() ? "" : " but those without an element", last_error));
    samples_.push_back(std::move(*larger));
  }

  // Compares the file's own nodes, each computed from values that both have: bytes may differ by
  // one step.
  void lowering(const VerifySample& s) {
    VerifyRow r = row("integer ops", "within a step", &s);
    compare(*model_.unlowered, s.inputs, s.truth, Promise::kReassociates, &r, Side::kMadeIsTruth);
    if (r.first && !o_.repro.empty()) {
      make_repro(&r, *model_.unlowered, s.inputs, ir::named_values(*model_.unlowered, s.inputs), "",
                 [&](const CutGraph& cut) {
                   ir::Graph lowered = cut.graph;
                   ir::lower_qdq(lowered);
                   VerifyRow found;
                   compare(cut.graph, cut.inputs, ir::named_values(lowered, cut.inputs),
                           Promise::kReassociates, &found, Side::kMadeIsTruth);
                   return found.first.has_value();
                 });
    }
    add(std::move(r));
  }

  void trainer(const VerifySample& s) {
    VerifyRow r = row("trainer", "exact", &s);
    const std::vector<HostTensor> out = model_.trainer(s.inputs);
    for (size_t i = 0; i < out.size() && i < root_.outputs().size(); ++i) {
      const ir::GraphOutput& o = root_.outputs()[i];
      ++r.values;
      const ir::Apart d = ir::apart(s.truth.at(o.name), out[i], Promise::kBits, 0);
      if (d.differs && !r.first) set_first(&r, root_, o.value, s.truth.at(o.name), out[i], d, 0);
    }
    add(std::move(r));
  }

  // Returns the graph after all passes.
  ir::Graph passes(const VerifySample& s) {
    ir::Graph g = root_;
    GivenValues before = s.truth;
    std::vector<VerifyRow> rows;
    ir::OptimizeOptions options;
    options.watch = [&](const ir::Pass& pass, const ir::Graph& was,
                        ir::Graph& now) -> std::optional<ir::PassFault> {
      ir::name_values(now, fmt::format("%{}.", pass.name));
      const std::string target = fmt::format("pass {}", pass.name);
      auto at = std::find_if(rows.begin(), rows.end(),
                             [&](const VerifyRow& r) { return r.target == target; });
      if (at == rows.end()) {
        rows.push_back(row(target, ir::numerics_name(pass.numerics), &s));
        at = rows.end() - 1;
      }
      VerifyRow& r = *at;
      const Promise promise = ir::promise_of(pass.numerics);
      try {
        compare(now, s.inputs, before, promise, &r, Side::kGivenIsTruth);
        if (!r.first) before = ir::named_values(now, s.inputs, interpreter());
      } catch (const Error& e) {
        r.verdict = ran_out(e) ? Verdict::kFailed : Verdict::kDiffers;
        if (ran_out(e)) {
          r.why = e.what();
          return std::nullopt;
        }
        r.first = FirstDifference{};
        r.first->why = fmt::format("the graph no longer runs: {}", e.what());
      }
      if (!r.first) return std::nullopt;
      if (r.repro.empty() && !r.first->value.empty()) {
        make_repro(&r, was, s.inputs, before, "", [&](const CutGraph& cut) {
          ir::Graph again = cut.graph;
          ir::OptimizeOptions check;
          check.samples = {cut.inputs};
          return !ir::optimize(again, check).undone.empty();
        });
      }
      return ir::PassFault{pass.name, r.first->node, r.first->value, r.first->text()};
    };
    begins("passes", s.sizes);
    for (const ir::PassFault& f : ir::optimize(g, options).undone) undone_[s.sizes].insert(f.pass);
    for (VerifyRow& r : rows) add(std::move(r));
    ir::name_values(g, "%optimized.");
    return g;
  }

  struct Target {
    std::string name;
    RunnerOptions run;
  };
  std::vector<Target> targets() const {
    std::vector<Target> all;
    for (const std::string& backend : o_.backends) {
      const bool cpu = backend == "cpu";
      for (int threads : cpu ? o_.threads : std::vector<int>{1}) {
        RunnerOptions run;
        run.backend = backend == "vulkan" ? "vulkan" : "cpu";
        run.threads = threads;
        run.reference = backend == "reference";
        run.device = backend == "vulkan" ? o_.device : "";
        run.all_it_can = run.unchecked = backend == "vulkan";
        all.push_back(
            {cpu ? fmt::format("cpu threads={}", threads == 0 ? "all" : std::to_string(threads))
                 : backend,
             run});
      }
    }
    return all;
  }

  // Compares every value of a graph's session with the interpreter, run on the session's own
  // values.
  void sessions(const ir::Graph& g, const VerifySample& s, const std::string& of) {
    for (const Target& t : targets())
      session(g, s, t.run, of.empty() ? t.name : of + ", " + t.name);
  }

  // Runs one session over all samples, forwards and backwards: its outputs must be those of a fresh
  // session for each.
  void one_session() {
    for (const Target& t : targets()) {
      std::map<std::string, const VerifyRow*> fresh;
      for (const VerifyRow& r : report_.rows) {
        if (r.target == t.name && r.verdict == Verdict::kEqual) fresh.emplace(r.sizes, &r);
      }
      if (fresh.empty() || t.run.backend != "cpu") continue;  // a device runs other programs there
      VerifyRow row = this->row(t.name + ", one session", "exact");
      const Model model = Model::from_graph(optimized_, false);
      Runner runner(model, t.run);
      std::vector<const VerifySample*> order;
      for (const VerifySample& s : samples_) order.push_back(&s);
      for (auto s = samples_.rbegin(); s != samples_.rend(); ++s) order.push_back(&*s);
      const VerifySample* before = order[0];
      for (const VerifySample* s : order) {
        if (fresh.count(s->sizes) == 0 || row.verdict != Verdict::kEqual) continue;
        // A pass that was undone elsewhere made another graph.
        if (undone_[s->sizes] != undone_[optimized_for_]) continue;
        again(&runner, *s, *fresh[s->sizes], &row);
        if (row.first && !row.first->value.empty()) repro_of_session(t.run, *before, *s, &row);
        before = s;
      }
      add(std::move(row));
    }
  }
  void again(Runner* runner, const VerifySample& s, const VerifyRow& fresh, VerifyRow* row) {
    std::vector<HostTensor> out;
    try {
      out = runner->run(s.inputs);
    } catch (const Error& e) {
      row->verdict = ran_out(e) ? Verdict::kFailed : Verdict::kDiffers;
      row->sizes = s.sizes;
      row->why = ran_out(e) ? e.what() : "";
      if (ran_out(e)) return;
      row->first = FirstDifference{};
      row->first->why = fmt::format("behind runs at other sizes it does not run: {}", e.what());
      return;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      ++row->values;
      const HostTensor& truth = fresh.outputs[i].second;
      const ir::Apart d = ir::apart(truth, out[i], Promise::kBits, 0);
      if (!d.differs || row->first) continue;
      row->sizes = s.sizes;
      set_first(row, optimized_, optimized_.outputs()[i].value, truth, out[i], d, 0);
    }
  }

  // Cuts out the nodes that answer differently in a session that has run at other sizes before.
  void repro_of_session(const RunnerOptions& run, const VerifySample& before, const VerifySample& s,
                        VerifyRow* r) {
    if (o_.repro.empty() || has_repro(r)) return;
    const GivenValues now = all_values(optimized_, s.inputs),
                      then = all_values(optimized_, before.inputs);
    const auto differs = [&](const CutGraph& cut) {
      const Model model = Model::from_graph(cut.graph, false);
      Runner used(model, run), fresh(model, run);
      std::vector<HostTensor> first;
      for (ir::ValueId v : cut.graph.inputs()) first.push_back(then.at(cut.graph.value(v).name));
      used.run(first);
      const std::vector<HostTensor> want = fresh.run(cut.inputs), got = used.run(cut.inputs);
      return !std::equal(want.begin(), want.end(), got.begin(), got.end(), same_bits);
    };
    CutGraph cut = smallest_cut(optimized_, r->first->value, now, kMostReproNodes, differs, &then);
    cut.inputs.clear();  // wick verify makes up several sizes and runs them in one session
    r->repro = write_repro(o_.repro, *r, cut, "");
  }
  // Includes the inputs' values.
  static GivenValues all_values(const ir::Graph& g, Span<const HostTensor> inputs) {
    GivenValues values = ir::named_values(g, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) values[g.value(g.inputs()[i]).name] = inputs[i];
    return values;
  }

  void session(const ir::Graph& g, const VerifySample& s, const RunnerOptions& run,
               const std::string& target) {
    const Promise promise = run.backend == "cpu" ? Promise::kBits : Promise::kDevice;
    VerifyRow r = row(target, promise == Promise::kBits ? "exact" : "bound", &s);
    try {
      const SessionValues made = session_values(g, s.inputs, run);
      for (const ir::GraphOutput& o : g.outputs())
        r.outputs.emplace_back(o.name, made.values.at(o.name));
      if (!made.spoiled.empty()) {
        set_spoiled(&r, g, made.spoiled[0]);
      } else {
        compare(g, s.inputs, made.values, promise, &r, Side::kMadeIsTruth);
      }
    } catch (const Error& e) {
      // The backend was asked for and is not there, so nothing was verified on it.
      r.verdict = Verdict::kFailed;
      r.why = e.what();
    }
    if (r.first) {
      std::string more;
      if (run.backend == "vulkan") more = " --backend vulkan";
      if (run.reference) more = " --backend reference";
      make_repro(&r, g, s.inputs, ir::named_values(g, s.inputs), more, [&](const CutGraph& cut) {
        ir::Graph part = cut.graph;
        ir::name_values(part, "%");
        const SessionValues again = session_values(part, cut.inputs, run);
        VerifyRow found;
        compare(part, cut.inputs, again.values, promise, &found, Side::kMadeIsTruth);
        return found.first.has_value() || !again.spoiled.empty();
      });
    }
    add(std::move(r));
  }

  // Checks the outputs of the file itself, not of a graph compiled again.
  void file_session(const std::string& path, const ir::Graph& g, const VerifySample& s,
                    const std::string& target) {
    VerifyRow r = row(target, "exact", &s);
    const Model model = Model::open(path);
    Runner runner(model, {.threads = 1, .entry = o_.entry});
    const std::vector<HostTensor> out = runner.run(s.inputs);
    const GivenValues want = ir::named_values(g, s.inputs, interpreter());
    for (size_t i = 0; i < out.size(); ++i) {
      ++r.values;
      const HostTensor& truth = want.at(g.outputs()[i].name);
      const ir::Apart d = ir::apart(truth, out[i], Promise::kBits, 0);
      if (d.differs && !r.first) set_first(&r, g, g.outputs()[i].value, truth, out[i], d, 0);
    }
    add(std::move(r));
  }

  void made_of_it(const std::string& path) {
    MadeFile f = open_made(path, o_.lower_qdq, o_.entry);
    if (f.graph.inputs().size() != root_.inputs().size())
      throw Error(fmt::format("{} takes {} inputs, {} takes {}", model_.name, root_.inputs().size(),
                              path, f.graph.inputs().size()));
    const std::string numerics = ir::numerics_name(static_cast<ir::Numerics>(f.numerics));
    const std::string wrong =
        f.numerics > o_.loosest
            ? fmt::format("its class is {}, a looser one than was asked for", numerics)
            : other_outputs(root_, f.graph);
    if (!wrong.empty()) {
      VerifyRow r = row(f.name, numerics);
      r.verdict = Verdict::kDiffers;
      r.first = FirstDifference{};
      r.first->why = wrong;
      return add(std::move(r));
    }
    OutputSpread spread;
    bool ran = false;
    for (const VerifySample& s : samples_) {
      VerifyRow r = row(f.name, numerics, &s);
      const bool lost = s.not_finite && f.finite_only != nullptr;
      if (lost || !takes(f.graph, s.inputs)) {
        r.verdict = Verdict::kSkipped;
        r.why = lost ? f.finite_only : "the file takes no inputs of these types and sizes";
        add(std::move(r));
        continue;
      }
      ran = true;
      made_of_it(f, path, s, std::move(r), &spread);
    }
    const bool seen = std::any_of(
        report_.rows.begin(), report_.rows.end(),
        [&](const VerifyRow& r) { return r.target == f.name && r.verdict == Verdict::kDiffers; });
    if (f.numerics == NumericsClass::kExact && !seen) constants(f);
    VerifyRow r = row(f.name + ", outputs", numerics);
    if (!ran) {
      r.verdict = Verdict::kFailed;
      r.why = fmt::format("{} takes none of the samples: --input gives others", path);
      add(std::move(r));
    } else if (f.numerics != NumericsClass::kExact) {
      spread.judge(&r);
      add(std::move(r));
    }
  }
  void constants(const MadeFile& f) {
    VerifyRow r = row(f.name + ", constants", "exact");
    ir::Graph g = f.graph;
    take_names(&g, f.wick ? optimized_ : root_);
    compare_constants(g, {&root_, &optimized_}, &r);
    if (r.values > 0) add(std::move(r));
  }
  void made_of_it(const MadeFile& f, const std::string& path, const VerifySample& s, VerifyRow r,
                  OutputSpread* spread) {
    ir::Graph g = f.graph;
    const GivenValues* truth = &s.truth;
    GivenValues behind;
    if (f.wick) {
      take_names(&g, optimized_);
      behind = s.truth;
      behind.merge(ir::named_values(optimized_, s.inputs, interpreter()));
      truth = &behind;
    } else {
      take_names(&g, root_);
    }
    ir::name_values(g, "%" + f.name + ".");
    const Promise promise = promise_of(f.numerics);
    compare(g, s.inputs, *truth, promise, &r, Side::kGivenIsTruth);
    // Outputs are matched by position, whatever the names of values in between.
    const GivenValues made = ir::named_values(g, s.inputs, interpreter());
    for (size_t i = 0; i < g.outputs().size(); ++i) {
      const HostTensor &want = s.truth.at(root_.outputs()[i].name),
                       &got = made.at(g.outputs()[i].name);
      if (f.numerics != NumericsClass::kExact) {
        if (!s.not_finite) spread->add(g.outputs()[i].name, want, got);
        continue;
      }
      ++r.values;
      const ir::Apart d = ir::apart(want, got, Promise::kBits, 0);
      if (d.differs && !r.first) set_first(&r, g, g.outputs()[i].value, want, got, d, 0);
    }
    if (r.first && !r.first->value.empty() && !repro_of_writer(f.wick, s, promise, &r)) {
      repro_of_pair(f.wick ? optimized_ : root_, g, s, *truth, promise, &r);
    }
    add(std::move(r));
    sessions(g, s, f.name);
    if (f.wick) file_session(path, g, s, f.name + ", the file");
  }

  void onnxruntime(const VerifySample& s) {
    VerifyRow r = row("onnxruntime", fmt::format("within {:g}", o_.tolerance), &s);
    if (model_.onnx.empty()) {
      r.verdict = Verdict::kFailed;
      r.why = "ONNX Runtime takes the ONNX file that the model was made of";
    } else if (auto missing = onnxruntime_missing()) {
      r.verdict = Verdict::kFailed;
      r.why = *missing;
    } else if (const std::string draws = onnx_random_op(model_.onnx); !draws.empty()) {
      r.verdict = Verdict::kSkipped;
      r.why = draws + "'s numbers are each runtime's own";
    } else {
      try {
        compare_with_onnxruntime(model_.onnx, s.inputs, o_.tolerance, &r);
      } catch (const Error& e) {  // it refuses sizes of 0 and others that Wick runs
        r.verdict = Verdict::kSkipped;
        r.why = e.what();
      }
      if (r.first && !o_.repro.empty())
        repro_of_onnxruntime(model_.onnx, s.inputs, o_.tolerance, o_.repro, &r);
    }
    add(std::move(r));
  }

  // ONNX Runtime was asked for: if it ran no sample, it verified nothing.
  void fail_where_all_were_refused() {
    const VerifyRow* refused = nullptr;
    for (const VerifyRow& r : report_.rows) {
      if (r.target != "onnxruntime") continue;
      if (r.verdict != Verdict::kSkipped) return;
      refused = &r;
    }
    VerifyRow r = row("onnxruntime", "none");
    r.verdict = Verdict::kFailed;
    r.why = refused != nullptr ? "it took none of the samples: " + refused->why
                               : "no sample of finite numbers was left";
    add(std::move(r));
  }

  void old_library(const VerifySample& s) {
    VerifyRow r = row("the other library", "exact", &s);
    if (!model_.is_wick) {
      r.verdict = Verdict::kFailed;
      r.why = "two libraries are compared on a .wick file";
      return add(std::move(r));
    }
    const OldRun old = run_old_library(o_.old_library, model_.path, s.inputs);
    r.target = fmt::format("library {}", old.version);
    for (size_t i = 0; i < old.outputs.size(); ++i) {
      ++r.values;
      const ir::GraphOutput& o = root_.outputs()[i];
      const HostTensor& truth = s.truth.at(o.name);
      const ir::Apart d = ir::apart(truth, old.outputs[i], Promise::kBits, 0);
      if (d.differs && !r.first) set_first(&r, root_, o.value, truth, old.outputs[i], d, 0);
    }
    add(std::move(r));
  }

  void compare(const ir::Graph& g, Span<const HostTensor> inputs, const GivenValues& given,
               Promise promise, VerifyRow* r, Side side) {
    compare_beside(g, inputs, given, promise, side, interpreter(), r);
  }

  // `values` are those of the graph's nodes.
  void make_repro(VerifyRow* r, const ir::Graph& g, Span<const HostTensor> inputs,
                  const GivenValues& values, const std::string& more,
                  const std::function<bool(const CutGraph&)>& differs) {
    if (o_.repro.empty() || has_repro(r)) return;
    r->repro =
        write_repro(o_.repro, *r, cut_at(*r, g, inputs, values, kMostReproNodes, differs), more);
  }
  // In whatever trip.
  static bool same_node(const FirstDifference& a, const FirstDifference& b) {
    if (a.place.empty()) return a.node == b.node;
    return a.value == b.value && ir::region_key(a.place) == ir::region_key(b.place);
  }
  bool has_repro(VerifyRow* r) const {
    for (const VerifyRow& other : report_.rows) {  // several targets may see one difference
      if (other.repro.empty() || !same_node(*other.first, *r->first)) continue;
      r->repro = other.repro;
      return true;
    }
    return false;
  }
  // From a region too, where its nodes show it.
  static CutGraph cut_at(const VerifyRow& r, const ir::Graph& g, Span<const HostTensor> inputs,
                         const GivenValues& values, size_t most,
                         const std::function<bool(const CutGraph&)>& differs) {
    for (const Scope& s : scopes(r, g, inputs, values)) {
      CutGraph cut =
          smallest_cut(*s.graph, s.wanted, s.values, most, differs, nullptr, Rewire::kYes);
      if (cut.nodes > 0) return cut;
    }
    return {};
  }
  static std::vector<Scope> scopes(const VerifyRow& r, const ir::Graph& g,
                                   Span<const HostTensor> inputs, GivenValues values) {
    for (size_t i = 0; i < inputs.size(); ++i) values[g.value(g.inputs()[i]).name] = inputs[i];
    return scopes_of(g, values, r.first->place, r.first->enters, r.first->value);
  }

  // Writes the file's nodes, and the model's nodes that compute the same value from the same
  // inputs.
  void repro_of_pair(const ir::Graph& model, const ir::Graph& file, const VerifySample& s,
                     const GivenValues& truth, Promise promise, VerifyRow* r) {
    if (o_.repro.empty() || has_repro(r)) return;
    const std::vector<Scope> sides = scopes(*r, model, s.inputs, truth);
    const std::vector<Scope> made = scopes(*r, file, s.inputs, truth);
    for (size_t i = 0; i < made.size() && sides.size() == made.size(); ++i) {
      const Scope &side = sides[i], &own = made[i];
      const auto other_side = [&](const CutGraph& cut) {
        std::vector<std::string> inputs;
        for (ir::ValueId v : cut.graph.inputs()) inputs.push_back(cut.graph.value(v).name);
        return cut_between(*side.graph, side.wanted, inputs, side.values);
      };
      const auto differs = [&](const CutGraph& cut) {
        ir::Graph part = cut.graph;
        ir::name_values(part, "%");
        VerifyRow found;
        compare(part, cut.inputs, own.values, promise, &found, Side::kGivenIsTruth);
        return found.first.has_value() && other_side(cut).nodes > 0;
      };
      const CutGraph cut =
          smallest_cut(*own.graph, own.wanted, own.values, kMostReproNodes, differs);
      if (cut.nodes == 0) continue;
      r->repro = write_pair_repro(o_.repro, *r, other_side(cut), cut);
      return;
    }
    r->repro = write_repro(o_.repro, *r, {}, "");
  }

  // Writes the model's own nodes if they alone change by being written and read again: the file is
  // then Wick's fault. Returns false if that does not show it: a pass or another writer made the
  // difference.
  bool repro_of_writer(bool wick, const VerifySample& s, Promise promise, VerifyRow* r) {
    if (o_.repro.empty()) return false;
    if (has_repro(r)) return true;
    for (QuantizedForm form : {QuantizedForm::kOperators, QuantizedForm::kQdq}) {
      const CutGraph cut =
          cut_at(*r, root_, s.inputs, s.truth, kMostWrittenNodes, [&](const CutGraph& part) {
            ir::Graph made = written_again(part.graph, wick, form, o_.lower_qdq);
            take_names(&made, part.graph);
            ir::name_values(made, "%made.");
            VerifyRow found;
            compare(made, part.inputs, ir::named_values(part.graph, part.inputs), promise, &found,
                    Side::kGivenIsTruth);
            return found.first.has_value();
          });
      if (cut.nodes == 0) continue;
      r->repro = write_written_repro(o_.repro, *r, cut, wick, form);
      return true;
    }
    return false;
  }

  const Verified& model_;
  const VerifyOptions& o_;
  const std::function<void(const VerifyRow&)>& progress_;
  ir::Graph root_, optimized_;  // optimized_ is after all passes, on the last sample
  std::string optimized_for_;   // that sample's sizes
  std::map<std::string, std::set<std::string>> undone_;  // passes, by a sample's sizes
  std::vector<VerifySample> samples_;
  VerifyReport report_;
  double left_ = 0;
};

}  // namespace

Verified open_verified(const std::string& path, const VerifyOptions& options) {
  Verified v;
  v.path = path;
  v.name = std::filesystem::path(path).filename().string();
  v.is_wick = is_wick_file(path);
  if (!v.is_wick && !is_tflite_file(path)) v.onnx = path;
  if (v.is_wick) {
    signed_bytes(path);
    LoadOptions load;
    std::vector<const CustomOp*> ops = registered_ops();
    load.custom_ops = ops;
    load.verify_digests = true;
    const auto loaded = Program::load(path.c_str(), load);
    v.damaged =
        !loaded.ok() && std::string(loaded.status().message()).find("sha256") != std::string::npos;
    if (v.damaged) return v;  // the digests' row reports it
    const Model model = Model::open(path);
    if (!model.program().states().empty()) {
      throw Error(
          fmt::format("{} keeps state between runs ({} ...), and so has no graph to be held "
                      "against: wick compare {} OTHER.wick --entry NAME steps two such programs on "
                      "the same inputs, and with --backend-b vulkan one on two backends",
                      path, model.program().states()[0].name, path),
          Code::kUnsupported);
    }
    v.root = program_graph(model.program(), options.entry);
    if (!options.entry.empty()) v.name += ":" + options.entry;
  } else {
    v.root = open_graph(path, {.lower_qdq = options.lower_qdq});
    if (options.lower_qdq) {
      ir::Graph plain = open_graph(path, {.lower_qdq = false});
      if (dequantizes(plain)) v.unlowered = std::move(plain);
    }
  }
  return v;
}

VerifyReport verify_model(const Verified& model, const VerifyOptions& options,
                          const std::function<void(const VerifyRow&)>& progress) {
  return Verifier(model, options, progress).run();
}

}  // namespace wick::tool
