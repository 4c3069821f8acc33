// wick prove: compares every path of a trained model over the whole test set.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "exporter/include/wick/compile.h"
#include "tools/lib/difference.h"
#include "tools/lib/model.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/oracle.h"
#include "tools/wick/command.h"
#include "tools/wick/forms.h"
#include "tools/wick/trained.h"
#include "trainer/tensor/call.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

struct TestSet {
  HostTensor images;  // u8 [N, 1, H, W]
  std::vector<uint8_t> labels;
  int64_t size() const { return images.shape()[0]; }
  HostTensor slice(int64_t begin, int64_t count) const {
    const Shape& s = images.shape();
    auto item = static_cast<size_t>(s[1] * s[2] * s[3]);
    return HostTensor(DType::kU8, {count, s[1], s[2], s[3]},
                      images.as<uint8_t>() + static_cast<size_t>(begin) * item,
                      static_cast<size_t>(count) * item);
  }
};

TestSet open_test_set(const std::string& name, int64_t limit) {
  data::ImageData d = data::open_images(name);
  const data::HostArray &images = d.test->images(), &labels = d.test->labels();
  int64_t n = images.shape[0];
  if (limit > 0) n = std::min(n, limit);
  auto pixels = static_cast<size_t>(d.height * d.width);
  TestSet t;
  t.images = HostTensor(DType::kU8, {n, 1, d.height, d.width}, images.bytes.data(),
                        static_cast<size_t>(n) * pixels);
  t.labels.assign(labels.bytes.begin(), labels.bytes.begin() + n);
  return t;
}

// Path is any way to map a batch of images to logits [N, classes].
using Path = std::function<HostTensor(const HostTensor&)>;
HostTensor over_all(const TestSet& set, int64_t batch, const Path& path, int workers = 1) {
  HostTensor all;
  auto slices = [&](int64_t first, int64_t step) {
    for (int64_t at = first * batch; at < set.size(); at += step * batch) {
      HostTensor out = path(set.slice(at, std::min(batch, set.size() - at)));
      int64_t classes = out.shape()[1];
      if (!all.present()) all = HostTensor(DType::kF32, {set.size(), classes});
      std::copy_n(out.as<float>(), out.numel(), all.as<float>() + at * classes);
    }
  };
  if (workers == 1) {
    slices(0, 1);
    return all;
  }
  // The first slice runs alone: it allocates `all`. The path must be safe to call from several
  // threads.
  HostTensor first = path(set.slice(0, 1));
  all = HostTensor(DType::kF32, {set.size(), first.shape()[1]});
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failed(static_cast<size_t>(workers));
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      try {
        slices(w, workers);
      } catch (...) {
        failed[static_cast<size_t>(w)] = std::current_exception();
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const auto& e : failed) {
    if (e) std::rethrow_exception(e);
  }
  return all;
}

int64_t argmax(const float* row, int64_t n) { return std::max_element(row, row + n) - row; }

double accuracy(const TestSet& set, const HostTensor& logits) {
  int64_t right = 0, classes = logits.shape()[1];
  for (int64_t i = 0; i < set.size(); ++i)
    right +=
        argmax(logits.as<float>() + i * classes, classes) == set.labels[static_cast<size_t>(i)];
  return static_cast<double>(right) / static_cast<double>(set.size());
}

struct Row {
  std::string name, note;
  bool promises_bits = false, present = true;
  HostTensor logits;
  double latency_ms = -1;
  uint64_t bytes = 0;
};

