#include "tools/wick/written.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "tools/wick/verify/verify_report.h"
#include "wick/error.h"

namespace wick::tool {

using Verdict = VerifyRow::Verdict;

void accept_checks(Command command, CheckOptions* options, bool passes) {
  command.add_flag("--no-verify", options->no_verify,
                   "do not run the file beside the graph it was made of (one small shape)");
  if (!passes) return;
  command.add_flag("--check-passes", options->check_passes,
                   "run each pass's before and after on a sample, also where that takes long");
  command.add_flag("--strict", options->strict, "exit 3 where a pass broke its promise");
}

void accept_form(Command command, ProgramForm* form) {
  command.add_flag("--strip-names", form->strip_names,
                   "a .wick without the names of nodes, constants and values inside");
  command.add_flag_callback(
      "--in-place", [form] { form->compact = false; },
      "a .wick whose table is not compressed: read where it lies (in flash), and by older "
      "versions");
}

void check_form(const ProgramForm& form, const std::vector<std::string>& out) {
  const auto onnx = [](const std::string& file) { return ends_with(file, ".onnx"); };
  if (out.empty() || !std::all_of(out.begin(), out.end(), onnx)) return;
  for (const auto& [option, given] :
       {std::pair<const char*, bool>{"--strip-names", form.strip_names},
        {"--in-place", !form.compact}}) {
    if (given) wrong_usage(option, "is for .wick files; name one: -o FILE.wick");
  }
}

ir::PassReport Written::optimize(ir::Graph* graph, bool chains,
                                 const std::vector<std::string>& dims, Products products,
                                 uint64_t fold_bytes) {
  CheckPasses check{chains, products, !options_.no_verify, options_.check_passes, dims, fold_bytes};
  ir::PassReport report = optimize_checked(graph, check);
  for (const ir::PassFault& f : report.undone) {
    fmt::print(stderr, "wick: the pass {} broke its promise and was undone: {}{}{}: {}\n", f.pass,
               f.node, f.value.empty() ? "" : ", value ", f.value, f.why);
  }
  undone_.insert(undone_.end(), report.undone.begin(), report.undone.end());
  return report;
}

nlohmann::json Written::verify(const ir::Graph& graph, const std::string& path,
                               const CheckFile& check, const std::string& called) {
  if (options_.no_verify) return nullptr;
  VerifyRow row;
  try {
    row = verify_file(graph, path, check);
  } catch (const Error& e) {  // the file exists and is whole; nothing more is known of it
    row.verdict = Verdict::kSkipped;
    row.why = e.what();
  }
  if (row.verdict == Verdict::kSkipped) {
    const std::string& name = called.empty() ? path : called;
    const std::string models =
        called.empty() ? shell_quote(source_) + " " + shell_quote(path) : shell_quote(called);
    fmt::print(stderr, "note: {} was not verified: {}; wick verify {}\n", name, row.why, models);
  }
  if (row.verdict == Verdict::kEqual && !row.why.empty())
    fmt::print(stderr, "note: {} was verified at {}: {}\n", called.empty() ? path : called,
               row.sizes, row.why);
  if (row.verdict == Verdict::kDiffers) {
    differs_ = true;
    fmt::print(stderr, "wick: {} differs from the graph it was made of: {}\n", path,
               row.first->text());
  }
  nlohmann::json doc = {{"verdict", verdict_name(row.verdict)}, {"sizes", row.sizes}};
  if (!row.why.empty()) doc["why"] = row.why;
  if (row.first) doc["first"] = json_of(*row.first);
  return doc;
}

nlohmann::json Written::undone() const {
  auto list = nlohmann::json::array();
  for (const ir::PassFault& f : undone_)
    list.push_back({{"pass", f.pass}, {"node", f.node}, {"value", f.value}, {"why", f.why}});
  return list;
}

void Written::finish() const {
  if (differs_ || (options_.strict && !undone_.empty())) throw Differs{};
}

}  // namespace wick::tool
