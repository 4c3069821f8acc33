#include "tools/serve/protocol.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/serve/options.h"
#include "tools/serve/tensors.h"

namespace wick::serve {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "request";  // in messages

std::optional<JsonPlace> parameter(const JsonPlace& of, const char* name) {
  if (!of.has("parameters")) return std::nullopt;
  const JsonPlace all = of.at("parameters");
  if (!all.value().is_object()) all.refuse("an object");
  if (!all.has(name)) return std::nullopt;
  return all.at(name);
}

bool flag(const JsonPlace& of, const char* name, bool otherwise) {
  const std::optional<JsonPlace> value = parameter(of, name);
  return value ? value->boolean() : otherwise;
}

size_t find_port(const std::vector<Port>& ports, const std::string& name, const char* kind) {
  std::string known;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    if (known.size() < 400)
      known += fmt::format("{}'{}'", known.empty() ? "" : ", ", ports[i].name);
  }
  throw Refused(400, fmt::format("the model has no {} '{}'; it has {}", kind, shortened(name),
                                 known.empty() ? "none" : known));
}

// Clients of Triton may ask for what this server does not have. What changes an answer is refused;
// priorities and the like are not.
void refuse_others(const std::string& where, const JsonPlace& of) {
  for (const char* name : {"shared_memory_region", "classification"}) {
    if (parameter(of, name))
      throw Refused(400, fmt::format("{}: this server has no {}", where, name));
  }
  const std::optional<JsonPlace> sequence = parameter(of, "sequence_id");
  if (sequence && sequence->value() != 0 && sequence->value() != "") {
    throw Refused(400, fmt::format("{}: this server keeps no sequences: what a model remembers is "
                                   "among its inputs and outputs",
                                   where));
  }
}

Shape read_shape(const std::string& where, const JsonPlace& list, const Port& port) {
  const size_t rank = list.size();
  bool fits = rank <= kMaxRank && (port.unranked || rank == port.dims.size());
  Shape shape;
  for (size_t i = 0; fits && i < rank; ++i) {
    shape.push_back(list.at(i).integer(0, INT64_MAX));
    fits = port.unranked || port.dims[i] < 0 || port.dims[i] == shape[static_cast<int>(i)];
  }
  if (fits) return shape;
  throw Refused(400, fmt::format("{}: the model takes {}, the request has {}", where,
                                 port.unranked ? fmt::format("up to {} dims", kMaxRank)
                                               : "shape " + dims_json(port),
                                 shortened(list.value().dump())));
}

// Hands out the binary data behind the JSON, in the order of the inputs.
class Tail {
 public:
  explicit Tail(std::string_view bytes) : left_(bytes) {}

  std::string_view take(const std::string& where, const JsonPlace& size) {
    const uint64_t n = size.count();
    if (n > left_.size()) {
      throw Refused(
          400, fmt::format("{}: binary_data_size is {}, and {} bytes are left of the body", where,
                           n, left_.size()));
    }
    const std::string_view bytes = left_.substr(0, n);
    left_.remove_prefix(n);
    return bytes;
  }
  void end() const {
    if (left_.empty()) return;
    throw Refused(400, fmt::format("{} bytes of the body belong to no input: each has its "
                                   "binary_data_size",
                                   left_.size()));
  }

 private:
  std::string_view left_;
};

HostTensor read_input(const JsonPlace& input, const Port& port, Tail* tail) {
  const std::string where = fmt::format("input '{}'", port.name);
  refuse_others(where, input);
  const std::string datatype = input.at("datatype").text();
  if (datatype != datatype_of(port.dtype)) {
    throw Refused(400, fmt::format("{}: the model takes {}, the request has {}", where,
                                   datatype_of(port.dtype), shortened(datatype)));
  }
  const Shape shape = read_shape(where, input.at("shape"), port);
  if (const std::optional<JsonPlace> size = parameter(input, "binary_data_size")) {
    if (input.has("data"))
      throw Refused(400, where + ": it has both data and binary_data_size: give one");
    return tensor_of_bytes(where, port.dtype, shape, tail->take(where, *size));
  }
  return tensor_of_json(where, port.dtype, shape, input.at("data").value());
}

