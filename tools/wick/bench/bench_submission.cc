#include "tools/wick/bench/bench_submission.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "quantize/parameters.h"
#include "tools/lib/limits.h"
#include "tools/lib/measure.h"
#include "tools/submission/submission.h"
#include "tools/wick/command.h"
#include "tools/wick/trained.h"
#include "trainer/checkpoint/json.h"
#include "trainer/tensor/call.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

// Subject is a model that answers: a file in a session, or a run's module in the trainer.
class Subject {
 public:
  virtual ~Subject() = default;
  // Returns the inputs, in the form in which data readers ask for them.
  virtual const ir::Graph& ports() const = 0;
  // Takes arrays for the inputs; returns the first output.
  virtual HostTensor run(const quantize::Batch& batch) = 0;
  // Returns a function that runs these inputs once, without needless copies.
  virtual std::function<void()> timed(const quantize::Batch& first) = 0;
  virtual int threads() const = 0;
  int64_t parameters = 0, bytes = 0;
};

class FileSubject : public Subject {
 public:
  FileSubject(const std::string& path, const SubmissionBench& c)
      : model_(Model::open(path, {.lower_qdq = c.lower_qdq})),
        runner_(model_, {"cpu", c.threads, false, nullptr}) {
    bytes = static_cast<int64_t>(model_.file_bytes());
    count_parameters();
    const Session& s = runner_.session();
    for (size_t i = 0; i < s.input_count(); ++i) {
      const PortInfo port = s.input(i);
      SymShape shape;
      for (const DimDef& d : port.dims) shape.push_back(dim(d));
      ports_.add_input(port.name, port.dtype, shape);
    }
  }
  const ir::Graph& ports() const override { return ports_; }
  HostTensor run(const quantize::Batch& batch) override {
    return runner_.run(session_inputs(runner_.session(), batch, false))[0];
  }
  std::function<void()> timed(const quantize::Batch& first) override {
    inputs_ = session_inputs(runner_.session(), first, false);
    for (const HostTensor& t : inputs_) in_.push_back(t.view());
    return [this] {
      std::vector<TensorView> out(runner_.session().output_count());
      check(runner_.session().run(in_, out, {.timeout_ns = time_left_ns()}), "run");
    };
  }
  int threads() const override { return const_cast<Runner&>(runner_).session().threads(); }

 private:
  SymDim dim(const DimDef& d) const {
    if (d.symbol < 0) return d.value;
    const SymbolDef& s = model_.program().symbols()[static_cast<size_t>(d.symbol)];
    return SymDim::symbol(s.name, s.min, s.max);
  }
  void count_parameters() {
    const Program& p = model_.program();
    std::set<uint32_t> counted;
    for (const EntryDef& entry : p.entries()) {
      for (const RegionDef& region : entry.regions) {
        for (const NodeDef& n : region.nodes) count(p, entry, n, &counted);
      }
    }
  }
  void count(const Program& p, const EntryDef& entry, const NodeDef& n,
             std::set<uint32_t>* counted) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNoIndex) continue;
      const uint32_t c = entry.values[n.inputs[i]].constant;
      if (c == kNoIndex) continue;
      const TensorView& v = p.constants()[c].view;
      if (quantize::is_parameter(n.op, i, v.dtype, v.numel()) && counted->insert(c).second)
        parameters += v.numel();
    }
  }

  Model model_;
  Runner runner_;
  ir::Graph ports_;
  std::vector<HostTensor> inputs_;
  std::vector<TensorView> in_;
};

class RunSubject : public Subject {
 public:
  RunSubject(const std::string& folder, const SubmissionBench& c)
      : trained_(open_trained(folder)), ports_(capture_trained(trained_)) {
    if (c.threads > 0) set_num_threads(c.threads);
    for (const Tensor& p : trained_.plain->parameters()) parameters += p.raw().numel();
    for (const auto& [name, t] : trained_.plain->state_dict())
      bytes += static_cast<int64_t>(t.raw().nbytes());
  }
  const ir::Graph& ports() const override { return ports_; }
  HostTensor run(const quantize::Batch& batch) override {
    const NoGrad guard;
    const Tensor y = (*trained_.module)(tensor_of(batch)).contiguous();
    return {y.dtype(), y.raw_shape(), y.raw().data, y.raw().nbytes()};
  }
  std::function<void()> timed(const quantize::Batch& first) override {
    input_ = tensor_of(first);
    return [this] {
      const NoGrad guard;
      (*trained_.module)(input_);
    };
  }
  int threads() const override { return num_threads(); }

