// wick compare: two models on the same inputs, output by output, and the first node that differs.
#include <fmt/format.h>

#include "tools/wick/arrays.h"
#include "tools/wick/command.h"
#include "tools/wick/difference.h"
#include "tools/wick/model.h"
#include "tools/wick/node_trace.h"
#include "tools/wick/oracle.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct CompareCommand {
  std::string a, b, against, backend_a = "cpu", backend_b = "cpu";
  std::vector<std::string> data;
  int64_t batch = 4;
  double tolerance = 1e-5;
  bool json = false;
};

// Pseudo-random inputs when no data is given: symbols take `batch`.
std::vector<HostTensor> sample_inputs(const Session& session, int64_t batch) {
  std::vector<HostTensor> inputs;
  uint64_t state = 1;
  for (size_t i = 0; i < session.input_count(); ++i) {
    PortInfo port = session.input(i);
    if (port.unranked) throw Error(fmt::format("input '{}' has no rank: give --data", port.name));
    Shape shape;
    for (const DimDef& d : port.dims) shape.push_back(d.symbol >= 0 ? batch : d.value);
    HostTensor t(port.dtype, shape);
    for (int64_t k = 0; k < t.numel(); ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      auto u = static_cast<float>(state >> 40) * 0x1p-24f;
      if (port.dtype == DType::kF32) t.as<float>()[k] = u * 2 - 1;
      if (port.dtype == DType::kU8) t.as<uint8_t>()[k] = static_cast<uint8_t>(u * 256);
      if (port.dtype == DType::kI64) t.as<int64_t>()[k] = static_cast<int64_t>(u * 4);
    }
    inputs.push_back(t);
  }
  return inputs;
}

void compare(const CompareCommand& c) {
  if (c.b.empty() == c.against.empty())
    wrong_usage("b", "compare needs a second model or --against onnxruntime, one of them");
  Model a = Model::open(c.a);
  if (!c.against.empty() && !a.graph())
    throw Error(c.a + " is a .wick file; ONNX Runtime takes the ONNX file it was made of");
  NodeTrace nodes_a, nodes_b;
  Runner run_a(a, {c.backend_a, 0, false, &nodes_a});
  std::vector<HostTensor> inputs = c.data.empty()
                                       ? sample_inputs(run_a.session(), c.batch)
                                       : named_arrays(run_a.session(), a.program(), c.data);
  std::vector<HostTensor> out_a = run_a.run(inputs), out_b;
  if (!c.against.empty()) {
    std::vector<std::string> names, outputs;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(run_a.session().input(i).name);
    for (size_t i = 0; i < out_a.size(); ++i) outputs.push_back(run_a.session().output(i).name);
    out_b = run_onnxruntime(c.a, names, inputs, outputs);
  } else {
    Model b = Model::open(c.b);
    Runner run_b(b, {c.backend_b, 0, false, &nodes_b});
    if (run_b.session().input_count() != inputs.size()) {
      throw Error(fmt::format("{} takes {} inputs, {} takes {}", c.a, inputs.size(), c.b,
                              run_b.session().input_count()));
    }
    out_b = run_b.run(inputs);
  }
  if (out_a.size() != out_b.size())
    throw Error(fmt::format("{} outputs against {}", out_a.size(), out_b.size()));
  auto outputs = nlohmann::json::array();
  bool close = true;
  for (size_t i = 0; i < out_a.size(); ++i) {
    Difference d = difference(out_a[i], out_b[i]);
    close = close && d.comparable && d.max_rel <= c.tolerance;
    nlohmann::json row = d.json();
    row["name"] = run_a.session().output(i).name;
    outputs.push_back(row);
    if (!c.json)
      fmt::print("{} {}: {}\n", row["name"].get<std::string>(), to_text(out_a[i].shape()).text,
                 d.text());
  }
  // By bits between two of our own; ONNX Runtime promises none.
  std::string first;
  if (c.against.empty()) {
    first = first_difference(nodes_a, nodes_b, 0);
  } else if (!close) {
    first = first_difference_from_onnxruntime(*a.graph(), inputs, c.tolerance);
  }
  if (c.json)
    print_json(
        {{"outputs", outputs}, {"first_different_node", first}, {"within_tolerance", close}});
  else if (!first.empty())
    fmt::print("first node that differs: {}\n", first);
  if (!close) throw Differs{};
}

}  // namespace

void add_compare(CLI::App& app) {
  auto c = std::make_shared<CompareCommand>();
  CLI::App* command = app.add_subcommand("compare", "Compare two models, or one with ONNX Runtime");
  command->add_option("a", c->a, "model.wick or model.onnx")->required();
  command->add_option("b", c->b, "model.wick or model.onnx");
  command->add_option("--against", c->against, "onnxruntime (the first model must be ONNX)")
      ->check(CLI::IsMember({"onnxruntime"}));
  command->add_option("--data,--input", c->data,
                      "[name=]array.npy, one an input; else pseudo-random inputs");
  command->add_option("--batch", c->batch, "of pseudo-random inputs");
  command->add_option("--backend-a", c->backend_a)->check(CLI::IsMember({"cpu", "vulkan"}));
  command->add_option("--backend-b", c->backend_b)->check(CLI::IsMember({"cpu", "vulkan"}));
  command->add_option("--tolerance", c->tolerance,
                      "largest difference over the largest output; beyond it exit 3");
  command->add_flag("--json", c->json, "print JSON");
  command->footer(
      "Example:\n  wick compare model.wick model.onnx\n  wick compare model.onnx --against "
      "onnxruntime");
  command->callback([c] { compare(*c); });
}

}  // namespace wick::tool
