// Random networks of convolutions and ops between them, run by a session, which keeps values in
// blocks of channels where that is faster, against the same graph on plain loops: equal bits, for
// one thread and two, for batches that change, and whichever values of the network are read.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "runtime/exec/session.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/simd.h"
#include "wick/compile.h"

namespace wick {
namespace {

// Counts the steps that ran on blocks.
class Counter final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override {
    bool blocked = false;
    for (Span<const TensorView> list : {event.in, event.out}) {
      for (const TensorView& v : list) blocked = blocked || v.block != 0;
    }
    if (blocked) ++steps, ops.insert(event.op);
  }
  bool takes_blocks() const override { return true; }
  int steps = 0;
  std::set<std::string> ops;
};

class Net {
 public:
  // For an odd seed the network is a plain chain of ops that can run on blocks.
  explicit Net(uint32_t seed, Products products = Products::kExact)
      : engine_(seed), products_(products), chain_(seed % 2 != 0) {
    const int64_t channels = of({3, 8, 16}), size = of({5, 9, 14, 20});
    const SymDim n = g.symbol("n");
    SymShape shape = to_symbolic(Shape{1, channels, size, size + 2});
    shape[0] = n;
    x = Shape{1, channels, size, size + 2};
    values_.push_back({g.add_input("x", DType::kF32, shape), x});
    for (int i = 0; i < 12; ++i) step();
    conv(values_.back());
    g.add_output("last", values_.back().id);
    for (int i = 0; i < 2; ++i) {
      const auto& some = chain_ ? values_[0] : values_[1 + engine_() % (values_.size() - 1)];
      g.add_output("some" + std::to_string(i), g.emit(OpId::kRelu, {some.id}));
    }
  }
  HostTensor floats(const Shape& s) {
    HostTensor t(DType::kF32, s);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = static_cast<float>(engine_() % 20001) / 10000 - 1;
    return t;
  }

  ir::Graph g;
  Shape x;

 private:
  struct Value {
    ir::ValueId id;
    Shape shape;  // for a batch of one
  };
  int64_t of(std::initializer_list<int64_t> list) { return list.begin()[engine_() % list.size()]; }
  void push(ir::ValueId id, const Shape& shape) { values_.push_back({id, shape}); }
  const Value& any() {
    const size_t back = chain_ ? 0 : engine_() % std::min<size_t>(3, values_.size());
    return values_[values_.size() - 1 - back];
  }

  void conv(const Value& v) {
    ConvAttrs a;
    const int64_t k = of({1, 1, 3, 3, 5}), kind = of({0, 0, 0, 1}), stride = of({1, 1, 1, 2});
    a.pads = {k / 2, k / 2, k / 2, k / 2};
    a.strides = {stride, stride};
    a.products = static_cast<int64_t>(products_);
    int64_t out = of({6, 8, 13, 16, 24, 40, 64});
    if (kind == 1) a.group = out = v.shape[1];
    const Shape y = {1, out, (v.shape[2] - 1) / stride + 1, (v.shape[3] - 1) / stride + 1};
    std::vector<ir::ValueId> in = {v.id, g.add_constant(floats({out, v.shape[1] / a.group, k, k}))};
    if (engine_() % 2 == 0) in.push_back(g.add_constant(floats({out})));
    push(g.emit(OpId::kConv, a, in), y);
  }
  void pool(const Value& v) {
    PoolAttrs a;
    a.kernel_shape = {3, 3};
    a.strides = {2, 2};
    a.pads = {1, 1, 1, 1};
    const Shape y = {1, v.shape[1], (v.shape[2] - 1) / 2 + 1, (v.shape[3] - 1) / 2 + 1};
    push(g.emit(engine_() % 2 == 0 ? OpId::kMaxPool : OpId::kAveragePool, a, {v.id}), y);
  }
  void squeeze(const Value& v) {
    ReduceAttrs a;
    a.axes = {2, 3};
    const ir::ValueId mean = g.emit(OpId::kReduceMean, a, {v.id});
    const ir::ValueId w = g.add_constant(floats({v.shape[1], v.shape[1], 1, 1}));
    const ir::ValueId gate = g.emit(OpId::kSigmoid, {g.emit(OpId::kConv, ConvAttrs{}, {mean, w})});
    push(g.emit(OpId::kMul, {v.id, gate}), v.shape);
  }

