// wick compare: two models on the same inputs, output by output, and the first node that differs.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/lib/arrays.h"
#include "tools/lib/difference.h"
#include "tools/lib/model.h"
#include "tools/lib/node_counts.h"
#include "tools/lib/node_trace.h"
#include "tools/lib/oracle.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/forms.h"
#include "tools/wick/json.h"
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

}  // namespace

void compare(const CompareCommand& c) {
  if (c.b.empty() == c.against.empty())
    wrong_usage("b", "compare needs a second model or --against onnxruntime, one of them");
  if (c.nodes && c.against.empty()) wrong_usage("--nodes", "is for --against onnxruntime");
  if (c.unfused && !c.nodes) wrong_usage("--unfused", "is for --nodes");
  Model a = Model::open_whole(c.a, {.lower_qdq = c.lower_qdq});
  if (!c.against.empty() && !a.graph())
    throw Error(c.a + " is a .wick file; ONNX Runtime takes the ONNX file it was made of");
  if (!c.against.empty()) need_onnx(c.a, "--against onnxruntime");
  NodeTrace nodes_a, nodes_b;
  Runner run_a(a, {c.backend_a, 0, false, &nodes_a});
  std::vector<HostTensor> inputs =
      c.data.empty() ? sample_inputs(run_a.session(), a.program(), {c.batch, 4, c.dims}).inputs
                     : named_arrays(run_a.session(), a.program(), c.data);
  if (c.nodes) return compare_nodes(c, inputs);
  std::vector<HostTensor> out_a = run_a.run(inputs), out_b;
  if (!c.against.empty()) {
    std::vector<std::string> names, outputs;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(run_a.session().input(i).name);
    for (size_t i = 0; i < out_a.size(); ++i) outputs.push_back(run_a.session().output(i).name);
    out_b = run_onnxruntime(c.a, names, inputs, outputs);
  } else {
    Model b = Model::open(c.b, {.lower_qdq = c.lower_qdq});
    Runner run_b(b, {c.backend_b, 0, false, &nodes_b});
    if (run_b.session().input_count() != inputs.size()) {
      throw Error(
          fmt::format("{} takes {} inputs, {} takes {}; two forms of one model are compared", c.a,
                      inputs.size(), c.b, run_b.session().input_count()));
    }
    out_b = run_b.run(inputs);
  }
  if (out_a.size() != out_b.size())
    throw Error(fmt::format("{} outputs against {}", out_a.size(), out_b.size()));
  auto outputs = nlohmann::json::array();
  bool close = true, equal = true;
  for (size_t i = 0; i < out_a.size(); ++i) {
    Difference d = difference(out_a[i], out_b[i]);
    close = close && d.comparable && d.max_rel <= c.tolerance;
    equal = equal && d.bits;
    nlohmann::json row = json_of(d);
    row["name"] = run_a.session().output(i).name;
    outputs.push_back(row);
    if (!c.json)
      fmt::print("{} {}: {}\n", one_line(row["name"].get<std::string>()),
                 to_text(out_a[i].shape()).text, d.text());
  }
  // Compares bits between two of our own models; ONNX Runtime promises none.
  std::string first;
  if (c.against.empty() && !equal) {
    first = first_difference(nodes_a, nodes_b, 0);
  } else if (!c.against.empty() && !close) {
    first = first_difference_from_onnxruntime(*a.graph(), inputs, c.tolerance);
  }
  if (c.json)
    print_json(
        {{"outputs", outputs}, {"first_different_node", first}, {"within_tolerance", close}});
  else if (!first.empty())
    fmt::print("first node that differs: {}\n", one_line(first));
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
  command.add_option("--backend-a", c->backend_a, "where A runs").one_of({"cpu", "vulkan"});
  command.add_option("--backend-b", c->backend_b, "where B runs").one_of({"cpu", "vulkan"});
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
