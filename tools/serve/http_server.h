// A Service behind a port.
#pragma once

#include <memory>

#include "tools/serve/options.h"
#include "tools/serve/service.h"

namespace wick::serve {

class HttpServer {
 public:
  // Listens from now on. `service` must outlive it. Throws Error: the address is taken or none.
  HttpServer(Service* service, const ServeOptions& options);
  ~HttpServer();  // drains without patience
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Takes no new connections, answers what it has begun to read, and returns when all connections
  // are closed. After `patience_ns` runs are cancelled and connections are cut. Returns whether
  // that was not needed.
  bool drain(uint64_t patience_ns);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick::serve