  void resize(const Value& v) {
    ResizeAttrs a;
    a.mode = of({0, 1});
    const Shape y = {1, v.shape[1], v.shape[2] * 2, v.shape[3]};
    if (y[2] > 20) return pool(v);
    HostTensor scales(DType::kF32, {4});
    for (int i = 0; i < 4; ++i) scales.as<float>()[i] = i == 2 ? 2.0f : 1.0f;
    push(g.emit(OpId::kResize, a, {v.id, ir::kNoValue, g.add_constant(scales)}), y);
  }
  void slice(const Value& v) {
    SliceAttrs a;
    Shape y = v.shape;
    a.axes = {1, 2};
    a.starts = {y[1] > 16 ? 16 : 0, 1};
    a.ends = {y[1], y[2]};
    y[1] -= a.starts[0], y[2] -= 1;
    if (y[2] < 4) return conv(v);
    push(g.emit(OpId::kSlice, a, {v.id}), y);
  }
  void pad(const Value& v) {
    PadAttrs a;
    a.pads = {0, 0, 1, 0, 0, 0, 0, 2};
    a.value = of({0, -3});
    Shape y = v.shape;
    y[2] += 1, y[3] += 2;
    push(g.emit(OpId::kPad, a, {v.id}), y);
  }
  void split(const Value& v) {
    if (v.shape[1] <= 16) return conv(v);
    SplitAttrs a;
    a.axis = 1;
    a.sizes = {16, v.shape[1] - 16};
    const ir::NodeId node = g.add_node(OpId::kSplit, AnyAttrs::of(a), {v.id}, 2);
    Shape y = v.shape;
    for (size_t i = 0; i < 2; ++i) {
      y[1] = a.sizes[i];
      push(g.node(node).outputs[i], y);
    }
  }

  void step() {
    const Value v = any(), w = any();
    switch (engine_() % 16) {
      case 12: return resize(v);
      case 13: return slice(v);
      case 14: return pad(v);
      case 15: return split(v);
      case 0: return pool(v);
      case 1:
      case 2: {
        const OpId op = static_cast<OpId>(
            of({static_cast<int64_t>(OpId::kRelu), static_cast<int64_t>(OpId::kSilu),
                static_cast<int64_t>(OpId::kHardSwish)}));
        return push(g.emit(op, {v.id}), v.shape);
      }
      case 3:
        if (!(v.shape == w.shape)) return conv(v);
        return push(g.emit(OpId::kAdd, {v.id, w.id}), v.shape);
      case 4: {
        if (v.shape[2] != w.shape[2] || v.shape[3] != w.shape[3]) return conv(v);
        AxisAttrs a;
        a.axis = 1;
        Shape y = v.shape;
        y[1] += w.shape[1];
        return push(g.emit(OpId::kConcat, a, {v.id, w.id}), y);
      }
      case 5: return squeeze(v);
      case 6: {
        if (chain_) return squeeze(v);
        const Shape y = {1, v.shape[1], v.shape[3], v.shape[2]};
        return push(g.emit(OpId::kTranspose, TransposeAttrs{{0, 1, 3, 2}}, {v.id}), y);
      }
      default: return conv(v);
    }
  }

