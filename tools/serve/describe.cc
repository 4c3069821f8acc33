#include "tools/serve/describe.h"

#include <algorithm>

#include "tools/serve/tensors.h"

namespace wick::serve {
namespace {

void write_ports(JsonWriter* json, const char* key, const std::vector<Port>& ports) {
  json->key(key).open('[');
  for (const Port& port : ports) {
    json->open('{').field("name", port.name).field("datatype", datatype_of(port.dtype));
    json->key("shape").raw(dims_json(port)).close();
  }
  json->close();
}

// Triton's configuration has names of its own for types, and no batch among the dims.
void write_config_ports(JsonWriter* json, const char* key, const std::vector<Port>& ports,
                        bool batched) {
  json->key(key).open('[');
  for (const Port& port : ports) {
    const std::string type = datatype_of(port.dtype);
    Port rest = port;
    if (batched) rest.dims.erase(rest.dims.begin());
    json->open('{').field("name", port.name);
    json->field("data_type", "TYPE_" + (type == "BYTES" ? "STRING" : type));
    json->key("dims").raw(dims_json(rest)).close();
  }
  json->close();
}

void write_times(JsonWriter* json, const char* key, uint64_t count, double seconds) {
  json->key(key).open('{').field("count", count);
  json->field("ns", static_cast<uint64_t>(seconds * 1e9)).close();
}

}  // namespace

std::string server_json() {
  JsonWriter json;
  json.open('{').field("name", "wick").field("version", WICK_VERSION);
  json.list("extensions", std::vector<std::string>{"binary_tensor_data", "model_configuration",
                                                   "model_repository", "statistics"});
  return json.close().done();
}

std::string metadata_json(const std::string& name, const ServedModel& model) {
  JsonWriter json;
  json.open('{').field("name", name).list("versions", std::vector<std::string>{"1"});
  json.field("platform", "wick");
  write_ports(&json, "inputs", model.ports().inputs);
  write_ports(&json, "outputs", model.ports().outputs);
  return json.close().done();
}

std::string config_json(const std::string& name, const ServedModel& model) {
  const int64_t rows = model.batching().rows;
  const bool batched = rows > 1;
  JsonWriter json;
  json.open('{').field("name", name).field("platform", "wick").field("backend", "wick");
  json.field("max_batch_size", batched ? rows : 0);
  write_config_ports(&json, "input", model.ports().inputs, batched);
  write_config_ports(&json, "output", model.ports().outputs, batched);
  if (batched) json.key("dynamic_batching").open('{').close();
  return json.close().done();
}

std::string index_json(const std::vector<Repository::Entry>& models) {
  JsonWriter json;
  json.open('[');
  for (const Repository::Entry& e : models) {
    json.open('{').field("name", e.name).field("version", "1");
    json.field("state", e.model == nullptr ? "UNAVAILABLE" : "READY");
    json.field("reason", e.model == nullptr && e.reason.empty() ? "unloaded" : e.reason).close();
  }
  return json.close().done();
}

std::string stats_json(const std::vector<Repository::Entry>& models) {
  JsonWriter json;
  json.open('{').key("model_stats").open('[');
  for (const Repository::Entry& e : models) {
    const ModelMetrics& m = *e.metrics;
    const uint64_t failures = m.failures, requests = m.request_seconds.count();
    json.open('{').field("name", e.name).field("version", "1");
    json.field("inference_count", static_cast<uint64_t>(m.batch_rows.sum()));
    json.field("execution_count", m.run_seconds.count());
    json.key("inference_stats").open('{');
    write_times(&json, "success", requests - std::min(requests, failures), m.request_seconds.sum());
    write_times(&json, "fail", failures, 0);
    write_times(&json, "queue", m.queue_seconds.count(), m.queue_seconds.sum());
    write_times(&json, "compute_infer", m.run_seconds.count(), m.run_seconds.sum());
    json.close().close();
  }
  return json.close().close().done();
}

}  // namespace wick::serve
