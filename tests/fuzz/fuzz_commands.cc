// Command lines of `wick` with hostile values and files, in this process.
#include <filesystem>
#include <fstream>

#include "runtime/ops/op_id.h"
#include "tests/fuzz/byte_mutate.h"
#include "tests/fuzz/command.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/formats.h"
#include "tests/fuzz/program_seeds.h"
#include "tests/fuzz/scratch.h"

namespace wick::fuzz {
namespace {

enum { kDone, kFailed, kUsage };

struct Spec {
  const char* command;
  std::vector<const char*> words;  // options and positionals, some of which take the next word
  std::vector<const char*> usual;  // the start of a valid line
};

const std::vector<Spec>& specs() {
  static const std::vector<Spec> all = {
      {"inspect",
       {"--json", "--values", "--html", "page.html", "--profile", "--input", "--dim", "--seconds",
        "0.01", "--threads", "--qdq", "--node", "x", "--weights", "--npy", "w.npy"},
       {"MODEL"}},
      {"convert",
       {"-o", "out.wick", "out.onnx", "--external-data", "--own-sizes", "--no-chains", "--pack",
        "--quantized", "-v", "--dim", "--json", "--qdq", "--fold-limit", "1M"},
       {"MODEL", "-o", "out.wick"}},
      {"run",
       {"-i", "x=x.npy", "x=x.json", "x.npy", "-o", "outs", "--backend", "cpu", "--threads",
        "--offload", "--trace", "trace.json", "--explain", "--profile", "--allow-fallback",
        "--strict", "-", "x=-", "--json"},
       {"MODEL", "--threads", "1"}},
      {"compare",
       {"--against", "--data", "nowhere", "--batch", "--dim", "--backend-a", "--backend-b",
        "--tolerance", "--nodes", "--unfused", "--json"},
       {"MODEL", "MODEL"}},
      {"bench",
       {"--batch", "--dim", "-i", "x=x.npy", "--threads", "--backend", "--seconds", "0.01",
        "--split", "--offload", "--profile", "--explain", "--load", "--submission", "--json"},
       {"MODEL", "--seconds", "0.01", "--threads", "1"}},
      {"ops", {"--onnx", "--search", "--json", "--markdown", "Relu", "Loop"}, {}},
      {"report", {"-o", "page.html", "--json"}, {"run"}},
      {"explain", {"--run", "--data", "nowhere", "--batch", "--seed", "--lr", "--json"}, {"MODEL"}},
      {"data", {"-o", "--image", "--count", "--split", "--json"}, {"nowhere"}},
      {"quantize",
       {"--calib", "nowhere", "--eval", "--format", "--recipe", "--observer", "--percentile",
        "--weights", "--activations", "--block", "--per-tensor", "--equalize", "--bias-correction",
        "--skip", "--batches", "--batch", "--dim", "--json"},
       {"MODEL", "--calib", "nowhere", "-o", "q.wick"}},
      {"export",
       {"-o", "out.wick", "--opset", "--external-data", "--no-chains", "--json"},
       {"run"}},
      {"train",
       {"--epochs", "--batch", "--lr", "--seed", "--optimizer", "--weight-decay", "--schedule",
        "--accumulate", "--clip-norm", "--autocast", "--ema", "--val-split", "--patience",
        "--resume", "--json"},
       {"mlp", "--data", "nowhere", "-o", "run"}},
      {"nothing", {"--version", "--help"}, {}},
  };
  return all;
}

std::string value(Dice& dice) {
  const char* const of[] = {"0",
                            "1",
                            "2",
                            "-1",
                            "3",
                            "8",
                            "64",
                            "1e-3",
                            "0.5",
                            "nan",
                            "inf",
                            "-0",
                            "1e999",
                            "",
                            " ",
                            "x",
                            "x=",
                            "=",
                            "x=3",
                            "batch=2",
                            "n=-1",
                            "batch=9223372036854775807",
                            "batch=2=3",
                            "4294967296",
                            "9223372036854775808",
                            "-9223372036854775808",
                            "18446744073709551615",
                            "/dev/null",
                            "/",
                            ".",
                            "..",
                            "nowhere",
                            "MODEL",
                            "--",
                            "-",
                            "\xFF\xFE",
                            "cpu",
                            "integer",
                            "float",
                            "%s%n",
                            "a,b",
                            "1,2,3"};
  return dice.of(of);
}

std::string model(Dice& dice) {
  const char* const of[] = {"model.wick", "model.wick",   "model.wick",   "model.onnx",
                            "model.onnx", "damaged.wick", "damaged.onnx", "nowhere.wick"};
  return dice.of(of);
}

// A command has no time limit: a program that loops for ever is right to do so.
bool loops(const ProgramText& p) {
  for (const auto& e : p.table.entries) {
    for (const auto& r : e->regions) {
      for (const auto& n : r->nodes) {
        if (n->op == static_cast<uint16_t>(OpId::kLoop)) return true;
      }
    }
  }
  return false;
}

void files(Case& c) {
  ProgramText p = draw_program(c.dice);
  if (!c.dice.one_in(4)) mutate(p, c.dice);
  while (loops(p)) p = draw_program(c.dice);
  const std::vector<uint8_t> file = p.file();
  write_file("model.wick", file);
  c.file(file);
  for (const char* name : {"onnx", "npy", "strings", "run", "wick"}) {
    for (const Format& f : formats()) {
      if (std::string_view(f.name) != name) continue;
      static std::vector<std::vector<std::string>> seeds(formats().size());
      auto& own = seeds[static_cast<size_t>(&f - formats().data())];
      if (own.empty()) own = f.seeds();
      std::string bytes = c.dice.of(own);
      const auto put = [&](const std::string& to) {
        write_file(to, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      };
      const std::string kind = name;
      if (kind == "onnx") put("model.onnx");
      mutate_bytes(bytes, bytes, f.words, c.dice);
      if (kind == "onnx" || kind == "wick") put("damaged." + kind);
      if (kind == "npy") put("x.npy");
      if (kind == "strings") put("x.json");
      if (kind != "run") continue;
      std::filesystem::create_directory("run");
      for (const char* in : {"run/config.json", "run/metrics.json", "run/evaluation.json"}) put(in);
    }
  }
}

void run(Case& c) {
  empty_scratch();
  files(c);
  Dice& dice = c.dice;
  const Spec& spec = dice.of(specs());
  std::vector<std::string> words;
  if (!dice.one_in(30)) words.emplace_back(spec.command);
  if (!dice.one_in(8)) words.insert(words.end(), spec.usual.begin(), spec.usual.end());
  for (int k = dice.below(4); k > 0; --k) {
    if (!spec.words.empty() && !dice.one_in(4)) words.emplace_back(dice.of(spec.words));
    if (dice.one_in(2)) words.push_back(value(dice));
  }
  if (dice.one_in(8) && words.size() > 1)
    words.erase(words.begin() + 1 + dice.below(static_cast<int>(words.size()) - 1));
  for (std::string& w : words) {
    if (w == "MODEL") w = model(dice);
  }
  // The data set may be installed, and training on it takes its time.
  if (!words.empty() && words[0] == "train") words.insert(words.end(), {"--data", "nowhere"});
  std::string line = "wick";
  for (const std::string& w : words) line += " '" + w + "'";
  c.say(line);
  const int code = run_command(words);
  if (code < 0 || code > 3) {
    // CLI11's own codes of wrong usage
    if (code < 100 || code > 120) c.fault("the exit code is " + std::to_string(code) + ": " + line);
  }
  c.count(code == 0 ? kDone : code == 2 ? kUsage : kFailed);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  using namespace wick::fuzz;
  return fuzz_main(argc, argv,
                   {"fuzz_commands", {"done", "failed", "wrong usage"}, run, 60, begin_commands});
}
