#include "tools/serve/service.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/core/printable.h"
#include "runtime/core/real_text.h"
#include "tools/serve/describe.h"
#include "tools/serve/tensors.h"

namespace wick::serve {
namespace {

constexpr const char* kVersion = "1";  // of every model: a file has no versions

// Returns the parts of "/v2/models/x" behind the first "/"; a "/" at the end makes no part.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  size_t at = 1;
  while (at < path.size() && parts.size() < 8) {
    const size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

[[noreturn]] void no_such_path(const std::string& path) {
  throw Refused(404, fmt::format("there is no '{}': GET /v2 says what there is", shortened(path)));
}

// Throws Refused (405) unless the method is this one.
void need(const HttpRequest& request, const char* method) {
  if (request.method == method) return;
  throw Refused(405, fmt::format("{} takes {}, not {}", shortened(request.path), method,
                                 shortened(request.method)));
}

// Returns the HTTP status of a run that failed.
int status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kShapeMismatch:
    case Code::kTypeMismatch:
    case Code::kUnsupported: return 400;
    case Code::kNotFound: return 404;
    case Code::kBudgetExceeded: return 413;
    case Code::kBusy: return 429;
    case Code::kCancelled:
    case Code::kOutOfMemory: return 503;
    case Code::kDeadline: return 504;
    default: return 500;
  }
}

std::optional<size_t> json_bytes_of(const HttpRequest& request) {
  if (!request.json_bytes) return std::nullopt;
  const std::string& text = *request.json_bytes;
  size_t n = 0;
  if (!read_integer(text, &n)) {
    throw Refused(400,
                  fmt::format("Inference-Header-Content-Length is '{}'; it must be a number of "
                              "bytes",
                              shortened(text)));
  }
  return n;
}

HttpAnswer json(std::string body) { return {.body = std::move(body)}; }

// Counts an inference, whatever it ends with.
class Counted {
 public:
  explicit Counted(ModelMetrics* metrics) : metrics_(*metrics) { ++metrics_.requests; }
  void answered(int status) { status_ = status; }
  ~Counted() {
    metrics_.request_seconds.add(static_cast<double>(now_ns() - begin_) * 1e-9);
    if (status_ >= 400) ++metrics_.failures;
    if (status_ == 429) ++metrics_.rejected;
    if (status_ == 504) ++metrics_.late;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  ModelMetrics& metrics_;
  const uint64_t begin_ = now_ns();
  int status_ = 500;
};

}  // namespace

HttpAnswer error_answer(int status, const std::string& text) {
  return {.status = status,
          .body = JsonWriter().open('{').field("error", printable(text)).close().done()};
}

Service::Service(const std::vector<ModelFile>& files, const ServeOptions& options)
    : options_(options), models_(files, options, &cancel_) {}

void Service::reload() {
  for (const Repository::Entry& e : models_.list()) {
    try {
      models_.load(e.name);
    } catch (const Refused&) {  // the log has the reason
    }
  }
}

void Service::count(int status) {
  const auto digit = static_cast<size_t>(status / 100);
  if (digit < http_.answers.size()) ++http_.answers[digit];
}

HttpAnswer Service::answer(const HttpRequest& request) {
  HttpAnswer answer;
  try {
    answer = route(request);
  } catch (const Refused& e) {
    answer = error_answer(e.status(), e.what());
  } catch (const Error& e) {
    answer = error_answer(status_of(e.code()), e.what());
  } catch (const std::exception& e) {
    answer = error_answer(500, e.what());
  }
  if (answer.status == 500 && options_.log) options_.log(request.path + ": " + answer.body);
  return answer;
}

HttpAnswer Service::route(const HttpRequest& request) {
  if (request.path == "/metrics") {
    need(request, "GET");
    return metrics();
  }
  const std::vector<std::string> path = parts_of(request.path);
  const size_t n = path.size();
  if (n == 0 || path[0] != "v2") no_such_path(request.path);
  if (n == 1) {
    need(request, "GET");
    return json(server_json());
  }
  if (path[1] == "health" && n == 3 && (path[2] == "live" || path[2] == "ready")) {
    need(request, "GET");
    if (path[2] == "ready" && draining_) throw Refused(503, "the server ends");
    return json("{}");
  }
  if (path[1] == "models" && n >= 3) return of_model(request, path);
  if (path[1] == "repository" && n == 3 && path[2] == "index") return index(request);
  if (path[1] == "repository" && n == 5 && path[2] == "models") return control(request, path);
  no_such_path(request.path);
}

HttpAnswer Service::of_model(const HttpRequest& request, const std::vector<std::string>& path) {
  if (path.size() == 3 && path[2] == "stats") {
    need(request, "GET");
    return json(stats_json(models_.list()));
  }
  const std::string& name = path[2];
  size_t at = 3;
  if (path.size() > 3 && path[3] == "versions") {
    if (path.size() < 5) no_such_path(request.path);
    if (path[4] != kVersion) {
      throw Refused(404, fmt::format("model '{}' has version 1 only, not '{}'", shortened(name),
                                     shortened(path[4])));
    }
    at = 5;
  }
  const std::string what = at < path.size() ? path[at] : "";
  if (path.size() > at + 1) no_such_path(request.path);
  if (what == "infer") {
    need(request, "POST");
    return infer(request, name);
  }
  need(request, "GET");
  const std::shared_ptr<ServedModel> model = models_.find(name);
  if (what.empty()) return json(metadata_json(name, *model));
  if (what == "config") return json(config_json(name, *model));
  if (what == "stats") return json(stats_json({{name, "", model, "", &models_.metrics(name)}}));
  if (what == "ready") {
    if (draining_) throw Refused(503, "the server ends");
    return json("{}");
  }
  no_such_path(request.path);
}

HttpAnswer Service::infer(const HttpRequest& request, const std::string& name) {
  const std::shared_ptr<ServedModel> model = models_.find(name);
  Counted counted(&models_.metrics(name));
  try {
    if (draining_) throw Refused(503, "the server ends: it takes no new inferences");
    const uint64_t now = now_ns();
    const JsonLimits limits = {.bytes = options_.max_body, .values = options_.json_values};
    InferRequest asked = read_infer(model->ports(), request.body, json_bytes_of(request), limits);
    uint64_t deadline = options_.deadline_ns == 0 ? 0 : now + options_.deadline_ns;
    constexpr uint64_t kMost = uint64_t{1} << 40;  // microseconds: twelve days
    if (asked.timeout_us != 0 && asked.timeout_us < kMost) {
      const uint64_t own = now + asked.timeout_us * 1000;
      deadline = deadline == 0 ? own : std::min(deadline, own);
    }
    const std::vector<HostTensor> results = model->infer(std::move(asked.inputs), deadline);
    InferAnswer written = write_infer(name, model->ports(), asked, results);
    counted.answered(200);
    return {.body = std::move(written.body),
            .type = written.json_bytes ? "application/octet-stream" : "application/json",
            .json_bytes = written.json_bytes};
  } catch (const Refused& e) {
    counted.answered(e.status());
    throw;
  } catch (const Error& e) {
    counted.answered(status_of(e.code()));
    throw;
  }
}

HttpAnswer Service::control(const HttpRequest& request, const std::vector<std::string>& path) {
  if (path[4] != "load" && path[4] != "unload") no_such_path(request.path);
  need(request, "POST");
  if (!options_.control)
    throw Refused(403, "models are not loaded or unloaded by clients: start with --control");
  if (draining_) throw Refused(503, "the server ends: it loads no models");
  if (!request.body.empty()) {
    const nlohmann::json body =
        read_json(request.body, "request", {.bytes = 65536, .values = 4096});
    const JsonPlace place(body, "request");
    if (place.has("parameters") && place.at("parameters").has("config")) {
      throw Refused(400,
                    "request: parameters.config: how a model is served is said where the "
                    "server is started");
    }
  }
  if (path[4] == "load")
    models_.load(path[3]);
  else
    models_.unload(path[3]);
  return json("{}");
}

HttpAnswer Service::index(const HttpRequest& request) const {
  need(request, "POST");
  return json(index_json(models_.list()));
}

HttpAnswer Service::metrics() const {
  MetricsText text;
  text.add(http_);
  for (const Repository::Entry& e : models_.list()) text.add(e.name, *e.metrics);
  return {.body = text.text(), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace wick::serve
