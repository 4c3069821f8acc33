#include "tests/serve/models.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/core/stop.h"
#include "runtime/registry/registry.h"
#include "tests/support/dice.h"
#include "tests/support/temp_folder.h"
#include "tools/lib/model.h"
#include "wick/compile.h"
#include "wick/custom_op.h"

namespace wick::test {
namespace {

std::atomic<bool> g_closed{false};
std::atomic<int> g_runs{0};

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

Status gate(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  ++g_runs;
  while (g_closed) {
    Stop* const stop = current_stop();
    if (stop != nullptr && stop->reached()) return {};
    nap();
  }
  memcpy(out[0].data, in[0].data, in[0].nbytes());
  return {};
}
constexpr KernelRow kGateRows[] = {kernel_row<float>("gate.f32", gate)};
constexpr CustomOp kGate = {.domain = "test", .name = "Gate", .kernels = kGateRows};

HostTensor random_tensor(const Shape& shape, uint64_t seed) {
  HostTensor t(DType::kF32, shape);
  Dice dice(seed);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(dice.next() >> 40) * 0x1p-23F - 1;
  return t;
}

}  // namespace

std::string wick_file(const std::string& name, const ir::Graph& graph) {
  const std::string path = temp_folder() + name + ".wick";
  export_wick(graph, path);
  return path;
}

ir::Graph mlp(uint64_t seed) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), 33});
  const auto linear = [&](ir::ValueId from, int64_t in, int64_t out, uint64_t of) {
    const ir::ValueId w = g.add_constant(random_tensor({out, in}, of), "", true);
    const ir::ValueId b = g.add_constant(random_tensor({out}, of + 1), "", true);
    return g.emit(OpId::kLinear, {from, w, b});
  };
  const ir::ValueId h = g.emit(OpId::kRelu, {linear(x, 33, 65, seed)});
  g.add_output("y", g.emit(OpId::kSoftmax, AxisAttrs{}, {linear(h, 65, 7, seed + 10)}));
  return g;
}

ir::Graph gated() {
  const OpId op = register_op(kGate);
  ir::Graph g;
  g.add_output("y", g.emit(op, {g.add_input("x", DType::kF32, {g.symbol("batch"), 2})}));
  return g;
}

ClosedGate::ClosedGate() { g_closed = true; }
ClosedGate::~ClosedGate() { g_closed = false; }
void ClosedGate::wait_for(int runs) {
  while (g_runs < runs) nap();
}
int ClosedGate::runs() { return g_runs; }

HostTensor rows(int64_t n, int64_t width, uint64_t seed) { return random_tensor({n, width}, seed); }

std::vector<HostTensor> alone(const std::string& file, const std::vector<HostTensor>& inputs) {
  const tool::Model model = tool::Model::open(file);
  tool::Runner runner(model, {.threads = 1});
  return runner.run(inputs);
}

serve::ServeOptions test_options() {
  serve::ServeOptions options;
  options.port = 0;
  options.threads = 1;
  return options;
}

}  // namespace wick::test