 private:
  static Tensor tensor_of(const quantize::Batch& batch) {
    const HostTensor& t = batch.begin()->second;
    return from_blob(t.data(), t.shape(), t.dtype());
  }
  Trained trained_;
  ir::Graph ports_;
  Tensor input_;
};

std::unique_ptr<Subject> open_subject(const std::string& path, const SubmissionBench& c) {
  if (fs::is_directory(path)) return std::make_unique<RunSubject>(path, c);
  return std::make_unique<FileSubject>(path, c);
}

struct Measured {
  std::unique_ptr<Subject> subject;
  InputData data;
  BenchmarkReport report;
};

Measured measure(const std::string& path, const SubmissionBench& c) {
  Measured m;
  m.subject = open_subject(path, c);
  m.data = open_data(m.subject->ports(), c.eval, {"--eval", true, 0, 250, {}});
  if (!m.data.labels) {
    throw Error(fmt::format("--eval '{}' has no labels: accuracy needs a data set, an .npz with "
                            "labels, or a folder with labels.npy",
                            c.eval),
                Code::kNotFound);
  }
  const fs::path p(path);
  m.report.model_name = (p.has_filename() ? p : p.parent_path()).filename().string();
  m.report.parameters = m.subject->parameters;
  m.report.bytes = m.subject->bytes;
  m.report.accuracy =
      accuracy_of([&](const quantize::Batch& b) { return m.subject->run(b); }, m.data, nullptr);
  return m;
}

// Returns the first `rows` of a batch, if the model has a choice and they are there.
quantize::Batch head(const Measured& m, int64_t rows) {
  quantize::Batch batch = *m.data.batches(0);
  const ir::Graph& g = m.subject->ports();
  for (const ir::ValueId v : g.inputs()) {
    const ir::Value& value = g.value(v);
    if (!value.ranked || value.shape.rank() == 0 || value.shape[0].known()) return batch;
  }
  for (auto& [name, t] : batch) {
    Shape s = t.shape();
    if (s[0] < rows) {
      wrong_usage("--batch", fmt::format("the data's first batch has {} rows", s[0]));
    }
    const size_t each = t.nbytes() / static_cast<size_t>(s[0]);
    s[0] = rows;
    t = HostTensor(t.dtype(), s, t.data(), each * static_cast<size_t>(rows));
  }
  return batch;
}

std::function<void()> timed(Measured& m, int64_t rows) {
  const quantize::Batch first = head(m, rows);
  const Shape& s = first.begin()->second.shape();
  m.report.batch = s.rank() == 0 ? 1 : s[0];
  return m.subject->timed(first);
}

void tell(const nlohmann::json& doc, const SubmissionBench& c) {
  if (doc.contains("improvements")) {
    fmt::print("accuracy {:+.2f} points\n",
               100 * doc["improvements"]["accuracy_delta"].get<double>());
    for (const auto& t : doc["targets"]) {
      const auto name = t["name"].get<std::string>();
      fmt::print("{}: {:.4g} (asked {:g}: {})\n", name, t["reached"].get<double>(),
                 t["asked"].get<double>(), t["met"].get<bool>() ? "met" : "not met");
    }
  }
  fmt::print("{}: submission\n", c.out);
}

}  // namespace

void bench_submission(const SubmissionBench& c) {
  if (c.eval == "sample") wrong_usage("--eval", "sample has no labels");
  std::vector<Measured> all;
  if (!c.baseline.empty()) all.push_back(measure(c.baseline, c));
  all.push_back(measure(c.model, c));
  std::vector<std::function<void()>> runs;
  for (Measured& m : all) runs.push_back(timed(m, c.batch));
  const std::vector<std::vector<double>> times = time_in_turn(runs, c.seconds);
  for (size_t i = 0; i < all.size(); ++i)
    all[i].report.latency = BenchmarkResult("latency", times[i], "ms");
  SubmissionOptions options;
  options.author = c.author;
  options.techniques = c.techniques;
  options.threads = all.back().subject->threads();
  const std::string text = all.size() == 1
                               ? generate_submission(all[0].report, options)
                               : generate_submission(all[0].report, all[1].report, options);
  save_submission(text, c.out);
  const auto doc = read_json(text, "the submission");
  if (c.json) return print_json(doc);
  for (const Measured& m : all) fmt::print("{}\n", m.report.text());
  tell(doc, c);
}

}  // namespace wick::tool
