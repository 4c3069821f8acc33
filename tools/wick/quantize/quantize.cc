// wick quantize: turns a float model into an integer one, and measures what that costs and gains.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "exporter/include/wick/compile.h"
#include "graph/passes/lower_qdq.h"
#include "quantize/qat/prepare.h"
#include "runtime/registry/registry.h"
#include "tools/lib/limits.h"
#include "tools/lib/measure.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/std_files.h"
#include "tools/lib/verify/made_file.h"
#include "tools/lib/verify/rows.h"
#include "tools/wick/command.h"
#include "tools/wick/page/page.h"
#include "tools/wick/places.h"
#include "tools/wick/progress_bar.h"
#include "tools/wick/quantize/quantize_checks.h"
#include "tools/wick/quantize/quantize_data.h"
#include "tools/wick/quantize/quantize_qat.h"
#include "tools/wick/quantize/quantize_search.h"
#include "tools/wick/terminal.h"
#include "tools/wick/trained.h"
#include "tools/wick/written.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using nlohmann::json;
using quantize::Mode;

struct QuantizeCommand {
  std::string model, calib, eval, report;
  std::vector<std::string> out, dims;
  std::string mode = "static", observer = "auto", weights = "int8", activations = "u8",
              format = "qdq";
  quantize::Recipe recipe;
  int64_t batches = 0, batch = 32;
  double seconds = 1;
  int threads = 1;
  std::string max_size;
  std::optional<double> max_drop;  // in points of a hundred
  std::optional<int64_t> epochs;   // these three: for qat only
  std::optional<double> lr;
  bool learn_scales = false;
  bool per_tensor = false, json = false, quiet = false;
  ProgramForm form = {.compact = true};
  CheckOptions checks;
};

bool is_onnx(const std::string& path) { return ends_with(path, ".onnx"); }

constexpr const char* kWeights[] = {"int8", "int4", "uint4"};
constexpr DType kWeightTypes[] = {DType::kI8, DType::kI4, DType::kU4};

quantize::Recipe recipe_of(const QuantizeCommand& c) {
  quantize::Recipe r = c.recipe;
  r.mode = quantize::mode_from(c.mode);
  if (r.mode == Mode::kQat) {
    r = quantize::qat_recipe();
    r.skip = c.recipe.skip;
  } else if (c.observer != "auto") {
    r.activation_observer.kind = quantize::observer_from(c.observer);
  }
  for (size_t i = 0; i < std::size(kWeights); ++i) {
    if (c.weights == kWeights[i]) r.weight = kWeightTypes[i];
  }
  r.weight_symmetric = r.weight != DType::kU4;
  r.activation = c.activations == "s8" ? DType::kI8 : DType::kU8;
  r.per_channel = !c.per_tensor;
  quantize::check(r);
  return r;
}

// Work is the conversion and its report.
class Work {
 public:
  explicit Work(const QuantizeCommand& c)
      : c_(c), recipe_(recipe_of(c)), written_(c.checks, c.model) {}

  void run() {
    check_usage();
    open();
    make();
    measure();
    compare();
    write();  // after everything else that may fail
    tell();
    written_.finish();
    if (mixed_ && !mixed_->met) throw Differs{};
  }

 private:
  bool limited() const { return budget_.max_bytes || budget_.max_drop; }
  bool in_pairs() const { return recipe_.mode == Mode::kStatic || recipe_.mode == Mode::kQat; }
  std::FILE* bar() const { return c_.quiet ? nullptr : plain_stderr(); }
  void warn(const std::string& text) const {
    if (!c_.quiet) fmt::print(stderr, "note: {}\n", text);
  }

