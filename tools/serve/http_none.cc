// The HTTP server of a build without cpp-httplib.
#include "tools/serve/http_server.h"

namespace wick::serve {

struct HttpServer::Impl {};

bool can_serve() { return false; }

HttpServer::HttpServer(Service*, const ServeOptions&) {
  throw Error(
      "this build cannot serve: build Wick where cpp-httplib is installed "
      "(libcpp-httplib-dev)",
      Code::kUnsupported);
}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return 0; }
bool HttpServer::drain(uint64_t) { return true; }

}  // namespace wick::serve
