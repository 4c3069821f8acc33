// wick bench: latency percentiles, throughput, memory, load time.
#include "tools/wick/bench/bench.h"

#include "tools/lib/peer.h"
#include "tools/wick/bench/zoo.h"
#include "tools/wick/command.h"
#include "tools/wick/placement.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// Compares a model with another one over labelled data.
void bench_beside(const BenchCommand& c) {
  SubmissionBench s = c.submission;
  if (s.eval.empty()) wrong_usage("--submission", "needs --eval: labelled data for the accuracy");
  if (c.split || c.profile || c.explain || c.roofline || c.load || !c.dims.empty() ||
      !c.inputs.empty() || !c.against.empty() || c.backend != "cpu" || !c.entry.empty() ||
      !c.state.empty())
    wrong_usage("--submission", "measures what --eval reads, on the CPU, as a whole");
  if (c.batches.size() > 1) wrong_usage("--batch", "is one size with --submission");
  s.model = c.model;
  s.batch = c.first_batch().value_or(1);
  s.threads = c.threads, s.seconds = c.seconds;
  s.json = c.json, s.lower_qdq = c.lower_qdq;
  bench_submission(s);
}

void check_submission(const BenchCommand& c) {
  if (!c.submission.eval.empty() || !c.submission.baseline.empty() ||
      !c.submission.techniques.empty() || !c.submission.author.empty()) {
    wrong_usage("--eval, --baseline, --technique and --author", "go with --submission FILE.json");
  }
}

void check_zoo(const BenchCommand& c) {
  if (c.load || c.split || c.profile || c.explain || c.roofline || !c.inputs.empty() ||
      !c.batches.empty() || c.backend != "cpu" || !c.submission.out.empty() || !c.entry.empty() ||
      !c.state.empty())
    wrong_usage("--zoo",
                "measures each model of a folder as a whole, on the CPU: with it go --against, "
                "--page, --threads, --seconds, --dim, --qdq and --json");
  check_submission(c);
}

void check_peers(const BenchCommand& c) {
  for (const std::string& peer : c.against) {
    if (const auto missing = peer_missing(peer_runtime(peer)))
      throw Error(*missing, Code::kNotFound);
  }
}

void bench(const BenchCommand& c, const Command& command) {
  check_fallback(c.fallback, c.backend == "vulkan");
  check_device(c.device, c.all_it_can, c.backend == "vulkan");
  if (c.zoo) {
    check_zoo(c);
    check_peers(c);
    std::vector<std::string> passed;  // what each model's process must know, too
    for (const char* option : {"--ops", "--require-signature", "--max-ram"}) {
      for (const std::string& value : command.values(option))
        passed.insert(passed.end(), {option, value});
    }
    return bench_zoo(c, passed);
  }
  if (!c.page.empty()) wrong_usage("--page", "is the page of --zoo");
  if (!c.submission.out.empty()) return bench_beside(c);
  check_submission(c);
  if (!c.inputs.empty() && !c.batches.empty())
    wrong_usage("--batch", "the arrays of --input have sizes of their own");
  if (c.roofline && (c.load || c.backend != "cpu"))
    wrong_usage("--roofline", "measures runs on the CPU, beside its peaks");
  if (!c.against.empty()) {
    if (is_wick_file(c.model)) wrong_usage("--against", "needs the .onnx file, which both read");
    need_onnx(c.model, "--against");
    if (c.load || c.split || c.profile || c.roofline)
      wrong_usage("--against", "measures whole runs");
    check_peers(c);
  }
  check_kernel_checks(c.checks, c.backend);
  if (c.load && c.fallback.refused)
    wrong_usage("--strict", "is about steps that ran, and --load runs none");
  if (c.load && !c.state.empty()) wrong_usage("--state", "is for runs, and --load makes none");
  if (c.load) return bench_load(c);
  const Model model = Model::open(c.model, {.lower_qdq = c.lower_qdq});
  std::vector<std::optional<int64_t>> sizes(c.batches.begin(), c.batches.end());
  if (sizes.empty()) sizes.push_back(std::nullopt);
  std::vector<BatchFigures> batches;
  for (std::optional<int64_t> size : sizes) batches.push_back(bench_batch(c, model, size));
  if (c.roofline) bench_roofline(c, &batches);
  if (!c.json) return;
  auto document = nlohmann::json::array();
  for (const BatchFigures& b : batches) document.push_back(b.row);
  print_json(document);
}