  void check_usage() {
    for (const std::string& out : c_.out) {
      if (!is_onnx(out) && !ends_with(out, ".wick"))
        wrong_usage("--out", "must end in .onnx or .wick, got '" + out + "'");
    }
    check_form(c_.form, c_.out);
    is_run_ = std::filesystem::is_directory(c_.model);
    calib_ = c_.calib;
    if (recipe_.mode == Mode::kQat) {
      if (!is_run_) wrong_usage("--recipe", "qat trains a run of wick train on: give its folder");
    }
    if (calib_.empty() && !is_run_) {
      if (recipe_.mode == Mode::kStatic)
        wrong_usage("--calib", "is required: data that show which values there are");
      if (!c_.report.empty())
        wrong_usage("--report", "needs --calib: data to compare both models on");
    }
    if (!c_.max_size.empty()) budget_.max_bytes = size_from(c_.max_size);
    if (c_.max_drop) budget_.max_drop = *c_.max_drop / 100;
    if (calib_.empty() && !is_run_ && limited())
      wrong_usage("--calib",
                  "is required for --max-size and --max-drop: data to compare models on");
    if (c_.eval.empty() && !is_run_ && c_.max_drop)
      wrong_usage("--max-drop", "needs --eval: labelled data that the accuracy is measured on");
    if (recipe_.gptq && calib_.empty() && !is_run_)
      wrong_usage("--gptq", "needs --calib: data that show which inputs there are");
    std::vector<Place> places;
    for (const std::string& out : c_.out) places.push_back({"--out", out});
    places.push_back({"--report", c_.report});
    check_places({c_.model, c_.calib, c_.eval}, places);
  }

  void open() {
    ir::Graph g;
    std::string eval = c_.eval;
    if (is_run_) {
      const Trained trained = open_trained(c_.model);
      g = capture_trained(trained);
      g.metadata["wick.source"] = "trainer";
      g.metadata["wick.seed"] = std::to_string(trained.seed);
      seed_ = trained.seed;
      val_split_ = trained.val_split;
      run_data_ = trained.data;
      if (calib_.empty()) calib_ = trained.data;
      if (eval.empty()) eval = trained.data;
    } else {
      if (is_wick_file(c_.model)) {
        throw Error(c_.model +
                        " is a .wick file: quantize the ONNX model or the training run that "
                        "it was made from",
                    Code::kUnsupported);
      }
      g = open_graph(c_.model);
      seed_ = graph_origin(g, c_.model).seed;
      g.metadata.emplace("wick.source", shown(c_.model));
    }
    before_.emplace(Model::from_graph(g, true));
    runner_.emplace(*before_, threads());
    if (recipe_.mode == Mode::kQat) {
      check_images(calib_);
      captured_ = g;
    }
    graph_ = quantize::prepare(std::move(g), recipe_, &passes_);
    if (!calib_.empty())
      data_ = open_data(graph_, calib_, {"--calib", false, c_.batches, c_.batch, c_.dims});
    if (calib_ == "sample")
      warn("--calib sample: made-up numbers say nothing of real data, only that it can be done");
    if (eval.empty()) return;
    eval_ = open_data(graph_, eval, {"--eval", true, 0, c_.batch, c_.dims});
    if (!eval_->labels) {
      throw Error(fmt::format("--eval '{}' has no labels: accuracy needs a data set, an .npz with "
                              "labels, or a folder with labels.npy",
                              eval),
                  Code::kNotFound);
    }
    accuracy_[0] = accuracy(*runner_, "evaluating");  // now: labels may not fit the model
  }

  RunnerOptions threads() const { return {"cpu", c_.threads, false, nullptr}; }
  double accuracy(Runner& runner, const char* what) const {
    ProgressBar progress(bar(), what);
    return accuracy_of(runner, *eval_, [&](int64_t done) { progress.update(done, eval_->count); });
  }

