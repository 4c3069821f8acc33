// Forms that convolution networks have between their convolutions, each as a small graph: the
// session's blocks of channels, the session with plain values, and the plain loops give the same
// bits, and the steps that the form is about stay in blocks. Channels fill no whole block, batches
// change, one thread and three.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "runtime/backend/explain.h"
#include "runtime/exec/session.h"
#include "runtime/kernels/blocked/blocked.h"
#include "wick/compile.h"

namespace wick {
namespace {

// What explain() tells of the steps of an op.
struct Steps {
  int all = 0, made = 0, read = 0;  // how many; how many with outputs, and inputs, in blocks
};
class Layouts final : public ExplainHook {
 public:
  void on_step(const PlacedStep& step) override {
    Steps& s = of[step.op];
    const auto any = [](Span<const TensorView> list) {
      for (const TensorView& v : list) {
        if (v.block != 0) return 1;
      }
      return 0;
    };
    ++s.all, s.made += any(step.out), s.read += any(step.in);
  }
  std::map<std::string, Steps> of;
};

// A hook that keeps values plain.
class Plain final : public TraceHook {
 public:
  void on_op(const TraceEvent&) override {}
};

struct Net {
  explicit Net(int64_t channels, int64_t size = 9)
      : engine(static_cast<uint32_t>(channels)), shape{1, channels, size, size + 2} {
    SymShape s = to_symbolic(shape);
    s[0] = g.symbol("n");
    x = g.add_input("x", DType::kF32, s);
  }
  HostTensor floats(const Shape& s) {
    HostTensor t(DType::kF32, s);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = static_cast<float>(engine() % 20001) / 10000 - 1;
    return t;
  }
  ir::ValueId constant(const Shape& s) { return g.add_constant(floats(s)); }
  ir::ValueId conv(ir::ValueId v, int64_t in, int64_t out, int64_t k = 1) {
    ConvAttrs a;
    a.pads = {k / 2, k / 2, k / 2, k / 2};
    return g.emit(OpId::kConv, a, {v, constant({out, in, k, k}), constant({out})});
  }
  // Each channel has its own kernel. Such a convolution has a fast form in blocks only, so that a
  // value before or behind it is in blocks if it can be.
  ir::ValueId own(ir::ValueId v, int64_t channels) {
    ConvAttrs a;
    a.pads = {1, 1, 1, 1};
    a.group = channels;
    return g.emit(OpId::kConv, a, {v, constant({channels, 1, 3, 3}), constant({channels})});
  }

