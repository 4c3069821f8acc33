// What a server answers to which path: KServe's protocol, version 2, over HTTP, and Prometheus's
// metrics. It has no sockets, so that tests call it directly.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "tools/serve/metrics.h"
#include "tools/serve/repository.h"

namespace wick::serve {

struct HttpRequest {
  std::string method;  // "GET" or "POST"; HEAD is GET
  std::string path;    // decoded, without the query
  std::string_view body;
  std::optional<std::string> json_bytes;  // the header Inference-Header-Content-Length
};

struct HttpAnswer {
  int status = 200;
  std::string body = {};
  const char* type = "application/json";
  std::optional<size_t> json_bytes = {};  // for the same header
};

// Returns {"error": text} with a status; bytes that are no UTF-8 are escaped.
HttpAnswer error_answer(int status, const std::string& text);

class Service {
 public:
  // Opens the models. Throws Error.
  Service(const std::vector<ModelFile>& files, const ServeOptions& options);

  // Answers a request; never throws but std::bad_alloc. Any number of threads may call it.
  HttpAnswer answer(const HttpRequest& request);

  // Loads every model again from its file; one that cannot be opened stays as it is.
  void reload();
  // From now on it is not ready, and new inferences are refused (503); those under way go on.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }
  // Ends all runs soon.
  void cancel() { cancel_.request(); }

  // Counts an answer that was sent.
  void count(int status);
  HttpMetrics& http() { return http_; }

 private:
  HttpAnswer route(const HttpRequest& request);
  HttpAnswer of_model(const HttpRequest& request, const std::vector<std::string>& path);
  HttpAnswer infer(const HttpRequest& request, const std::string& name);
  HttpAnswer control(const HttpRequest& request, const std::vector<std::string>& path);
  HttpAnswer index(const HttpRequest& request) const;
  HttpAnswer metrics() const;

  const ServeOptions options_;
  CancelFlag cancel_;  // outlives the models
  Repository models_;
  HttpMetrics http_;
  std::atomic<bool> draining_{false};
};

}  // namespace wick::serve