  void make() {
    const quantize::Batches batches = data_ ? data_->batches : quantize::Batches();
    switch (recipe_.mode) {
      case Mode::kQat: train(); break;
      case Mode::kStatic: c_.observer == "auto" ? choose() : calibrate(); break;
      case Mode::kF16:
      case Mode::kBF16: result_ = quantize::round_weights(graph_, recipe_); break;
      case Mode::kWeightOnly:
        if (!limited()) result_ = quantize::quantize_weights(graph_, recipe_, batches);
        break;
      case Mode::kDynamic:
        if (!limited()) result_ = quantize::quantize_dynamic(graph_, recipe_, batches);
    }
    if (limited()) fit();
    for (const std::string& note : result_.notes) warn(note);
    // The other modes have no pairs: DynamicLinear is in the graph, weights in blocks become
    // BlockLinear in optimize().
    integer_ = in_pairs() ? ir::lowered(result_.graph, &lowered_) : result_.graph;
    after_.emplace(Model::from_graph(integer_, true));
    bytes_[0] = bytes_of(*before_), bytes_[1] = bytes_of(*after_);
    count_integer_ops();
    std::set<std::string> named;
    for (const quantize::Unquantized& u : result_.stayed) {
      named.insert(u.node);
      stayed_.push_back({u.op, u.node, u.reason});
    }
    for (const ir::StayedFloat& s : lowered_.stayed) {
      if (named.insert(s.name).second) stayed_.push_back(s);
    }
  }

  void calibrate() {
    ProgressBar progress(bar(), "calibrating");
    quantize::CalibrateOptions o;
    o.progress = [&](int64_t done) { progress.update(done, data_->count); };
    seen_ = quantize::calibrate(graph_, data_->batches, recipe_, o);
    calibrated_ = seen_.batches;
    result_ = quantize::quantize_static(graph_, seen_, recipe_, data_->batches, o);
  }

  // Tries the ways to choose ranges, and keeps the best.
  void choose() {
    std::optional<ProgressBar> progress(std::in_place, bar(), "calibrating");
    quantize::ChooseOptions o;
    bool trying = false;  // then other runs over the data are part of a trial
    o.calibrate.progress = [&](int64_t done) {
      if (!trying) progress->update(done, data_->count);
    };
    o.progress = [&](int64_t done, int64_t all) {
      if (!trying) progress.emplace(bar(), "trying ranges");
      trying = true;
      progress->update(done, all);
    };
    // Data that a run was tested on decides only where the user says so.
    if (eval_ && !c_.eval.empty()) o.score = [&](const ir::Graph& g) { return score(g); };
    choice_ = quantize::choose(graph_, recipe_, data_->batches, o);
    calibrated_ = choice_->calibration.batches;
    graph_ = choice_->graph;
    recipe_ = choice_->recipe;
    seen_ = choice_->calibration;
    result_ = choice_->result;
  }

  // Gives layers widths of their own within the budget.
  void fit() {
    ProgressBar progress(bar(), "trying widths");
    quantize::MixedOptions o;
    o.progress = [&](int64_t done, int64_t all) { progress.update(done, all); };
    o.bytes = [&](const quantize::QuantizeResult& made) {  // as write() makes it
      const ir::Graph& g = made.graph;
      return static_cast<int64_t>(
          compile_program(in_pairs() ? ir::lowered(g) : g, origin(), {.form = c_.form}).size());
    };
    // As for ranges: a run's own test data decide nothing, but they can be asked for a drop.
    if (eval_ && (!c_.eval.empty() || budget_.max_drop)) {
      o.score = [&](const ir::Graph& g) { return score(g); };
      o.float_score = accuracy_[0];
    }
    if (recipe_.mode == Mode::kStatic) o.calibration = &seen_;
    mixed_ = quantize::quantize_within(graph_, recipe_, data_->batches, budget_, o);
    recipe_ = mixed_->recipe;
    result_ = mixed_->result;
  }

