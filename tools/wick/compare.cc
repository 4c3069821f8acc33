// wick compare: two models on the same inputs, output by output, and the first node that differs.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/lib/arrays.h"
#include "tools/lib/difference.h"
#include "tools/lib/kept_state.h"
#include "tools/lib/model.h"
#include "tools/lib/node_counts.h"
#include "tools/lib/node_trace.h"
#include "tools/lib/oracle.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/text.h"
#include "tools/lib/verify/onnxruntime.h"
#include "tools/wick/command.h"
#include "tools/wick/forms.h"
#include "tools/wick/json.h"
#include "tools/wick/placement.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// Reports a difference from ONNX Runtime, and how much of it may be ONNX Runtime's own.
[[noreturn]] void differs(bool from_onnxruntime) {
  if (from_onnxruntime && onnxruntime_saturates()) {
    fmt::print(
        stderr,
        "note: ONNX Runtime's products of uint8 with int8 saturate on this CPU (x86 without "
        "VNNI), so a quantized model with weights of 8 bits gets other results there; compare on "
        "a CPU with VNNI or ARM's, or add --nodes --unfused\n");
  }
  throw Differs{};
}

void compare_nodes(const CompareCommand& c, Span<const HostTensor> inputs) {
  const NodeCounts counts = count_by_node(c.a, inputs, !c.unfused);
  const bool within = counts.within(c.tolerance);
  if (c.json) {
    nlohmann::json doc = json_of(counts);
    doc["within_tolerance"] = within;
    print_json(doc);
  } else {
    fmt::print("{}", counts.text(c.tolerance));
  }
  if (!within) differs(true);
}

constexpr int64_t kStateSteps = 3;

// Returns the names and types of what a program keeps: "length int64[1] keys.0 float32[8,1,2,4]".
std::string kept_text(const RecurrentState& state) {
  std::string text;
  for (size_t i = 0; i < state.size(); ++i) {
    const TensorView v = state.value(i);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " ", state.name(i), dtype_name(v.dtype),
                        to_text(v.shape).text);
  }
  return text;
}

// Gives both programs the state that they begin with, where they keep any.
void remember_both(const CompareCommand& c, const Model& a, Runner* run_a, const Model& b,
                   Runner* run_b, Span<const HostTensor> inputs) {
  const bool keeps = run_a->keeps_state();
  if (keeps != run_b->keeps_state()) {
    throw Error(fmt::format("{} keeps state between runs and {} keeps none: two forms of one "
                            "program are compared, --entry chooses what of both runs",
                            keeps ? c.a : c.b, keeps ? c.b : c.a),
                Code::kUnsupported);
  }
  if (!keeps) return;
  run_a->remember(make_state(a.program(), run_a->session(), {inputs, c.dims, {}}));
  run_b->remember(make_state(b.program(), run_b->session(), {inputs, c.dims, {}}));
  const std::string of_a = kept_text(*run_a->state()), of_b = kept_text(*run_b->state());
  if (of_a != of_b) {
    throw Error(fmt::format("{} keeps {}, and {} keeps {}: two forms of one program are compared",
                            c.a, of_a, c.b, of_b),
                Code::kUnsupported);
  }
}

// Runs a step of both on the same inputs.
std::vector<HostTensor> run_step(const std::string& model, Runner* runner,
                                 Span<const HostTensor> inputs, int64_t step) {
  try {
    return runner->run(inputs);
  } catch (const Error& e) {
    if (step == 0 || e.code() != Code::kInvalidArgument) throw;
    throw Error(fmt::format("{}, step {}: {}; --steps {} compares what there is room for", model,
                            step + 1, e.what(), step),
                e.code());
  }
}

// The differences of a run of both, or of several from the same state.
struct Compared {
  std::vector<Shape> shapes;
  std::vector<Difference> outputs, states;
};

Compared compared(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) throw Error(fmt::format("{} outputs against {}", a.size(), b.size()));
  Compared all;
  for (size_t i = 0; i < a.size(); ++i) {
    all.shapes.push_back(a[i].shape());
    all.outputs.push_back(difference(a[i], b[i]));
  }
  return all;
}