void add_peer_options(Command command, BenchCommand* c) {
  command
      .add_option("--against", c->against,
                  "onnxruntime, openvino or both: the same .onnx file there, in turn, and how many "
                  "times as fast this is; the user's Python packages (tools/scripts/setup_ort.sh, "
                  "setup_openvino.sh)")
      .delimiter(',')
      .one_word()
      .one_of({"onnxruntime", "openvino"});
  command.add_flag("--zoo", c->zoo,
                   "MODEL is a folder: a row for each model in it, each in a process of its own, "
                   "as a Markdown page");
  command.add_option("--page", c->page, "with --zoo: FILE.md, where the page is written, too");
}

void add_submission_options(Command command, SubmissionBench* s) {
  command.add_option(
      "--submission", s->out,
      "FILE.json: parameters, bytes, accuracy, latency and throughput, by its schema");
  command.add_option("--baseline", s->baseline,
                     "with --submission: the model that this one was made of, measured in turn");
  command.add_option("--eval", s->eval, "with --submission: labelled data");
  command.add_option("--technique", s->techniques, "with --submission: what was done to the model")
      .one_word();
  command.add_option("--author", s->author, "with --submission: whose it is");
}

}  // namespace

void add_bench(CommandLine& app) {
  auto c = std::make_shared<BenchCommand>();
  Command command = app.add_command("bench", "Measure latency, throughput, memory and load time");
  command
      .add_option("model", c->model,
                  "model.wick, model.onnx or model.tflite; for --submission also a training run's "
                  "folder, for --zoo a folder of models; -: standard input")
      .required()
      .reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command
      .add_option("--batch", c->batches,
                  "batch sizes: 1,8,32 (default: 1 where the model has a choice)")
      .delimiter(',')
      .one_word()
      .at_least(1);
  command.add_option("--dim", c->dims, "NAME=N: a size that is not the batch").one_word();
  command
      .add_option("--input,-i", c->inputs,
                  "[name=]array.npy, one an input: the sizes and values to measure with (default: "
                  "made-up ones); -: standard input")
      .one_word()
      .reads_file();
  accept_entry(command, &c->entry);
  command
      .add_option("--state", c->state,
                  "FILE.npz of wick run --state-out: where an entry point that keeps state begins, "
                  "and begins again when it is full (default: the program's initial values)")
      .reads_file();
  command.add_option("--threads", c->threads, "0: as many as there are (default: 1)").at_least(0);
  accept_backend(command, &c->backend, &c->device);
  accept_kernel_checks(command, &c->checks);
  accept_fallback(command, &c->fallback);
  command.add_option("--seconds", c->seconds, "per batch size, and of a peer (default: 2)")
      .above_zero();
  command.add_flag("--split", c->split, "time by op, those in the regions of If and Loop too");
  accept_offload(command, &c->all_it_can);
  command.add_flag("--profile", c->profile, "time by node and kernel, on a device by dispatch");
  command.add_flag(
      "--roofline", c->roofline,
      "time by node with GFLOP/s, GB/s and what that is of this machine's peaks, which "
      "are measured: compute-bound, memory-bound or overhead (below 10 % of both)");
  command.add_flag("--explain", c->explain, "where each step runs and what it costs there");
  command.add_flag("--load", c->load,
                   "only open the model and a session for its shapes; run nothing");
  add_peer_options(command, c.get());
  add_submission_options(command, &c->submission);
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick bench model.wick --threads 2 --batch 1,8,32\n"
      "  wick bench model.onnx --roofline\n"
      "  wick bench gpt.wick --entry decode --state text.npz\n"
      "  wick bench models --zoo --against onnxruntime,openvino --page zoo.md");
  command.callback([c, command] { bench(*c, command); });
}

}  // namespace wick::tool