  ProgramInfo origin() const {
    ProgramInfo info{.source = is_run_ ? "trainer" : shown(c_.model), .seed = seed_};
    info.numerics = NumericsClass::kApproximates;
    return info;
  }
  // Returns the bytes of the file that the model becomes.
  int64_t bytes_of(const Model& model) const {
    return static_cast<int64_t>(program_bytes(*model.compiled(), origin(), {}, c_.form).size());
  }
  Model compiled(const ir::Graph& made) const {
    return Model::from_graph(in_pairs() ? ir::lowered(made) : made, true);
  }
  double score(const ir::Graph& made) const {
    const Model model = compiled(made);
    Runner runner(model, threads());
    return accuracy_of(runner, *eval_, {});
  }

  void train() {
    QatRun run;
    run.recipe = recipe_;
    run.data = calib_;
    run.epochs = c_.epochs.value_or(run.epochs);
    run.lr = c_.lr.value_or(run.lr);
    run.batch = c_.batch;
    run.learn_scales = c_.learn_scales;
    run.seed = seed_;
    run.threads = c_.threads;
    run.progress = bar();
    run.val_split = calib_ == run_data_ ? val_split_ : 0;
    QatTrained trained = train_quantized(captured_, run);
    result_.graph = std::move(trained.graph);
    // The report compares these weights with themselves rounded: compared with the weights that
    // training began with, a layer would differ by what it learned.
    graph_ = std::move(trained.unrounded);
    qat_ = {{"epochs", run.epochs},     {"lr", run.lr},
            {"batch", run.batch},       {"learn_scales", run.learn_scales},
            {"images", trained.images}, {"val_accuracy", trained.validation}};
    result_.stayed = quantize::plan_quantization(graph_, recipe_).stayed(graph_);
  }

  void count_integer_ops() {
    for (const auto& [op, count] : lowered_.integer) integers_[op] += count;
    if (!integers_.empty()) return;
    for (const ir::Node& n : after_->compiled()->nodes()) {
      if (n.op == OpId::kBlockLinear || n.op == OpId::kDynamicLinear)
        ++integers_[op_info(n.op)->name];
    }
  }

  void write() {
    const bool qdq = c_.format == "qdq";
    const ir::Graph& onnx = qdq ? result_.graph : integer_;
    if (std::any_of(c_.out.begin(), c_.out.end(), is_onnx)) onnx_op_types(onnx);  // or it throws
    for (const std::string& out : c_.out) {
      json file = {{"file", out}};
      if (is_onnx(out)) {
        ir::Graph graph = onnx;
        graph.metadata.insert_or_assign(kNumericsKey, "approximates");
        const OnnxFile made = export_onnx(graph, out);
        file["format"] = "onnx";
        file["form"] = c_.format;
        file["opset"] = made.opset;
      } else {
        export_wick(integer_, out, origin(), {.form = c_.form});
        file["format"] = "wick";
      }
      file["bytes"] = std::filesystem::file_size(out);
      file["verified"] =
          written_.verify(is_onnx(out) ? onnx : integer_, out, {c_.dims, false, shown_inputs()});
      files_.push_back(std::move(file));
    }
  }

  // Returns the first row of the calibration data; nothing where there are none.
  std::vector<HostTensor> shown_inputs() {
    if (!data_) return {};
    return session_inputs(runner_->session(), *data_->batches(0), true);
  }

  void measure() {
    Runner &before = *runner_, after(*after_, threads());
    if (eval_) accuracy_[1] = accuracy(after, "evaluating integers");
    std::vector<HostTensor> inputs = shown_inputs();
    if (!data_ && !made_inputs(before, after, &inputs)) return;
    times_ = time_both(before, after, inputs, c_.seconds);
  }

