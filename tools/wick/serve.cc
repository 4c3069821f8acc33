// wick serve: models behind an HTTP port (tools/serve).
#include "tools/wick/serve.h"

#include <memory>

#include "tools/wick/command.h"

namespace wick::tool {

void add_serve(CommandLine& app) {
  auto c = std::make_shared<ServeCommand>();
  Command command =
      app.add_command("serve", "Serve models over HTTP: KServe's protocol, version 2");
  command
      .add_option(
          "model", c->models,
          "FILE or NAME=FILE: .wick, ONNX or TensorFlow Lite; the name is FILE's without its "
          "ending")
      .required();
  accept_ops(command);
  accept_signature(command);
  command.add_option("--host", c->serve.host,
                     "the address to listen on (127.0.0.1: this machine only; 0.0.0.0: whoever "
                     "reaches it)");
  command.add_option("--port", c->serve.port, "the port (8000); 0: a free one, which is printed")
      .between(0, 65535);
  command
      .add_option("--threads", c->serve.threads, "of all models together; 0: as many as there are")
      .at_least(0);
  command.add_option("--instances", c->instances, "runs of one model at a time (1)")
      .between(1, 256);
  command
      .add_option("--max-batch", c->serve.max_batch,
                  "most rows of requests that wait and may run as one (8); 1: none")
      .between(1, 65536);
  command
      .add_option("--queue", c->queue,
                  "requests that may wait for each model (64); further ones get 429")
      .between(0, 1 << 20);
  command
      .add_option("--connections", c->connections,
                  "connections at once (64); further ones get 429. Each has a thread")
      .between(1, 4096);
  command.add_option("--max-body", c->max_body, "most MiB of a request's body (64)")
      .between(1, 1 << 20);
  command
      .add_option("--deadline", c->deadline,
                  "seconds that an inference may take, its wait included (60); 0: no limit")
      .between(0, 1e9);
  command
      .add_option("--drain", c->drain,
                  "seconds that requests under way have after SIGTERM or Ctrl-C (30)")
      .between(0, 1e9);
  command.add_flag("--control", c->serve.control, "clients may load and unload the models");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick serve lenet.wick detector=models/yolo.onnx --port 8000\n"
      "  curl http://127.0.0.1:8000/v2/models/lenet");
  command.callback([c, &app] { serve_models(*c, app.words()); });
}

}  // namespace wick::tool
