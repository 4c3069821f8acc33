#include "tools/wick/inspect_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/lib/arrays.h"
#include "tools/lib/kept_state.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/inspect_document.h"
#include "tools/wick/page/page.h"
#include "tools/wick/page/page_data.h"
#include "tools/wick/places.h"
#include "tools/wick/trained.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

Model open_model(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return Model::open_whole(path);
  return Model::from_graph(capture_trained(open_trained(path)), true);
}

std::vector<HostTensor> chosen_inputs(const InspectPage& c, const Session& session,
                                      const Program& program) {
  if (!c.inputs.empty()) return named_arrays(session, program, c.inputs);
  return sample_inputs(session, program, {.batch = std::nullopt, .named = c.dims}).inputs;
}

// Makes a few warm-up runs, then as many as fit into the time.
void profile(const InspectPage& c, Session& session, RecurrentState* state,
             Span<const TensorView> in, NodeTimes& times, std::vector<double>* run_ms) {
  std::vector<TensorView> out(session.output_count());
  auto once = [&] {
    for (TensorView& v : out) v = TensorView();
    if (state != nullptr) state->reset();  // every run is a first one
    check(session.run(in, out, {.timeout_ns = time_left_ns(), .state = state}), "run");
  };
  for (int i = 0; i < 2; ++i) once();
  times.clear();
  for (double end = now_ms() + c.seconds * 1e3; now_ms() < end || run_ms->size() < 5;) {
    const double begin = now_ms();
    once();
    run_ms->push_back(now_ms() - begin);
  }
  std::sort(run_ms->begin(), run_ms->end());
}

constexpr double kOneRun = 5;  // seconds: a model may run for ever

// Returns what sizes may take that nobody asked for: weights are held as they are, and packed.
uint64_t quick_bytes(const Program& program) {
  uint64_t weights = 0;
  for (const ConstantDef& k : program.constants()) weights += k.view.nbytes();
  return 2 * kQuickHeld + 2 * weights;
}

// Measures the sizes that the page shows, and the times: everything that needs a session. `asked`:
// the user said what to measure, or on which inputs.
void measure(const InspectPage& c, const Model& model, bool asked, NodeTimes& times,
             PageSource* page) {
  // A .wick has no sizes that are expressions: a run tells them.
  const bool runs = c.profile || !model.compiled();
  std::optional<QuickLimits> limits;
  if (!asked && runs) limits.emplace(quick_bytes(model.program()), kOneRun);
  Runner runner(model, {.threads = c.threads, .trace = runs ? &times : nullptr, .entry = c.entry});
  Session& session = runner.session();
  const std::vector<HostTensor> inputs = [&] {
    const QuickLimits made(asked ? UINT64_MAX : kQuickHeld, 0);
    return chosen_inputs(c, session, model.program());
  }();
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) {
    page->inputs.push_back(t.shape());
    in.push_back(t.view());
  }
  if (runner.keeps_state())
    runner.remember(make_state(model.program(), session, {inputs, c.dims, {}}));
  page->threads = session.threads();
  if (runs) page->times = &times;
  if (c.profile) {
    profile(c, session, runner.state(), in, times, &page->run_ms);
  } else if (runs) {
    std::vector<TensorView> out(session.output_count());
    check(session.run(in, out, {.timeout_ns = time_left_ns(), .state = runner.state()}), "run");
  } else {
    check(session.bind(page->inputs), "bind");
  }
  page->arena_bytes = session.arena_bytes();
  page->packed_bytes = session.packed_bytes();
}

}  // namespace

void write_inspect_page(const InspectPage& c) {
  if (!c.inputs.empty() && !c.dims.empty())
    wrong_usage("--dim", "the arrays of --input have sizes of their own");
  check_places({c.model}, {{"--html", c.out}});
  const Model model = open_model(c.model);
  PageSource page;
  page.title = c.model;
  page.model = &model;
  page.entry = &entry_named(model.program(), c.entry);
  page.made_inputs = c.inputs.empty();
  NodeTimes times;
  if (c.profile || !c.inputs.empty() || !c.dims.empty()) {
    measure(c, model, true, times, &page);
  } else {
    try {
      measure(c, model, false, times, &page);
    } catch (const std::exception& why) {  // the graph can still be shown
      page.inputs.clear();
      page.times = nullptr;
      page.no_sizes = why.what();
    }
  }
  const nlohmann::json data = page_data(page);
  const std::string html = html_page(data);
  write_text(c.out, html);
  if (c.json) {
    return print_json({{"file", c.out},
                       {"bytes", html.size()},
                       {"nodes", data["nodes"].size()},
                       {"entry", page.entry->name},
                       {"runs", page.run_ms.size()}});
  }
  fmt::print("{}: {} nodes, {} constants, {:.1f} KB", c.out, data["nodes"].size(),
             data["constants"].size(), static_cast<double>(html.size()) / 1e3);
  if (c.profile)
    fmt::print("; median of {} runs {:.4f} ms", page.run_ms.size(),
               page.run_ms[page.run_ms.size() / 2]);
  if (!page.no_sizes.empty()) fmt::print("; sizes are left open: {}", page.no_sizes);
  const nlohmann::json& about = data["model"];
  if (about.contains("entry")) {
    fmt::print("; of the entry point {}, --entry shows:", one_line(page.entry->name));
    for (const auto& other : about["other_entries"])
      fmt::print(" {}", one_line(other.get<std::string>()));
  }
  fmt::print("\n");
}

}  // namespace wick::tool