  std::mt19937 engine;
  ir::Graph g;
  Shape shape;
  ir::ValueId x;
};

// Runs the network in all ways. Returns where its steps lie for the last batch.
Layouts check(Net& net, ir::ValueId y, const std::string& what) {
  Layouts layouts;
  net.g.add_output("y", y);
  const std::vector<uint8_t> bytes = compile_program(net.g);
  HostTensor file(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size());
  auto program = Program::load({file.as<uint8_t>(), file.nbytes()});
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return layouts;
  for (const int threads : {1, 3}) {
    for (const bool plain : {false, true}) {
      Plain hook;
      SessionOptions options;
      options.threads = threads;
      if (plain) options.trace = &hook;
      auto session = Session::create(*program.value(), options);
      EXPECT_TRUE(session.ok()) << session.status().message();
      if (!session.ok()) return layouts;
      for (const int64_t batch : {1, 3, 2}) {
        Shape shape = net.shape;
        shape[0] = batch;
        const HostTensor x = net.floats(shape);
        const HostTensor want = ir::run(net.g, {&x, 1})[0];
        const TensorView in = x.view();
        TensorView out;
        const Status s = session.value()->run({&in, 1}, {&out, 1});
        EXPECT_TRUE(s.ok()) << s.message();
        if (!s.ok()) return layouts;
        EXPECT_EQ(out.block, 0);
        EXPECT_EQ(out.nbytes(), want.nbytes());
        EXPECT_EQ(std::memcmp(out.data, want.data(), want.nbytes()), 0)
            << what << ": " << (plain ? "plain" : "in blocks") << ", " << threads
            << " threads, batch " << batch;
      }
      Layouts found;
      EXPECT_TRUE(session.value()->explain(found).ok());
      for (const auto& [op, steps] : found.of) {
        EXPECT_TRUE(!plain || steps.made + steps.read == 0) << what << ": " << op;
      }
      if (!plain) layouts = found;
    }
  }
  return layouts;
}

// All steps of the op read and make blocks, and there are that many.
void stays(Layouts& found, const char* op, int count, const std::string& what) {
  const Steps s = found.of[op];
  EXPECT_EQ(s.all, count) << what << ": " << op;
  if (blocked_kernels().lanes == 0) return;
  EXPECT_EQ(s.made, count) << what << ": outputs of " << op;
  EXPECT_EQ(s.read, count) << what << ": inputs of " << op;
}

constexpr int64_t kChannels[] = {13, 24, 29, 58};

TEST(LayoutForms, SqueezeAndExcite) {
  for (const int64_t c : kChannels) {
    for (const bool hard : {false, true}) {
      const std::string what = std::to_string(c) + (hard ? " hard" : "");
      Net net(c);
      ir::ValueId v = net.own(net.conv(net.x, c, c), c);
      ReduceAttrs a;
      a.axes = {2, 3};
      ir::ValueId s = net.conv(net.g.emit(OpId::kReduceMean, a, {v}), c, 8);
      s = net.conv(net.g.emit(OpId::kRelu, {s}), 8, c);
      s = hard ? net.g.emit(OpId::kHardSigmoid, HardSigmoidAttrs{1.0 / 6, 0.5}, {s})
               : net.g.emit(OpId::kSigmoid, {s});
      Layouts found = check(net, net.conv(net.own(net.g.emit(OpId::kMul, {v, s}), c), c, 16), what);
      stays(found, "Mul", 1, what);
      EXPECT_EQ(found.of["HardSigmoid"].all + found.of["Sigmoid"].all, 0) << what;
    }
  }
}

TEST(LayoutForms, GatesByParts) {
  for (const int64_t c : kChannels) {
    for (const bool hard : {false, true}) {
      const std::string what = std::to_string(c) + (hard ? " hard" : "");
      Net net(c);
      ir::ValueId v = net.x;
      for (int i = 0; i < 3; ++i) {
        v = i == 1 ? net.own(v, c) : net.conv(v, c, c);
        const ir::ValueId gate =
            hard ? net.g.emit(OpId::kHardSigmoid, HardSigmoidAttrs{0.2, 0.5}, {v})
                 : net.g.emit(OpId::kSigmoid, {v});
        v = i == 2 ? net.g.emit(OpId::kMul, {gate, v}) : net.g.emit(OpId::kMul, {v, gate});
      }
      Layouts found = check(net, v, what);
      EXPECT_EQ(found.of["FusedConv"].all, 3) << what;
      EXPECT_EQ(found.of.size(), 1u) << what;
    }
  }
}

// ShuffleNet's unit: half of the channels pass, the others are convolved, both are shuffled.
TEST(LayoutForms, ChannelShuffle) {
  for (const int64_t c : {10, 24, 26, 58}) {
    for (const int64_t groups : {2, 1}) {  // 1: halves that are not shuffled
      const std::string what = std::to_string(c) + " by " + std::to_string(groups);
      Net net(2 * c);
      ir::ValueId v = net.conv(net.x, 2 * c, 2 * c);
      for (int i = 0; i < 2; ++i) {
        SplitAttrs halves;
        halves.axis = 1;
        halves.sizes = {c, c};
        const ir::NodeId split = net.g.add_node(OpId::kSplit, AnyAttrs::of(halves), {v}, 2);
        const ir::ValueId left = net.g.node(split).outputs[0], right = net.g.node(split).outputs[1];
        const ir::ValueId made = net.conv(net.own(net.conv(right, c, c), c), c, c);
        v = net.g.emit(OpId::kConcat, AxisAttrs{1}, {left, made});
        if (groups == 1) continue;
        const int64_t h = net.shape[2], w = net.shape[3];
        v = net.g.emit(OpId::kReshape, ReshapeAttrs{{-1, groups, 2 * c / groups, h, w}}, {v});
        v = net.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 1, 3, 4}}, {v});
        v = net.g.emit(OpId::kReshape, ReshapeAttrs{{-1, 2 * c, h, w}}, {v});
      }
      Layouts found = check(net, net.conv(v, 2 * c, 16), what);
      EXPECT_EQ(found.of["Transpose"].all + found.of["Reshape"].all, 0) << what;
      EXPECT_EQ(found.of["Gather"].all, groups == 1 ? 0 : 2) << what;
      if (c == 10) continue;  // so few do not fill a block of 16: they are plain
      stays(found, "Gather", groups == 1 ? 0 : 2, what);
      stays(found, "Split", 2, what);
      stays(found, "Concat", 2, what);
    }
  }
}

