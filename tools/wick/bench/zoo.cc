#include "tools/wick/bench/zoo.h"

#include <fmt/core.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tools/lib/peer.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"
#include "tools/wick/bench/machine.h"
#include "tools/wick/bench/zoo_page.h"
#include "tools/wick/command.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

// Returns what a process had to say, without the program's name: its message's first line, and the
// first of the list that such a line may announce.
std::string reason_in(const std::string& file) {
  std::ifstream in(file);
  std::string said;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("wick: ", 0) == 0) line = line.substr(6);
    line.erase(0, line.find_first_not_of(' '));
    if (line.empty()) continue;
    said += (said.empty() ? "" : " ") + line;
    if (!said.ends_with(':')) break;
  }
  return said.empty() ? "it ended without a word" : shortened(one_line(said));
}

// Runs `wick bench` with these words; returns the row that it prints, or {"error": why}.
nlohmann::json row_of(const std::vector<std::string>& words) {
  const ScratchFolder scratch;
  const std::string said = scratch.file("stderr");
  std::string line = shell_quote(fs::read_symlink("/proc/self/exe").string()) + " bench";
  for (const std::string& word : words) line += " " + shell_quote(word);
  const Finished f = shell(line + " 2>" + shell_quote(said));
  if (f.code != 0) return {{"error", reason_in(said)}};
  return read_json(f.out, "wick bench").at(0);
}

// Keeps those sizes that the model has; what it lacks is another model's. A model that does not
// open has none, and its row says why.
std::vector<std::string> own_dims(const BenchCommand& c, const ZooModel& zoo,
                                  std::set<std::string>* known) {
  std::vector<std::string> own;
  try {
    const Model model = Model::open(zoo.path, {.lower_qdq = c.lower_qdq});
    for (const std::string& dim : c.dims) {
      for (const SymbolDef& s : model.program().symbols()) {
        if (dim.substr(0, dim.rfind('=')) != s.name) continue;
        own.insert(own.end(), {"--dim", dim});
        known->insert(dim);
      }
    }
  } catch (const Error&) {
  }
  return own;
}

// Returns the words of each model's command line.
std::vector<std::vector<std::string>> command_lines(const BenchCommand& c,
                                                    const std::vector<ZooModel>& models,
                                                    const std::vector<std::string>& passed) {
  std::vector<std::vector<std::string>> lines;
  std::set<std::string> known;
  for (const ZooModel& model : models) {
    std::vector<std::string> words = {model.path,  "--json",
                                      "--threads", std::to_string(c.threads),
                                      "--seconds", fmt::format("{}", c.seconds)};
    if (!c.lower_qdq) words.insert(words.end(), {"--qdq", "float"});
    words.insert(words.end(), passed.begin(), passed.end());
    for (const std::string& input : model.inputs) words.insert(words.end(), {"--input", input});
    if (!c.dims.empty() && model.inputs.empty()) {
      const std::vector<std::string> own = own_dims(c, model, &known);
      words.insert(words.end(), own.begin(), own.end());
    }
    lines.push_back(std::move(words));
  }
  for (const std::string& dim : c.dims) {
    if (known.count(dim) == 0)
      wrong_usage("--dim", fmt::format("no model of the folder has a size for '{}'", dim));
  }
  return lines;
}

nlohmann::json about_zoo(const BenchCommand& c) {
  std::string line = "wick bench FOLDER --zoo";
  line += fmt::format(" --threads {} --seconds {}", c.threads, c.seconds);
  for (const std::string& dim : c.dims) line += " --dim " + shell_quote(dim);
  if (!c.lower_qdq) line += " --qdq float";
  for (const std::string& peer : c.against) line += " --against " + peer;
  return {{"date", today()},
          {"cpu", cpu_name()},
          {"logical_cpus", std::thread::hardware_concurrency()},
          {"wick", WICK_VERSION},
          {"seconds", c.seconds},
          {"command", line}};
}

}  // namespace

void bench_zoo(const BenchCommand& c, const std::vector<std::string>& passed) {
  const std::vector<ZooModel> models = zoo_models(c.model);
  const std::vector<std::vector<std::string>> lines = command_lines(c, models, passed);
  nlohmann::json doc = {{"about", about_zoo(c)}, {"models", nlohmann::json::array()}};
  size_t missing = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    fmt::print(stderr, "{} of {}: {}\n", i + 1, models.size(), one_line(models[i].name));
    nlohmann::json row = row_of(lines[i]);
    row["model"] = models[i].name;
    missing += row.contains("error") ? 1 : 0;
    const bool both = !row.contains("error") && models[i].path.ends_with(".onnx");
    for (const std::string& peer : both ? c.against : std::vector<std::string>()) {
      std::vector<std::string> words = lines[i];
      words.insert(words.end(), {"--against", peer});
      nlohmann::json pair = row_of(words);
      const bool failed = pair.contains("error");
      missing += failed ? 1 : 0;
      row["against"][peer] = failed ? pair : pair.at("against").at(0);
    }
    doc["models"].push_back(std::move(row));
  }
  const std::string page = zoo_page(doc);
  if (c.json) {
    print_json(doc);
  } else {
    fmt::print("{}", page);
  }
  if (!c.page.empty()) write_text(c.page, page);
  if (missing > 0)
    throw Error(
        fmt::format("{} of the zoo's figures could not be measured: the page says which and "
                    "why",
                    missing));
}

}  // namespace wick::tool
