// A server of this process on a free port, and what clients send to it.
#pragma once

#include <httplib.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/serve/models.h"
#include "tools/serve/http_server.h"
#include "tools/serve/run_queue.h"

namespace wick::test {

// A started server.
struct Served {
  explicit Served(const std::vector<serve::ModelFile>& files,
                  const serve::ServeOptions& given = test_options())
      : options(given), service(files, options), http(&service, options) {}
  httplib::Client client() const {
    httplib::Client c("127.0.0.1", http.port());
    c.set_keep_alive(true);
    c.set_tcp_nodelay(true);
    c.set_read_timeout(60, 0);
    return c;
  }
  // Returns the value of a line of /metrics, "wick_running{model=\"m\"}"; -1: there is none.
  double metric(const std::string& name) const;

  serve::ServeOptions options;
  serve::Service service;
  serve::HttpServer http;
};

// A request for one input x and all outputs: its JSON, and the tensor's bytes behind it where
// `binary` is set.
struct Body {
  Body(const HostTensor& x, bool binary, const nlohmann::json& parameters = nullptr);
  httplib::Headers headers() const;

  std::string json, tail;
};

httplib::Result infer(httplib::Client* client, const std::string& model, const Body& body);

// Returns output `name` of an answer, however it was sent; empty with a failed expectation if the
// answer is no such thing.
HostTensor output_of(const httplib::Result& answer, const std::string& name);

// Returns the status, or 0 without an answer, and the text of "error".
int status(const httplib::Result& answer);
std::string error_text(const httplib::Result& answer);

// Sends bytes as they are and returns what comes back until the server closes, or `ms` pass without
// a byte.
std::string raw(int port, const std::string& bytes, int ms = 5000);

}  // namespace wick::test