double latency(const Path& path, const HostTensor& image) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) path(image);
  for (double end = now_ms() + 1000; now_ms() < end || times.size() < 5;) {
    double t = now_ms();
    path(image);
    times.push_back(now_ms() - t);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

class Prover {
 public:
  explicit Prover(const ProveCommand& c)
      : trained_(open_trained(c.folder)),
        set_(open_test_set(c.data.empty() ? trained_.data : c.data, c.limit)),
        out_(c.out),
        json_(c.json),
        table_(c.json ? stderr : stdout) {
    make_folder(out_);
  }

  // Returns true if every path that promises bits kept its promise and ONNX Runtime stayed within
  // its bound.
  bool run() {
    ir::Graph graph = capture_trained(trained_);
    std::string onnx = (fs::path(out_) / (trained_.model + ".onnx")).string();
    std::string wick = (fs::path(out_) / (trained_.model + ".wick")).string();
    export_trained_onnx(trained_, graph, onnx);
    ir::Graph optimized = graph;
    ir::PassReport report = ir::optimize(optimized);
    ProgramInfo info{.seed = trained_.seed};
    info.passed(report);
    write_program(optimized, wick, info, {}, {.compact = true});

    add("trainer", true, 128, trainer_path());
    check_variants();
    add(
        "interpreter", true, 128,
        [&](const HostTensor& x) {
          return ir::run(graph, {&x, 1})[0];
        },
        false, 2);
    Model program = Model::open(wick);
    add_session("wick_cpu", program, {"cpu", 2, false, nullptr}, true, 128);
    variant("wick_cpu", program, {"cpu", 1, false, nullptr}, 1);
    variant("wick_cpu", program, {"cpu", 2, false, nullptr}, 1);
    variant("wick_cpu", program, {"cpu", 1, false, nullptr}, 128);
    try {
      add_session("wick_vulkan", program, {"vulkan", 2, false, nullptr}, false, 128);
    } catch (const Error& e) {
      absent("wick_vulkan", e.what());
    }
    Model imported = Model::open(onnx);
    add_session("onnx_wick", imported, {"cpu", 2, false, nullptr}, true, 128);
    rows_.back().bytes = fs::file_size(onnx);
    add_onnxruntime(onnx);
    return finish();
  }

 private:
  Path trainer_path() {
    return [this](const HostTensor& x) { return trainer_logits(trained_, x); };
  }
  static Path session_path(Runner& runner) {
    return [&runner](const HostTensor& x) { return runner.run({&x, 1})[0]; };
  }

  void add(const std::string& name, bool bits, int64_t batch, const Path& path, bool timed = true,
           int workers = 1) {
    Row row;
    row.name = name;
    row.promises_bits = bits;
    double begin = now_ms();
    row.logits = over_all(set_, batch, path, workers);
    fmt::print(stderr, "  {:<14} {} images in {:.1f} s\n", name, set_.size(),
               (now_ms() - begin) / 1e3);
    if (timed) row.latency_ms = latency(path, set_.slice(0, 1));
    rows_.push_back(std::move(row));
  }
  void add_session(const std::string& name, const Model& model, const RunnerOptions& options,
                   bool bits, int64_t batch) {
    Runner runner(model, options);
    add(name, bits, batch, session_path(runner), false);
    RunnerOptions single = options;
    single.threads = 1;
    Runner alone(model, single);
    rows_.back().latency_ms = latency(session_path(alone), set_.slice(0, 1));
    rows_.back().bytes = model.file_bytes();
  }
  void absent(const std::string& name, const std::string& why) {
    Row row;
    row.name = name;
    row.present = false;
    row.note = why;
    rows_.push_back(std::move(row));
  }
  void same(const std::string& what, const HostTensor& logits) {
    Difference d = difference(logits, rows_[0].logits);
    variants_[what] = d.bits;
    if (!d.bits)
      fmt::print(table_, "DIFFERS: {} from the trainer's batch of 128: {}\n", what, d.text());
  }
  void variant(const std::string& name, const Model& model, const RunnerOptions& options,
               int64_t batch) {
    Runner runner(model, options);
    same(fmt::format("{} threads={} batch={}", name, options.threads, batch),
         over_all(set_, batch, session_path(runner)));
  }
  void check_variants() {
    int threads = num_threads();
    for (int t : {1, 2}) {
      set_num_threads(t);
      for (int64_t batch : {int64_t{1}, int64_t{128}}) {
        same(fmt::format("trainer threads={} batch={}", t, batch),
             over_all(set_, batch, trainer_path()));
      }
    }
    set_num_threads(threads);
  }
  void add_onnxruntime(const std::string& onnx) {
    if (auto why = onnxruntime_missing()) return absent("onnxruntime", *why);
    Row row;
    row.name = "onnxruntime";
    row.logits = run_onnxruntime(onnx, {"image"}, {&set_.images, 1}, {"logits"})[0];
    row.latency_ms = bench_onnxruntime(onnx, set_.slice(0, 1), 1, 2);
    row.bytes = fs::file_size(onnx);
    rows_.push_back(std::move(row));
  }

  // Counts images whose top class differs from the trainer's; prints ties of two logits.
  int64_t top1_differences(const Row& row) const {
    const HostTensor& base = rows_[0].logits;
    int64_t classes = base.shape()[1], count = 0;
    for (int64_t i = 0; i < set_.size(); ++i) {
      const float *a = base.as<float>() + i * classes, *b = row.logits.as<float>() + i * classes;
      int64_t ta = argmax(a, classes), tb = argmax(b, classes);
      if (ta == tb) continue;
      ++count;
      fmt::print(
          table_,
          "{}: image {} is class {} (logit {:.9g}), the trainer says {} ({:.9g} against {:.9g})\n",
          row.name, i, tb, static_cast<double>(b[tb]), ta, static_cast<double>(a[ta]),
          static_cast<double>(a[tb]));
    }
    return count;
  }

  bool finish() {
    nlohmann::json report = {
        {"model", trained_.model}, {"images", set_.size()}, {"variants_bits_equal", variants_}};
    bool good =
        std::all_of(variants_.begin(), variants_.end(), [](const auto& v) { return v.second; });
    fmt::print(table_, "\n{:<14} {:>9} {:>8} {:>12} {:>10} {:>12}  {}\n", "path", "accuracy",
               "max ulp", "max relative", "bytes", "latency ms", "agreement with the trainer");
    for (const Row& row : rows_) {
      if (!row.present) {
        fmt::print(table_, "{:<14} {:>9}  {}\n", row.name, "-", row.note);
        report["absent"][row.name] = row.note;
        continue;
      }
      Difference d = difference(row.logits, rows_[0].logits);
      if (!d.comparable) {  // nothing to count: the path gave another kind of answer
        good = false;
        report["incomparable"][row.name] = to_text(row.logits.shape()).text;
        fmt::print(table_, "{:<14} {:>9}  DIFFERS: logits {}{}, the trainer's are {}{}\n", row.name,
                   "-", dtype_name(row.logits.dtype()), to_text(row.logits.shape()).text,
                   dtype_name(rows_[0].logits.dtype()), to_text(rows_[0].logits.shape()).text);
        continue;
      }
      double right = accuracy(set_, row.logits);
      report["accuracy"][row.name] = right;
      report["max_rel_error"][row.name] = d.max_rel;
      report["max_ulp"][row.name] = d.max_ulp;
      report["top1_differences"][row.name] = top1_differences(row);
      if (row.promises_bits) report["bits_equal"][row.name] = d.bits;
      if (row.latency_ms >= 0) report["latency_ms"][row.name] = row.latency_ms;
      if (row.bytes != 0) report["bytes"][row.name] = row.bytes;
      if (row.name == "onnxruntime") report["onnxruntime_max_rel_error"] = d.max_rel;
      good = good && (!row.promises_bits || d.bits) &&
             (row.name != "onnxruntime" || d.max_rel <= 1e-5);
      fmt::print(table_, "{:<14} {:>8.2f}% {:>8} {:>12.3g} {:>10} {:>12}  {}\n", row.name,
                 right * 100, d.max_ulp, d.max_rel,
                 row.bytes != 0 ? std::to_string(row.bytes) : "-",
                 row.latency_ms >= 0 ? fmt::format("{:.4f}", row.latency_ms) : "-",
                 d.bits ? "bits equal" : d.text());
    }
    fmt::print(table_, "\nbits over thread counts and batch sizes:");
    for (const auto& [what, equal] : variants_)
      fmt::print(table_, " {} {};", what, equal ? "equal" : "DIFFER");
    std::string file = (fs::path(out_) / "report.json").string();
    write_text(file, report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    fmt::print(table_, "\n{}\n", file);
    if (json_) print_json(report);
    return good;
  }

  Trained trained_;
  TestSet set_;
  std::string out_;
  bool json_;
  std::FILE* table_;  // stdout, unless that has the JSON document
  std::vector<Row> rows_;
  std::map<std::string, bool> variants_;
};

}  // namespace

bool prove(const ProveCommand& command) { return Prover(command).run(); }

void add_prove(CommandLine& app) {
  auto c = std::make_shared<ProveCommand>();
  Command command = app.add_command("prove",
                                    "Export a trained model and compare every path over the "
                                    "test set (exit 3 when one breaks its promise)");
  command.add_option("run", c->folder, "folder that wick train wrote").required();
  command.add_option("-o,--out", c->out, "folder for the models and report.json").required();
  command.add_option("--data", c->data, "images (default: the run's own)");
  command.add_option("--limit", c->limit, "only the first N images; 0: all").at_least(0);
  command.add_flag("--json", c->json, "print the report to stdout, the table to stderr");
  command.footer("Example:\n  wick prove runs/lenet -o build/demo");
  command.callback([c] {
    if (!prove(*c)) throw Differs{};
  });
}

}  // namespace wick::tool
