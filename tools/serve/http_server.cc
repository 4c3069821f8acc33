#include "tools/serve/http_server.h"

#include <fmt/core.h>
#include <httplib.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tools/serve/http_threads.h"
#include "tools/serve/http_wire.h"
#include "trainer/data/inflate.h"

namespace wick::serve {
namespace {

// What a thread knows of its connection's present request.
struct Exchange {
  explicit Exchange(Wire* wire) : wire(wire) {}
  Wire* wire;
  std::string path, coding;           // of the body: gzip, deflate, or empty
  bool body = false;                  // it has one
  std::optional<HttpAnswer> refusal;  // by its head alone
  bool close = false;                 // the connection ends with the answer: what follows is unread
};
thread_local Exchange* t_exchange = nullptr;

std::string header(const httplib::Request& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

// Decides by its head whether a request's body is read. Two lengths, or a length that the body's
// encoding contradicts, are how requests are hidden in others.
std::optional<HttpAnswer> refuse_head(const httplib::Request& request, uint64_t max_body) {
  const size_t lengths = request.headers.count("Content-Length");
  const size_t encodings = request.headers.count("Transfer-Encoding");
  if (lengths + encodings > 1)
    return error_answer(400, "more than one Content-Length or Transfer-Encoding");
  if (encodings == 1 && strcasecmp(header(request, "Transfer-Encoding").c_str(), "chunked") != 0)
    return error_answer(400, "Transfer-Encoding must be chunked");
  const std::string length = header(request, "Content-Length");
  if (lengths == 1) {
    if (length.empty() || length.find_first_not_of("0123456789") != std::string::npos)
      return error_answer(400, "Content-Length must be a number of bytes");
    if (length.size() > 18 || std::stoull(length) > max_body) {
      return error_answer(413, fmt::format("a body of {} bytes: at most {} are read (--max-body)",
                                           length, max_body));
    }
  }
  if (strncasecmp(header(request, "Content-Type").c_str(), "multipart/", 10) == 0)
    return error_answer(415, "a multipart body: send JSON, or JSON and binary tensors");
  const std::string coding = header(request, "Content-Encoding");
  if (!coding.empty() && coding != "identity" && coding != "gzip" && coding != "deflate")
    return error_answer(415, "Content-Encoding must be gzip or deflate, or absent");
  return std::nullopt;
}

void fill(httplib::Response* response, HttpAnswer answer) {
  response->status = answer.status;
  response->body = std::move(answer.body);
  response->set_header("Content-Type", answer.type);
  if (answer.json_bytes)
    response->set_header("Inference-Header-Content-Length", std::to_string(*answer.json_bytes));
  if (answer.status == 429) response->set_header("Retry-After", "1");
}

// Returns an answer that is sent without the library.
std::string whole_answer(int status, const char* reason, const std::string& text) {
  const HttpAnswer answer = error_answer(status, text);
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nRetry-After: 1\r\n"
      "Connection: close\r\n\r\n{}",
      status, reason, answer.type, answer.body.size(), answer.body);
}

const char* library_error(int status) {
  switch (status) {
    case 400: return "the request is no HTTP/1.1, or its body ended early or came too late";
    case 414: return "the address is too long";
    case 415: return "this server cannot decode such a body";
    case 416: return "Range is malformed";
    default: return "the request was not answered";
  }
}

class Front final : public httplib::Server {
 public:
  Front(Service* service, const ServeOptions& options);

  // Returns the port. Throws Error.
  int bind(int port);
  void end_listening() {
    if (svr_sock_ != INVALID_SOCKET) stop();
  }
  void close_idle() { wake_.wake(); }
  void cut_all();

 private:
  bool process_and_close_socket(socket_t socket) override;
  void serve(socket_t socket);
  void refuse(socket_t socket);
  void begin(httplib::Request* request);
  HandlerResponse before_body(const httplib::Request& request, httplib::Response& response);
  void with_body(const httplib::Request& request, httplib::Response& response,
                 const httplib::ContentReader& reader);
  void give(const httplib::Request& request, std::string_view body, httplib::Response* response);