Compared run_both(const CompareCommand& c, Runner* run_a, Runner* run_b,
                  Span<const HostTensor> inputs) {
  const int64_t steps = !run_a->keeps_state() ? 1 : c.steps > 0 ? c.steps : kStateSteps;
  Compared all;
  for (int64_t step = 0; step < steps; ++step) {
    const Compared now =
        compared(run_step(c.a, run_a, inputs, step), run_step(c.b, run_b, inputs, step));
    if (step == 0) all = now;
    for (size_t i = 0; step > 0 && i < all.outputs.size(); ++i)
      all.outputs[i].merge(now.outputs[i]);
  }
  if (!run_a->keeps_state()) return all;
  const std::vector<HostTensor> a = state_values(*run_a->state()),
                                b = state_values(*run_b->state());
  for (size_t i = 0; i < a.size(); ++i) all.states.push_back(difference(a[i], b[i]));
  if (!c.json) {
    fmt::print("each run {} times on the same inputs, from the state that it begins with\n", steps);
  }
  return all;
}

}  // namespace

void compare(const CompareCommand& c) {
  if (c.b.empty() == c.against.empty())
    wrong_usage("b", "compare needs a second model or --against onnxruntime, one of them");
  if (c.nodes && c.against.empty()) wrong_usage("--nodes", "is for --against onnxruntime");
  if (c.steps > 0 && !c.against.empty())
    wrong_usage("--steps", "is for two programs that keep state between runs");
  if (c.unfused && !c.nodes) wrong_usage("--unfused", "is for --nodes");
  if (!c.against.empty() && c.backend_b != "cpu")
    wrong_usage("--backend-b", "is for a second model");
  if (c.nodes && c.backend_a != "cpu")
    wrong_usage("--backend-a", "is not for --nodes, which runs nodes on the CPU");
  check_fallback(c.fallback, c.backend_a == "vulkan" || c.backend_b == "vulkan",
                 "--backend-a vulkan and --backend-b vulkan");
  Model a = Model::open_whole(c.a, {.lower_qdq = c.lower_qdq});
  if (!c.against.empty() && !a.graph())
    throw Error(c.a + " is a .wick file; ONNX Runtime takes the ONNX file it was made of");
  if (!c.against.empty()) need_onnx(c.a, "--against onnxruntime");
  NodeTrace nodes_a, nodes_b;
  Runner run_a(
      a,
      {.backend = c.backend_a, .trace = &nodes_a, .or_cpu = c.fallback.allowed, .entry = c.entry});
  std::vector<HostTensor> inputs =
      c.data.empty() ? sample_inputs(run_a.session(), a.program(), {c.batch, 4, c.dims}).inputs
                     : named_arrays(run_a.session(), a.program(), c.data);
  if (c.nodes) return compare_nodes(c, inputs);
  Compared all;
  if (!c.against.empty()) {
    const std::vector<HostTensor> out_a = run_a.run(inputs);
    std::vector<std::string> names, outputs;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(run_a.session().input(i).name);
    for (size_t i = 0; i < out_a.size(); ++i) outputs.push_back(run_a.session().output(i).name);
    std::vector<HostTensor> theirs = run_onnxruntime(c.a, names, inputs, outputs);
    for (size_t i = 0; i < theirs.size(); ++i)  // their files have no bfloat16
      theirs[i] = as_given(std::move(theirs[i]), out_a[i].dtype(), outputs[i]);
    all = compared(out_a, theirs);
  } else {
    Model b = Model::open(c.b, {.lower_qdq = c.lower_qdq});
    Runner run_b(b, {.backend = c.backend_b,
                     .trace = &nodes_b,
                     .or_cpu = c.fallback.allowed,
                     .entry = c.entry});
    if (run_b.session().input_count() != inputs.size()) {
      throw Error(
          fmt::format("{} takes {} inputs, {} takes {}; two forms of one model are compared", c.a,
                      inputs.size(), c.b, run_b.session().input_count()));
    }
    remember_both(c, a, &run_a, b, &run_b, inputs);
    if (c.steps > 0 && !run_a.keeps_state())
      wrong_usage("--steps", "is for programs that keep state between runs; these keep none");
    all = run_both(c, &run_a, &run_b, inputs);
    if (c.fallback.refused && c.backend_b == "vulkan") refuse_fallback(&run_b);
  }
  if (c.fallback.refused && c.backend_a == "vulkan") refuse_fallback(&run_a);
  auto outputs = nlohmann::json::array(), states = nlohmann::json::array();
  bool close = true, equal = true;
  const auto tell = [&](const Difference& d, const char* kind, const char* name, const Shape& shape,
                        nlohmann::json* rows) {
    close = close && d.comparable && d.max_rel <= c.tolerance;
    equal = equal && d.bits;
    rows->push_back(json_of(d));
    rows->back()["name"] = name;
    if (!c.json) fmt::print("{}{} {}: {}\n", kind, one_line(name), to_text(shape).text, d.text());
  };
  for (size_t i = 0; i < all.outputs.size(); ++i)
    tell(all.outputs[i], "", run_a.session().output(i).name, all.shapes[i], &outputs);
  for (size_t i = 0; i < all.states.size(); ++i) {
    const RecurrentState& state = *run_a.state();
    tell(all.states[i], "state ", state.name(i), state.value(i).shape, &states);
  }
  // Compares bits between two of our own models; ONNX Runtime promises none.
  std::string first;
  if (c.against.empty() && !equal) {
    first = first_difference(nodes_a, nodes_b, 0);
  } else if (!c.against.empty() && !close) {
    VerifyRow row;
    compare_with_onnxruntime(c.a, inputs, c.tolerance, &row);
    first = row.first ? row.first->text() : "";
  }
  if (c.json) {
    nlohmann::json doc = {
        {"outputs", outputs}, {"first_different_node", first}, {"within_tolerance", close}};
    if (!states.empty()) doc["states"] = states;
    print_json(doc);
  } else if (!first.empty()) {
    fmt::print("first node that differs: {}\n", one_line(first));
  } else if (!c.against.empty() && !close) {
    fmt::print("no node alone is beyond the tolerance: the differences of several add up\n");
  }
  if (!close) differs(!c.against.empty());
}

