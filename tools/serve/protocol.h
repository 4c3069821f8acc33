// An inference in KServe's protocol, version 2, with its extension for binary tensors: what a
// request's body says, and the body of its answer. Nothing here knows HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "trainer/checkpoint/json.h"

namespace wick::serve {

// An input or output of a model, as clients see it.
struct Port {
  std::string name;
  DType dtype = DType::kNone;
  bool unranked = false;
  std::vector<int64_t> dims;  // -1: free
};

// The ports of a model, in the order of its session.
struct Ports {
  std::vector<Port> inputs, outputs;
};

// An output that an answer has.
struct WantedOutput {
  size_t port = 0;
  bool binary = false;  // as bytes behind the JSON
};

struct InferRequest {
  std::string id;                  // "": none
  std::vector<HostTensor> inputs;  // one for each port, in order
  std::vector<WantedOutput> outputs;
  uint64_t timeout_us = 0;  // 0: the server's
};

// Reads a request. `json_bytes` of the body are JSON, the rest is binary data, which has to be used
// up; nothing: all of it is JSON. Throws Refused, and JsonError for what is no JSON.
InferRequest read_infer(const Ports& ports, std::string_view body, std::optional<size_t> json_bytes,
                        const JsonLimits& limits);

// A body, and how much of it is JSON where binary data follows.
struct InferAnswer {
  std::string body;
  std::optional<size_t> json_bytes;
};

// Writes the answer; `results` has every output of the model. Throws Refused (422) for what JSON
// cannot hold.
InferAnswer write_infer(const std::string& model, const Ports& ports, const InferRequest& request,
                        const std::vector<HostTensor>& results);

// Returns the dims of a port as JSON, "[-1,3]"; [-1] where the rank is free, too.
std::string dims_json(const Port& port);

}  // namespace wick::serve