  Service& service_;
  const ServeOptions& options_;
  Wake wake_;
  std::mutex mutex_;
  std::set<socket_t> sockets_;  // that are open
};

Front::Front(Service* service, const ServeOptions& options)
    : service_(*service), options_(options) {
  set_tcp_nodelay(true);
  // Not SO_REUSEPORT, with which a second server takes half of the connections.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  new_task_queue = [this] { return new Threads(options_.connections); };
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return before_body(request, response);
  });
  set_expect_100_continue_handler([](const httplib::Request&, httplib::Response& response) {
    Exchange& exchange = *t_exchange;
    if (!exchange.refusal) return 100;
    exchange.close = true;
    fill(&response, *exchange.refusal);
    return response.status;
  });
  // begin() gives every request this path, since the library matches a regular expression.
  Post("/", [this](const httplib::Request& request, httplib::Response& response,
                   const httplib::ContentReader& reader) { with_body(request, response, reader); });
  const HandlerWithResponse on_error = [](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) {  // the library's own
      Exchange& exchange = *t_exchange;
      exchange.close = true;
      const bool long_head = exchange.wire->head_too_long();
      const int status = long_head ? 431 : response.status;
      fill(&response, error_answer(status, long_head ? "the request's head is too long"
                                                     : library_error(status)));
    }
    return HandlerResponse::Handled;  // the library then sets the body's length
  };
  set_error_handler(on_error);
  set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
    service_.count(response.status);
    response.headers.erase("Keep-Alive");
    if (service_.draining()) t_exchange->close = true;
    if (!t_exchange->close) return;
    response.headers.erase("Connection");
    response.set_header("Connection", "close");
  });
}

int Front::bind(int port) {
  errno = 0;
  const bool bound =
      port == 0 ? (port = bind_to_any_port(options_.host)) > 0 : bind_to_port(options_.host, port);
  if (!bound) {
    throw Error(fmt::format("cannot listen on {}:{}: {}", options_.host, std::max(port, 0),
                            errno == 0 ? "no such address" : strerror(errno)),
                Code::kIo);
  }
  ::listen(svr_sock_, SOMAXCONN);  // the library's queue has room for five
  return port;
}

bool Front::process_and_close_socket(socket_t socket) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sockets_.insert(socket);
  }
  try {
    if (t_welcome == Welcome::kServe) serve(socket);
    if (t_welcome == Welcome::kRefuse) refuse(socket);
  } catch (...) {  // no memory: the connection ends
  }
  t_exchange = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sockets_.erase(socket);
  }
  ::close(socket);
  return true;
}

void Front::cut_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const socket_t socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

void Front::serve(socket_t socket) {
  struct Open {
    explicit Open(std::atomic<int64_t>* n) : n(*n) { ++this->n; }
    ~Open() { --n; }
    std::atomic<int64_t>& n;
  };
  const Open open(&service_.http().connections);
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Wire wire(socket, options_.transfer_ns);
  while (wire.wait_for_request(options_.idle_ns, wake_)) {
    Exchange exchange(&wire);
    t_exchange = &exchange;
    wire.begin_head();
    bool closed = false;
    const bool answered =
        process_request(wire, false, closed, [this](httplib::Request& r) { begin(&r); });
    if (!answered && wire.head_too_long()) {
      service_.count(431);
      const std::string answer = whole_answer(431, "Request Header Fields Too Large",
                                              "the request's first line is too long");
      wire.write(answer.data(), answer.size());
      exchange.close = true;
    }
    const bool sent = wire.flush();
    if (sent && exchange.close) wire.linger();
    if (!answered || !sent || closed || exchange.close) return;
  }
}

// Answers without reading more than what is there.
void Front::refuse(socket_t socket) {
  ++service_.http().refused_connections;
  service_.count(429);
  const std::string answer =
      whole_answer(429, "Too Many Requests",
                   fmt::format("{} connections are open: try again later", options_.connections));
  constexpr uint64_t kPatience = 1'000'000'000;
  Wire wire(socket, kPatience);
  if (wire.wait_for_request(kPatience, wake_) &&
      send_all(socket, answer.data(), answer.size(), kPatience))
    wire.linger();
}

void Front::begin(httplib::Request* request) {
  Exchange& exchange = *t_exchange;
  // Chunks have lengths of their own, which the library reads without a limit.
  exchange.wire->begin_body(2 * options_.max_body + 65536);
  exchange.path.swap(request->path);
  request->path = "/";
  // Answers are sent whole, and as they are: many ranges make long answers of short ones, and the
  // library compresses by its slowest setting.
  request->ranges.clear();
  request->headers.erase("Accept-Encoding");
  exchange.refusal = refuse_head(*request, options_.max_body);
  exchange.body =
      request->headers.count("Transfer-Encoding") > 0 ||
      (request->headers.count("Content-Length") > 0 && header(*request, "Content-Length") != "0");
  // The library gives the body as it was sent.
  exchange.coding = header(*request, "Content-Encoding");
  if (exchange.coding == "identity") exchange.coding.clear();
  request->headers.erase("Content-Encoding");
}