TEST(LayoutForms, SlicesAndGathersOfAnyChannels) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    const ir::ValueId v = net.conv(net.x, c, 48);
    SliceAttrs a;
    a.axes = {1};
    a.starts = {5}, a.ends = {5 + c > 48 ? 48 : 5 + c};
    a.steps = {1};
    const int64_t n = a.ends[0] - a.starts[0];
    const ir::ValueId part = net.g.emit(OpId::kSlice, a, {v});
    a.starts = {47}, a.ends = {47 - 2 * 14}, a.steps = {-2};
    const ir::ValueId back = net.g.emit(OpId::kSlice, a, {v});
    std::vector<int64_t> list;
    for (int64_t i = 0; i < 15; ++i) list.push_back(i % 3 == 0 ? -1 - i : (i * 29) % 48);
    const ir::ValueId some = net.g.emit(
        OpId::kGather, AxisAttrs{-3}, {v, net.g.add_constant(HostTensor::of<int64_t>({15}, list))});
    const ir::ValueId all = net.g.emit(OpId::kConcat, AxisAttrs{1}, {part, back, some});
    Layouts found = check(net, net.conv(net.own(all, n + 29), n + 29, 16), what);
    stays(found, "Slice", 2, what);
    stays(found, "Gather", 1, what);
    stays(found, "Concat", 1, what);
  }
}

// A running sum of rows has a plain kernel alone. One that meets a value in blocks is turned; two
// of them are not worth it.
TEST(LayoutForms, PlainOperands) {
  for (const int64_t c : kChannels) {
    for (const int plain : {1, 2}) {
      const std::string what = std::to_string(c) + " with " + std::to_string(plain);
      Net net(c);
      ir::ValueId v = net.own(net.conv(net.x, c, c), c);
      for (int i = 0; i < plain; ++i) {
        const ir::ValueId s = net.g.emit(OpId::kCumSum, CumulateAttrs{3}, {net.conv(net.x, c, c)});
        v = net.g.emit(i == 0 ? OpId::kMul : OpId::kSub, {v, s});
      }
      Layouts found = check(net, net.conv(net.own(v, c), c, 16), what);
      const char* op = plain == 1 ? "Mul" : "FusedElementwise";
      const Steps s = found.of[op];
      EXPECT_EQ(s.all, 1) << what;
      if (blocked_kernels().lanes == 0) continue;
      EXPECT_EQ(s.made, plain == 1 ? 1 : 0) << what;
      EXPECT_EQ(found.of["CumSum"].made + found.of["CumSum"].read, 0) << what;
    }
  }
}

TEST(LayoutForms, PlainPartsOfAConcat) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    const ir::ValueId s = net.g.emit(OpId::kCumSum, CumulateAttrs{2}, {net.conv(net.x, c, 21)});
    const ir::ValueId v = net.conv(net.x, c, c);
    const ir::ValueId all = net.g.emit(OpId::kConcat, AxisAttrs{1}, {s, v, s});
    Layouts found = check(net, net.conv(net.own(all, c + 42), c + 42, 16), what);
    stays(found, "Concat", 1, what);
  }
}

// Numbers for each channel as a constant without a batch, and a map for all channels.
TEST(LayoutForms, OperandsOfOneNumberAChannelOrAPixel) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    ir::ValueId v = net.own(net.conv(net.x, c, c), c);
    v = net.own(net.g.emit(OpId::kMul, {net.constant({c, 1, 1}), v}), c);
    ReduceAttrs a;
    a.axes = {1};
    v = net.g.emit(OpId::kSub, {v, net.g.emit(OpId::kReduceMax, a, {net.x})});
    v = net.own(v, c);
    v = net.g.emit(OpId::kDiv, {v, net.constant({1, c, net.shape[2], 1})});
    Layouts found = check(net, net.conv(net.own(v, c), c, 16), what);
    for (const char* op : {"Mul", "Sub", "Div"}) stays(found, op, 1, what);
  }
}