void read_inputs(const JsonPlace& list, const Ports& ports, Tail* tail, InferRequest* to) {
  to->inputs.resize(ports.inputs.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonPlace input = list.at(i);
    const size_t port = find_port(ports.inputs, input.at("name").text(), "input");
    if (to->inputs[port].present())
      throw Refused(400, fmt::format("input '{}' is given twice", ports.inputs[port].name));
    to->inputs[port] = read_input(input, ports.inputs[port], tail);
  }
  tail->end();
  for (size_t i = 0; i < to->inputs.size(); ++i) {
    if (!to->inputs[i].present())
      throw Refused(400, fmt::format("input '{}' is missing", ports.inputs[i].name));
  }
}

void read_outputs(const JsonPlace& request, const Ports& ports, InferRequest* to) {
  const bool binary = flag(request, "binary_data_output", false);
  if (!request.has("outputs") || request.at("outputs").size() == 0) {
    for (size_t i = 0; i < ports.outputs.size(); ++i) to->outputs.push_back({i, binary});
    return;
  }
  const JsonPlace list = request.at("outputs");
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonPlace output = list.at(i);
    const size_t port = find_port(ports.outputs, output.at("name").text(), "output");
    refuse_others(fmt::format("output '{}'", ports.outputs[port].name), output);
    const bool twice = std::any_of(to->outputs.begin(), to->outputs.end(),
                                   [&](const WantedOutput& w) { return w.port == port; });
    if (twice)
      throw Refused(400, fmt::format("output '{}' is asked for twice", ports.outputs[port].name));
    to->outputs.push_back({port, flag(output, "binary_data", binary)});
  }
}

}  // namespace

std::string dims_json(const Port& port) {
  if (port.unranked) return "[-1]";
  std::string text = "[";
  for (const int64_t d : port.dims) text += fmt::format("{}{}", text.size() > 1 ? "," : "", d);
  return text + "]";
}

InferRequest read_infer(const Ports& ports, std::string_view body, std::optional<size_t> json_bytes,
                        const JsonLimits& limits) {
  const size_t json = json_bytes.value_or(body.size());
  if (json > body.size()) {
    throw Refused(400, fmt::format("Inference-Header-Content-Length is {}, the body has {} bytes",
                                   json, body.size()));
  }
  const Json tree = read_json(body.substr(0, json), kFile, limits);
  const JsonPlace request(tree, kFile);
  if (!tree.is_object()) request.refuse("an object with the key inputs");
  refuse_others("request", request);
  InferRequest read;
  if (request.has("id")) read.id = request.at("id").text();
  if (const std::optional<JsonPlace> timeout = parameter(request, "timeout"))
    read.timeout_us = timeout->count();
  Tail tail(body.substr(json));
  // A model without inputs needs no list of them.
  static const Json kNone = Json::array();
  const bool none = ports.inputs.empty() && !request.has("inputs");
  read_inputs(none ? JsonPlace(kNone, kFile) : request.at("inputs"), ports, &tail, &read);
  read_outputs(request, ports, &read);
  return read;
}

InferAnswer write_infer(const std::string& model, const Ports& ports, const InferRequest& request,
                        const std::vector<HostTensor>& results) {
  JsonWriter json;
  json.open('{').field("model_name", model).field("model_version", "1");
  if (!request.id.empty()) json.field("id", request.id);
  json.key("outputs").open('[');
  std::string tail, data;
  bool binary = false;
  for (const WantedOutput& wanted : request.outputs) {
    const Port& port = ports.outputs[wanted.port];
    const HostTensor& tensor = results[wanted.port];
    json.open('{').field("name", port.name).field("datatype", datatype_of(port.dtype));
    json.list("shape", tensor.shape());
    if (wanted.binary) {
      const size_t before = tail.size();
      append_bytes(tensor, &tail);
      json.key("parameters").open('{').field("binary_data_size", tail.size() - before).close();
      binary = true;
    } else {
      data.clear();
      append_json(fmt::format("output '{}'", port.name), tensor, &data);
      json.key("data").raw(data);
    }
    json.close();
  }
  json.close().close();
  InferAnswer answer;
  answer.body = json.done();
  if (binary) {
    answer.json_bytes = answer.body.size();
    answer.body += tail;
  }
  return answer;
}

}  // namespace wick::serve