// Answers what needs no body.
httplib::Server::HandlerResponse Front::before_body(const httplib::Request& request,
                                                    httplib::Response& response) {
  Exchange& exchange = *t_exchange;
  const bool post = request.method == "POST";
  if (post && exchange.body && !exchange.refusal) return HandlerResponse::Unhandled;
  exchange.close = exchange.body;
  if (exchange.refusal)
    fill(&response, *exchange.refusal);
  else
    give(request, "", &response);
  return HandlerResponse::Handled;
}

void Front::with_body(const httplib::Request& request, httplib::Response& response,
                      const httplib::ContentReader& reader) {
  std::string body, fault;
  bool too_long = false;
  const auto keep = [&](const char* piece, size_t size) {
    too_long = size > options_.max_body - body.size();
    if (!too_long) body.append(piece, size);
    return !too_long;
  };
  bool whole = false;
  if (t_exchange->coding.empty()) {
    whole = reader(keep);
  } else {
    data::Inflate inflate("the body");  // cpp-httplib's takes one whose end is missing
    whole = reader([&](const char* piece, size_t size) { return inflate.add(piece, size, keep); });
    if (whole || inflate.damaged()) fault = inflate.fault();
  }
  if (!fault.empty()) {
    t_exchange->close = true;
    return fill(&response, error_answer(400, fault));
  }
  if (!whole) {
    t_exchange->close = true;
    return fill(&response,
                too_long ? error_answer(413, fmt::format("the body is longer than {} bytes "
                                                         "(--max-body)",
                                                         options_.max_body))
                         : error_answer(400,
                                        "the body ended early, came too late, or its chunks are "
                                        "malformed"));
  }
  // The library takes chunks that end in another way than they should: what follows is in doubt.
  t_exchange->close = request.headers.count("Transfer-Encoding") > 0;
  give(request, body, &response);
}

void Front::give(const httplib::Request& request, std::string_view body,
                 httplib::Response* response) {
  HttpRequest asked;
  asked.method = request.method == "HEAD" ? "GET" : request.method;
  asked.path = t_exchange->path;
  asked.body = body;
  const std::string json_bytes = header(request, "Inference-Header-Content-Length");
  if (!json_bytes.empty()) asked.json_bytes = json_bytes;
  fill(response, service_.answer(asked));
}

}  // namespace

struct HttpServer::Impl {
  Impl(Service* service, const ServeOptions& given)
      : options(given), service(*service), front(service, options) {}
  void listen();

  const ServeOptions options;
  Service& service;
  Front front;
  int port = 0;
  std::mutex mutex;  // guards what follows
  std::condition_variable ended;
  bool ending = false, done = false;
  std::thread thread;
};

// The library gives up a port when accept() fails for any reason, such as a client that went away
// too early.
void HttpServer::Impl::listen() {
  for (;;) {
    front.listen_after_bind();
    std::unique_lock<std::mutex> lock(mutex);
    for (bool bound = false; !bound && !ending;) {
      try {
        front.bind(port);
        bound = true;
      } catch (const Error& e) {
        if (options.log) options.log(e.what());
        ended.wait_for(lock, std::chrono::seconds(1), [&] { return ending; });
      }
    }
    if (!ending) continue;
    done = true;
    ended.notify_all();
    return;
  }
}

HttpServer::HttpServer(Service* service, const ServeOptions& options)
    : impl_(std::make_unique<Impl>(service, options)) {
  impl_->port = impl_->front.bind(options.port);
  impl_->thread = std::thread([this] { impl_->listen(); });
}

HttpServer::~HttpServer() { drain(0); }

int HttpServer::port() const { return impl_->port; }

bool HttpServer::drain(uint64_t patience_ns) {
  Impl& impl = *impl_;
  if (!impl.thread.joinable()) return true;
  impl.service.drain();
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience_ns);
  bool patient = true;
  std::unique_lock<std::mutex> lock(impl.mutex);
  impl.ending = true;
  impl.ended.notify_all();
  while (!impl.done) {
    // Again and again: the thread may be about to listen.
    impl.front.end_listening();
    impl.front.close_idle();
    if (std::chrono::steady_clock::now() >= end) {
      patient = false;
      impl.service.cancel();
      impl.front.cut_all();
    }
    impl.ended.wait_for(lock, std::chrono::milliseconds(10), [&] { return impl.done; });
  }
  lock.unlock();
  impl.thread.join();
  return patient;
}

}  // namespace wick::serve