  // Makes inputs up to time both models on: of the sizes that --dim names, else of the first at
  // which they run. Returns false, and says so, if there are none.
  bool made_inputs(Runner& before, Runner& after, std::vector<HostTensor>* inputs) const {
    const Session& session = before.session();
    try {
      const QuickLimits limits(kQuickHeld, 0);
      *inputs =
          sample_inputs(session, before_->program(), {.batch = std::nullopt, .named = c_.dims})
              .inputs;
      return true;
    } catch (const Error& e) {
      if (ran_out(e)) {
        warn(fmt::format("neither model was timed: {}", e.what()));
        return false;
      }
      for (const std::string& dim : c_.dims) named_size(before_->program(), dim);  // or it throws
    }
    const QuickLimits limits(kQuickHeld, 0);
    const auto made = larger_sample(session, before_->program(), c_.dims, [&](VerifySample* s) {
      before.run(s->inputs);
      after.run(s->inputs);
    });
    warn(made ? fmt::format("both models were timed at {}: --dim NAME=N chooses another size",
                            made->sizes)
              : std::string("neither model was timed: they run at none of the sizes tried, --dim "
                            "NAME=N chooses others"));
    if (made) *inputs = made->inputs;
    return made.has_value();
  }

  void compare() {
    if (!data_ || (c_.report.empty() && !c_.json)) return;
    ProgressBar progress(bar(), "comparing layers");
    quantize::CompareOptions o;
    o.batches = std::min<int64_t>(4, data_->count);
    o.progress = [&](int64_t done, int64_t all) { progress.update(done, all); };
    comparison_ = quantize::compare(graph_, result_, data_->batches, o);
    for (const quantize::OutputReport& r :
         quantize::compare_outputs(result_.graph, integer_, data_->batches, o))
      lowering_.push_back({{"name", r.name}, {"max_error", number_json(r.error.max_error)}});
  }

  json document() const {
    json doc = {
        {"model", c_.model},        {"recipe", recipe_json(recipe_)},
        {"integer_ops", integers_}, {"stayed", json::array()},
        {"notes", result_.notes},   {"passes", passes_.changed},
        {"files", files_},          {"bytes", {{"before", bytes_[0]}, {"after", bytes_[1]}}},
        {"accuracy", nullptr},      {"ms", nullptr},
        {"calibration", nullptr},   {"comparison", nullptr},
        {"wick", WICK_VERSION}};
    if (times_.runs > 0) {
      doc["ms"] = {{"clock", "processor"},
                   {"before", times_.before_ms},
                   {"after", times_.after_ms},
                   {"wall_before", times_.before_wall_ms},
                   {"wall_after", times_.after_wall_ms},
                   {"items", times_.items},
                   {"threads", times_.threads},
                   {"runs", times_.runs}};
    }
    for (const ir::StayedFloat& s : stayed_)
      doc["stayed"].push_back({{"op", s.op}, {"node", s.name}, {"reason", s.reason}});
    if (!qat_.is_null()) doc["qat"] = qat_;
    if (choice_) doc["tried"] = tried_json(*choice_);
    if (mixed_) doc["budget"] = mixed_json(*mixed_, budget_);
    if (data_) doc["calibration"] = {{"data", data_->text}, {"batches", calibrated_}};
    if (eval_) {
      doc["accuracy"] = {{"before", accuracy_[0]}, {"after", accuracy_[1]}, {"data", eval_->text}};
    }
    if (comparison_) {
      doc["comparison"] = comparison_json(*comparison_);
      doc["comparison"]["against"] =
          recipe_.mode == Mode::kQat ? "the trained weights without rounding" : "the float model";
      doc["comparison"]["integer_against_qdq"] = lowering_;
    }
    return doc;
  }

