// A forward that is written in Python as a graph, written to a file.
#include "bind.h"
#include "wick/compile.h"

namespace wick::python {

namespace {

// Holds tensors under dotted names, since a graph names its weights after a tree of modules.
struct Tree : nn::Module {
  void hold(const std::string& path, const Tensor& tensor, bool trained) {
    const size_t dot = path.find('.');
    if (dot == std::string::npos) {
      trained ? register_parameter(path, tensor) : register_buffer(path, tensor);
      return;
    }
    const std::string first = path.substr(0, dot);
    for (const auto& [name, child] : children())
      if (name == first)
        return static_cast<Tree&>(*child).hold(path.substr(dot + 1), tensor, trained);
    auto child = std::make_shared<Tree>();
    register_module(first, child);
    child->hold(path.substr(dot + 1), tensor, trained);
  }
};

ir::Graph graph_of(const nb::list& state, const nb::list& inputs, nb::object call,
                   const nb::list& names, const nb::list& labels) {
  Tree tree;
  for (nb::handle each : state)
    tree.hold(nb::cast<std::string>(each[0]), nb::cast<Tensor>(each[1]), nb::cast<bool>(each[2]));
  tree.eval();
  std::vector<CaptureInput> given;
  for (nb::handle each : inputs) {
    CaptureInput input{nb::cast<std::string>(each[0]), nb::cast<Tensor>(each[1])};
    for (auto [dim, bounds] : nb::cast<nb::dict>(each[2]))
      input.dynamic.push_back({nb::cast<int>(dim), nb::cast<std::string>(bounds[0]),
                               nb::cast<int64_t>(bounds[1]), nb::cast<int64_t>(bounds[2])});
    given.push_back(std::move(input));
  }
  CaptureOptions options;
  for (nb::handle name : names) options.outputs.push_back(nb::cast<std::string>(name));
  for (nb::handle label : labels) options.labels.push_back(nb::cast<std::string>(label));
  return capture_call(
      tree, given,
      [&](const std::vector<Tensor>& in) {
        nb::list arguments;
        for (const Tensor& t : in) arguments.append(t);
        return nb::cast<std::vector<Tensor>>(call(*arguments));
      },
      options);
}

}  // namespace

void bind_export(nb::module_& m) {
  m.def("_export",
        [](const nb::list& state, const nb::list& inputs, nb::object call, const nb::list& names,
           const nb::list& labels, const std::string& path, int64_t opset) {
          ir::Graph graph = graph_of(state, inputs, std::move(call), names, labels);
          if (path.ends_with(".wick")) {
            export_wick(std::move(graph), path);
          } else {
            OnnxFileOptions options;
            options.opset = opset;
            export_onnx(graph, path, options);
          }
        });
}

}  // namespace wick::python