  std::mt19937 engine_;
  Products products_;
  bool chain_;
  std::vector<Value> values_;
};

// Compares sessions of the network, of one thread and two, with its graph.
void expect_bits(Net& net, uint32_t seed, int* steps, std::set<std::string>* ops) {
  const std::vector<uint8_t> bytes = compile_program(net.g);
  HostTensor file(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size());
  auto program = Program::load({file.as<uint8_t>(), file.nbytes()});
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (const int threads : {1, 2}) {
    Counter counter;
    SessionOptions options;
    options.threads = threads;
    options.trace = &counter;
    auto session = Session::create(*program.value(), options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (const int64_t batch : {1, 3, 2}) {
      Shape shape = net.x;
      shape[0] = batch;
      HostTensor x = net.floats(shape);
      const std::vector<HostTensor> given = {x};
      const std::vector<HostTensor> want = ir::run(net.g, given);
      const TensorView in(x.data(), DType::kF32, shape);
      TensorView out[3];
      const Status s = session.value()->run({&in, 1}, {out, 3});
      ASSERT_TRUE(s.ok()) << s.message();
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(out[i].block, 0);
        ASSERT_EQ(out[i].nbytes(), want[i].nbytes());
        EXPECT_EQ(std::memcmp(out[i].data, want[i].data(), want[i].nbytes()), 0)
            << "seed " << seed << " threads " << threads << " batch " << batch << " output " << i
            << "\n"
            << ir::print(net.g);
      }
    }
    *steps += counter.steps;
    ops->insert(counter.ops.begin(), counter.ops.end());
  }
}

// Every convolution to which the order applies has it, fused or not.
void expect_bits(Products products, uint32_t seed) {
  std::set<std::string> ops;
  int steps = 0;
  for (uint32_t end = seed + 15; seed < end; ++seed) {
    Net net(seed, products);
    expect_bits(net, seed, &steps, &ops);
  }
  if (blocked_kernels().lanes == 0) return;
  EXPECT_GT(steps, 50);
}
TEST(Layout, WinogradsConvolutionsKeepTheirBits) { expect_bits(Products::kWinograd, 100); }
TEST(Layout, ConvolutionsOfBf16KeepTheirBits) { expect_bits(Products::kBf16, 200); }

TEST(Layout, RandomNetworksKeepTheirBits) {
  std::set<std::string> ops;
  int steps = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Net net(seed);
    expect_bits(net, seed, &steps, &ops);
  }
  std::string list;
  for (const std::string& op : ops) list += " " + op;
  std::printf("COUNT: steps on blocks of channels: %d:%s\n", steps, list.c_str());
  if (blocked_kernels().lanes == 0) return;
  EXPECT_GT(steps, 500);
  for (const char* op : {"FusedConv", "Conv", "MaxPool", "AveragePool", "Concat", "ReduceMean",
                         "Resize", "Slice", "Pad", "Split"})
    EXPECT_TRUE(ops.count(op) != 0) << op << " never ran on blocks";
}

// A hook that reads data in the tensors' own order.
class Values final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override {
    for (Span<const TensorView> list : {event.in, event.out}) {
      for (const TensorView& v : list) blocked += v.block != 0 ? 1 : 0;
    }
    std::vector<uint8_t> bytes(event.out[0].nbytes());
    std::memcpy(bytes.data(), event.out[0].data, bytes.size());
    outputs.push_back(std::move(bytes));
  }
  int blocked = 0;
  std::vector<std::vector<uint8_t>> outputs;
};

TEST(Layout, AHookThatDoesNotTakeBlocksSeesPlainValues) {
  for (uint32_t seed = 1; seed < 20; seed += 2) {
    Net net(seed);
    const std::vector<uint8_t> bytes = compile_program(net.g);
    HostTensor file(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size());
    auto program = Program::load({file.as<uint8_t>(), file.nbytes()});
    ASSERT_TRUE(program.ok()) << program.status().message();
    HostTensor x = net.floats(net.x);
    const TensorView in(x.data(), DType::kF32, net.x);
    Values plain, reference;
    for (Values* hook : {&plain, &reference}) {
      SessionOptions options;
      options.threads = 1;
      options.trace = hook;
      const KernelSet* loops = &kReferenceKernels;
      if (hook == &reference) options.kernels = {&loops, 1};
      auto session = Session::create(*program.value(), options);
      ASSERT_TRUE(session.ok()) << session.status().message();
      TensorView out[3];
      ASSERT_TRUE(session.value()->run({&in, 1}, {out, 3}).ok());
    }
    EXPECT_EQ(plain.blocked, 0);
    EXPECT_EQ(plain.outputs, reference.outputs) << "seed " << seed;
  }
}

}  // namespace
}  // namespace wick