  void tell() {
    const json doc = document();
    if (!c_.report.empty()) write_text(c_.report, quantize_page(doc));
    if (c_.json) return print_json(doc);
    fmt::print("{}: {}\n", c_.model, recipe_text());
    std::string ops;
    for (const auto& [op, count] : integers_)
      ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", count, op);
    fmt::print("integer: {}\n", ops.empty() ? "nothing" : ops);
    // The other modes leave everything but layers as it is.
    fmt::print("{}", stayed_text(stayed_, in_pairs() ? "op" : "layer"));
    if (choice_) fmt::print("{}", tried_text(*choice_));
    if (mixed_) fmt::print("{}", mixed_text(*mixed_, budget_));
    const auto before = static_cast<double>(bytes_[0]), after = static_cast<double>(bytes_[1]);
    fmt::print("bytes as .wick: {:.0f} -> {:.0f} ({:.3f} x)\n", before, after, after / before);
    if (eval_) {
      fmt::print("accuracy: {:.2f} % -> {:.2f} % ({})\n", 100 * accuracy_[0], 100 * accuracy_[1],
                 eval_->text);
    }
    if (times_.runs > 0) {
      fmt::print(
          "CPU ms: {:.4f} -> {:.4f} ({:.2f} x the speed; batch {}, threads {}, p50 of {} runs)\n",
          times_.before_ms, times_.after_ms, times_.before_ms / times_.after_ms, times_.items,
          times_.threads, times_.runs);
    }
    for (const json& f : files_) {
      fmt::print("{}: {}, {} bytes\n", f["file"].get<std::string>(),
                 f["format"] == "onnx" ? fmt::format("ONNX opset {}", f["opset"].get<int64_t>())
                 : integers_.empty()   ? "program"
                                       : "program of integer ops",
                 f["bytes"].get<uint64_t>());
    }
    if (!c_.report.empty()) fmt::print("{}: report\n", c_.report);
  }

  std::string recipe_text() const {
    std::string text = fmt::format("{}, {} weights", c_.mode, weights_text(recipe_));
    if (recipe_.mode == Mode::kStatic)
      text += fmt::format(", {} activations ({})", dtype_name(recipe_.activation),
                          observer_name(recipe_.activation_observer.kind));
    if (recipe_.mode == Mode::kWeightOnly)
      text += fmt::format(" in blocks of {}", recipe_.block_size);
    if (calibrated_ > 0) text += fmt::format("; calibrated on {}", data_->text);
    return text;
  }

  const QuantizeCommand& c_;
  quantize::Recipe recipe_;
  quantize::Budget budget_;
  bool is_run_ = false;
  std::string calib_;
  uint64_t seed_ = 0;
  std::string run_data_;  // what the run was trained on, and the share held out
  double val_split_ = 0;
  json qat_;
  ir::Graph captured_, graph_, integer_;
  ir::PassReport passes_;
  ir::LowerReport lowered_;
  quantize::QuantizeResult result_;
  quantize::Calibration seen_;
  std::optional<quantize::Choice> choice_;
  std::optional<quantize::Mixed> mixed_;
  std::optional<Model> before_, after_;
  std::optional<Runner> runner_;  // for before_
  std::optional<InputData> data_, eval_;
  int64_t calibrated_ = 0;
  std::map<std::string, int> integers_;
  std::vector<ir::StayedFloat> stayed_;
  std::optional<quantize::Comparison> comparison_;
  json files_ = json::array(), lowering_ = json::array();
  double accuracy_[2] = {0, 0};
  int64_t bytes_[2] = {0, 0};  // of the files, before and after
  Times times_;
  Written written_;
};

}  // namespace

