#include "tests/serve/http_test.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/serve/tensors.h"

namespace wick::test {

double Served::metric(const std::string& name) const {
  httplib::Client c = client();
  const httplib::Result got = c.Get("/metrics");
  if (!got) return -1;
  const size_t at = got->body.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(got->body.substr(at + name.size() + 2));
}

Body::Body(const HostTensor& x, bool binary, const nlohmann::json& parameters) {
  nlohmann::json input = {{"name", "x"},
                          {"datatype", serve::datatype_of(x.dtype())},
                          {"shape", std::vector<int64_t>(x.shape().begin(), x.shape().end())}};
  std::string data;
  if (binary) {
    serve::append_bytes(x, &tail);
    input["parameters"] = {{"binary_data_size", tail.size()}};
  } else {
    serve::append_json("x", x, &data);
    input["data"] = nlohmann::json::parse(data);
  }
  nlohmann::json request = {{"inputs", {input}}};
  if (!parameters.is_null()) request["parameters"] = parameters;
  if (binary) request["parameters"]["binary_data_output"] = true;
  json = request.dump();
}

httplib::Headers Body::headers() const {
  httplib::Headers h;
  if (!tail.empty()) h.emplace("Inference-Header-Content-Length", std::to_string(json.size()));
  return h;
}

httplib::Result infer(httplib::Client* client, const std::string& model, const Body& body) {
  return client->Post("/v2/models/" + model + "/infer", body.headers(), body.json + body.tail,
                      "application/octet-stream");
}

HostTensor output_of(const httplib::Result& answer, const std::string& name) {
  if (!answer || answer->status != 200) {
    ADD_FAILURE() << status(answer) << " " << error_text(answer);
    return {};
  }
  const std::string length = answer->get_header_value("Inference-Header-Content-Length");
  const size_t json = length.empty() ? answer->body.size() : std::stoull(length);
  size_t at = json;
  const nlohmann::json tree = nlohmann::json::parse(answer->body.substr(0, json));
  for (const nlohmann::json& out : tree.at("outputs")) {
    DType dtype = DType::kF32;
    for (const DType t : {DType::kI64, DType::kU8, DType::kString, DType::kF16})
      if (out.at("datatype") == serve::datatype_of(t)) dtype = t;
    Shape shape;
    for (const int64_t d : out.at("shape")) shape.push_back(d);
    const size_t size =
        out.contains("parameters") ? out["parameters"].at("binary_data_size").get<size_t>() : 0;
    if (out.at("name") == name) {
      return size == 0 ? serve::tensor_of_json(name, dtype, shape, out.at("data"))
                       : serve::tensor_of_bytes(name, dtype, shape, answer->body.substr(at, size));
    }
    at += size;
  }
  ADD_FAILURE() << "no output " << name << " in " << tree;
  return {};
}

int status(const httplib::Result& answer) { return answer ? answer->status : 0; }

std::string error_text(const httplib::Result& answer) {
  if (!answer) return "no answer";
  const nlohmann::json tree = nlohmann::json::parse(answer->body, nullptr, false);
  return tree.is_object() && tree.contains("error") ? tree["error"].get<std::string>()
                                                    : "no error in " + answer->body;
}

std::string raw(int port, const std::string& bytes, int ms) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string got;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    pollfd wait = {fd, POLLIN, 0};
    char buffer[4096];
    while (poll(&wait, 1, ms) > 0) {
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return got;
}

}  // namespace wick::test
