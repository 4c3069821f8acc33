#include "tests/export/corpus.h"
#include "wick/compile.h"
#include "wick/trainer.h"
#include "graph/interpreter/interpreter.h"
#include "trainer/capture/graph_tracer.h"
#include <cstdio>
using namespace wick;
int main(int argc, char** argv) {
  for (auto* f : {test::form_programs, test::layer_programs, test::model_programs})
  for (auto& p : f()) if (p.name == argv[1]) {
    p.module->eval();
    ir::Graph g = capture_call(*p.module, p.inputs, p.call);
    printf("%s\n", ir::print(g).c_str());
    auto b = onnx_bytes(g); ir::Graph h = import_onnx_bytes({b.data(), b.size()});
    printf("%s\n", ir::print(h).c_str());
  }
}