void add_quantize(CommandLine& app) {
  auto c = std::make_shared<QuantizeCommand>();
  Command command = app.add_command(
      "quantize", "A float model as one of 8- or 4-bit integers, and what that costs and wins");
  command.add_option("model", c->model, "model.onnx, or the folder of wick train --out")
      .required()
      .reads_file();
  accept_signature(command);
  command.add_option("--calib", c->calib,
                     "data to calibrate with: fashion-mnist, mnist, tinydigits, a folder of .npy "
                     "files, an .npy, an .npz or sample (default: a run's own)");
  command.add_option("--eval", c->eval, "labelled data to measure the accuracy on");
  command
      .add_option("-o,--out", c->out,
                  "model.onnx (QDQ) or model.wick; more than one is fine; -: .wick to standard "
                  "output, -.onnx: ONNX")
      .writes_file(".wick");
  command
      .add_option("--format", c->format,
                  "of an ONNX file: qdq, or qoperator (QLinearConv ..., integer ops)")
      .one_of({"qdq", "qoperator"});
  command
      .add_option(
          "--recipe", c->mode,
          "static, dynamic, weight-only, qat (trains a run on), f16 or bf16 (weights of 16 bits)")
      .one_of({"static", "dynamic", "weight-only", "qat", "f16", "bf16"});
  command
      .add_option("--observer", c->observer,
                  "which range of values an activation gets; auto tries all, without and with "
                  "--bias-correction and --equalize, and keeps the best by --eval, else by the "
                  "outputs' signal over error")
      .one_of({"auto", "min-max", "moving-average", "percentile", "entropy", "mse"});
  command
      .add_option("--percentile", c->recipe.activation_observer.percentile,
                  "of the observer of that name, also under auto: 50 to 100")
      .above_zero()  // NaN is not above zero
      .between(50.0, 100.0);
  command.add_option("--weights", c->weights, "int8, int4 or uint4")
      .one_of({"int8", "int4", "uint4"});
  command.add_option("--activations", c->activations, "u8 or s8").one_of({"u8", "s8"});
  command
      .add_option("--block", c->recipe.block_size,
                  "weight-only, tables of dynamic: weights of one scale")
      .one_of({32, 64, 128});
  command.add_flag("--per-tensor", c->per_tensor, "one scale a weight, not one an output channel");
  command.add_flag("--equalize", c->recipe.equalize, "channels of neighbouring layers share range");
  command.add_flag("--bias-correction", c->recipe.bias_correction,
                   "biases take back the mean error of their channel");
  command.add_flag(
      "--gptq", c->recipe.gptq,
      "weights of linear layers make up for each other's rounding (Frantar et al. 2023)");
  command.add_option(
      "--max-size", c->max_size,
      "layers get int4, int8, f16 or f32 weights, so that the .wick has no more bytes: "
      "300KB, 1.5MiB");
  command
      .add_option("--max-drop", c->max_drop,
                  "the same, so that no more points of accuracy are lost on --eval; exit 3 where "
                  "that cannot be had")
      .not_negative();
  command.add_option("--skip", c->recipe.skip, "PATTERN of nodes or modules that stay float")
      .one_word();
  command
      .add_option("--batches", c->batches,
                  "most to calibrate with; 0: all of files, 512 images of a set")
      .at_least(0);
  command.add_option("--batch", c->batch, "items a batch, where the model has a choice")
      .at_least(1);
  command.add_option("--dim", c->dims, "NAME=N: for sample, a size that is not the batch")
      .one_word()
      .named_size();
  command.add_option("--epochs", c->epochs, "of qat (default: 3)").at_least(1);
  command.add_option("--lr", c->lr, "of qat (default: 0.002)").above_zero();
  command.add_flag("--learn-scales", c->learn_scales, "qat learns the scales too (LSQ)");
  command.add_option("--report", c->report, "FILE.html: layer by layer, as a page")
      .writes_file(".html");
  command.add_option("--threads", c->threads, "0: as many as there are").at_least(0);
  command.add_option("--seconds", c->seconds, "of timing, for each of both models").above_zero();
  accept_form(command, &c->form);
  accept_checks(command, &c->checks, false);
  command.add_flag("--quiet", c->quiet, "no progress and no notes on stderr");
  command.add_flag("--json", c->json, "print everything as JSON, layers included");
  command.footer(
      "Example:\n  wick quantize runs/lenet --calib fashion-mnist -o lenet8.wick --report "
      "lenet8.html");
  command.callback([c, command] {
    check_options(command, quantize::mode_from(c->mode), c->observer);
    Work(*c).run();
  });
}

}  // namespace wick::tool