// A map of what the channels have in common scales them all, as spatial attention does.
TEST(LayoutForms, GatesOfPixels) {
  for (const int64_t c : {16, 48, 29}) {
    const std::string what = std::to_string(c);
    Net net(c);
    const ir::ValueId v = net.own(net.conv(net.x, c, c), c);
    ReduceAttrs a;
    a.axes = {1};
    const ir::ValueId maps =
        net.g.emit(OpId::kConcat, AxisAttrs{1},
                   {net.g.emit(OpId::kReduceMean, a, {v}), net.g.emit(OpId::kReduceMax, a, {v})});
    const ir::ValueId gate = net.g.emit(OpId::kSigmoid, {net.conv(maps, 2, 1, 3)});
    Layouts found =
        check(net, net.conv(net.own(net.g.emit(OpId::kMul, {v, gate}), c), c, 16), what);
    if (c == 29) continue;  // no whole blocks: all of it is plain
    stays(found, "Mul", 1, what);
    EXPECT_EQ(found.of["ReduceMax"].read, blocked_kernels().lanes == 0 ? 0 : 1) << what;
  }
}

// DenseNet's order: what was joined is normalized before it is convolved.
TEST(LayoutForms, BatchNormAlone) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    const ir::ValueId v = net.conv(net.x, c, c), w = net.conv(net.x, c, 16);
    const ir::ValueId all = net.g.emit(OpId::kConcat, AxisAttrs{1}, {v, w});
    HostTensor variance = net.floats({c + 16});
    for (int64_t i = 0; i < c + 16; ++i) variance.as<float>()[i] += 1.5f;
    const ir::ValueId n = net.g.emit(OpId::kBatchNorm, BatchNormAttrs{},
                                     {all, net.constant({c + 16}), net.constant({c + 16}),
                                      net.constant({c + 16}), net.g.add_constant(variance)});
    const ir::ValueId relu = net.g.emit(OpId::kRelu, {n});
    const ir::ValueId y =
        net.g.emit(OpId::kConcat, AxisAttrs{1}, {all, net.conv(relu, c + 16, 24)});
    Layouts found = check(net, net.conv(y, c + 40, 16), what);
    stays(found, "BatchNorm", 1, what);
    stays(found, "Relu", 1, what);
    stays(found, "Concat", 2, what);
  }
}

TEST(LayoutForms, SoftmaxOverChannels) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    ir::ValueId v = net.own(net.conv(net.x, c, c), c);
    v = net.own(net.g.emit(OpId::kSoftmax, AxisAttrs{1}, {v}), c);
    Layouts found = check(net, net.g.emit(OpId::kLogSoftmax, AxisAttrs{-3}, {v}), what);
    stays(found, "Softmax", 1, what);
    EXPECT_EQ(found.of["LogSoftmax"].made, 0) << what;
    EXPECT_EQ(found.of["LogSoftmax"].read, blocked_kernels().lanes == 0 ? 0 : 1) << what;
  }
}

TEST(LayoutForms, PadsOfEveryMode) {
  for (const int64_t c : kChannels) {
    for (const PadMode mode :
         {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
      const std::string what =
          std::to_string(c) + " mode " + std::to_string(static_cast<int>(mode));
      Net net(c);
      PadAttrs a;
      a.pads = {0, 0, 2, 1, 0, 0, 1, 3};
      a.mode = static_cast<int64_t>(mode);
      const ir::ValueId v = net.g.emit(OpId::kPad, a, {net.own(net.conv(net.x, c, c), c)});
      Layouts found = check(net, net.conv(net.own(v, c), c, 16), what);
      stays(found, "Pad", 1, what);
    }
  }
}

// ConvNeXt's block: channels last for the products, a scale of each channel, the sum.
TEST(LayoutForms, ChannelsLastAndBack) {
  for (const int64_t c : kChannels) {
    const std::string what = std::to_string(c);
    Net net(c);
    const ir::ValueId v = net.conv(net.x, c, c);
    ir::ValueId w = net.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {net.own(v, c)});
    w = net.g.emit(OpId::kLinear, {w, net.constant({c, c})});
    w = net.g.emit(OpId::kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {w});
    w = net.g.emit(OpId::kMul, {w, net.constant({c, 1, 1})});
    w = net.g.emit(OpId::kAdd, {v, w});
    Layouts found = check(net, net.conv(net.own(w, c), c, 16), what);
    stays(found, "FusedElementwise", 1, what);
    const Steps turns = found.of["Transpose"];
    EXPECT_EQ(turns.all, 2) << what;
    if (blocked_kernels().lanes == 0) continue;
    EXPECT_EQ(turns.read, 1) << what;
    EXPECT_EQ(turns.made, 1) << what;
  }
}

}  // namespace
}  // namespace wick