void add_compare(CommandLine& app) {
  auto c = std::make_shared<CompareCommand>();
  Command command = app.add_command("compare", "Compare two models, or one with ONNX Runtime");
  command.add_option("a", c->a, "model.wick, model.onnx or model.tflite; -: standard input")
      .required()
      .reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command.add_option("b", c->b, "model.wick, model.onnx or model.tflite").reads_file();
  command.add_option("--against", c->against, "onnxruntime (the first model must be ONNX)")
      .one_of({"onnxruntime"});
  command
      .add_option("--data,--input", c->data,
                  "[name=]array.npy, one an input; else pseudo-random inputs")
      .reads_file();
  command
      .add_option("--batch", c->batch,
                  "of pseudo-random inputs (default: 4 where the model has a choice)")
      .at_least(1);
  command.add_option("--dim", c->dims, "NAME=N: a size that is not the batch")
      .one_word()
      .named_size();
  accept_entry(command, &c->entry);
  command
      .add_option("--steps", c->steps,
                  "of programs that keep state between runs: how often both run, from the state "
                  "that they begin with (default: 3)")
      .at_least(1);
  command.add_option("--backend-a", c->backend_a, "where A runs").one_of({"cpu", "vulkan"});
  command.add_option("--backend-b", c->backend_b, "where B runs").one_of({"cpu", "vulkan"});
  accept_fallback(command, &c->fallback);
  command
      .add_option("--tolerance", c->tolerance,
                  "largest difference over the largest output; beyond it exit 3")
      .not_negative();
  command.add_flag("--nodes", c->nodes,
                   "a quantized model node by node, on ONNX Runtime's own inputs of each: how many "
                   "results are a step or more apart, by class");
  command.add_flag("--unfused", c->unfused,
                   "with --nodes: ONNX Runtime runs the file's operators one by one");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick compare model.wick model.onnx\n  wick compare model.onnx --against "
      "onnxruntime");
  command.callback([c] { compare(*c); });
}

}  // namespace wick::tool
