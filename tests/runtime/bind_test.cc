// The session's errors for calls, values and plans that do not fit, each by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/core/packed_sequence.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/custom_op.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/sequence_programs.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/string_programs.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using fbs::ValueKind;
using test::kSym;
using test::load;
using test::open;
using test::ProgramBuilder;
using ::testing::HasSubstr;

uint32_t unknown(ProgramBuilder& p, const char* name, DType dtype) {
  return p.value(name, dtype, {}, kNoIndex, kNoIndex, 0, true);
}

TEST(Bind, CountsOfWhatIsGiven) {
  auto l = load(test::mlp());
  auto session = open(*l.program);
  float x[6] = {};
  const TensorView one(x, DType::kF32, {2, 3});
  const TensorView two[] = {one, one};
  TensorView out[3];
  EXPECT_STREQ(session->run(two, {out, 2}).message(), "2 inputs given, the program takes 1: x");
  EXPECT_STREQ(session->run(Span<const TensorView>(&one, 1), out).message(),
               "3 outputs given, the program has 2: y, r");
  const Shape shapes[] = {{2, 3}, {2, 3}};
  EXPECT_STREQ(session->bind(shapes).message(), "2 inputs given, the program takes 1");
  const Shape huge{INT64_MAX, INT64_MAX};
  EXPECT_THAT(session->bind(Span<const Shape>(&huge, 1)).message(), HasSubstr("input x: "));
  const TensorView wide(x, DType::kF32, huge);
  EXPECT_THAT(session->run(Span<const TensorView>(&wide, 1), {out, 2}).message(),
              HasSubstr("input x: "));
  for (int64_t batch : {0, 65}) {
    const Shape shape{batch, 3};
    EXPECT_THAT(session->bind(Span<const Shape>(&shape, 1)).message(),
                HasSubstr("allowed are 1 to 64"));
  }
}

// Names of ports that find no room in the message are left out.
TEST(Bind, LongNames) {
  ProgramBuilder p;
  std::vector<uint32_t> in;
  for (char c : {'a', 'b', 'c'})
    in.push_back(p.value(std::string(300, c).c_str(), DType::kF32, {}));
  p.entry("main", in, {});
  auto l = load(p.finish());
  auto session = open(*l.program);
  const Status s = session->run(Span<const TensorView>{}, Span<TensorView>{});
  EXPECT_THAT(s.message(), HasSubstr("0 inputs given, the program takes 3"));
  EXPECT_THAT(s.message(), ::testing::Not(HasSubstr("ccc")));
}

TEST(Bind, InputsThatNobodyCanRead) {
  auto l = load(test::mlp());
  auto session = open(*l.program);
  alignas(8) char bytes[40] = {};
  const TensorView crooked(bytes + 1, DType::kF32, {2, 3});
  TensorView out[2];
  EXPECT_THAT(session->run(Span<const TensorView>(&crooked, 1), out).message(),
              HasSubstr("must be contiguous and aligned"));
  auto texts = load(test::greeting());
  session = open(*texts.program);
  for (StringRef s : {StringRef{nullptr, 3}, StringRef{"x", SIZE_MAX}}) {
    const TensorView in(&s, DType::kString, {1});
    EXPECT_STREQ(session->run(Span<const TensorView>(&in, 1), {out, 1}).message(),
                 "input x: string 0 has no bytes");
  }
}

// Kernels read a bool as C++ does: 3 and 5 are as true as 1, but Xor found them to differ, and a
// device's Not made 2 of 3.
TEST(Bind, BoolsAreZeroOrOne) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kBool, {3}), y = p.value("y", DType::kBool, {3});
  p.node(OpId::kNot, {x}, {y});
  p.entry("main", {x}, {y});
  auto l = load(p.finish());
  auto session = open(*l.program);
  uint8_t mask[] = {1, 0, 255};
  const TensorView in(mask, DType::kBool, {3});
  TensorView out;
  EXPECT_STREQ(session->run(Span<const TensorView>(&in, 1), {&out, 1}).message(),
               "input x: byte 2 of its bools is 255, not 0 or 1");
  mask[2] = 1;
  ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), {&out, 1}).ok());
  EXPECT_EQ(out.as<uint8_t>()[1], 1);
  EXPECT_EQ(out.as<uint8_t>()[2], 0);
}

TEST(Bind, OutputsOfAnotherForm) {
  auto l = load(test::mlp());
  auto session = open(*l.program);
  float x[6] = {}, y[8];
  const TensorView in(x, DType::kF32, {2, 3});
  TensorView out[2] = {TensorView(), TensorView(y, DType::kF32, {2, 2}, {4, 2})};
  EXPECT_THAT(
      session->run(Span<const TensorView>(&in, 1), out).message(),
      HasSubstr("output r has shape [2,2], the buffer given [2,2] (it must be contiguous)"));
}

TEST(Bind, ASymbolIsOneSize) {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym}), y = p.value("y", DType::kF32, {kSym});
  p.entry("main", {x, y}, {x, y});
  auto l = load(p.finish());
  auto session = open(*l.program);
  const Shape good[] = {{3}, {3}}, bad[] = {{3}, {4}};
  EXPECT_TRUE(session->bind(good).ok());
  EXPECT_THAT(session->bind(bad).message(), HasSubstr("input y: n is 4 here and 3 in another"));
}

// A size that the model was not captured for is named where shapes do not fit, and only there.
TEST(Bind, ASizeThatIsNoMultipleIsNamed) {
  ProgramBuilder p;
  p.symbol("height", 1, 64);
  auto x = p.value("x", DType::kF32, {kSym}), y = unknown(p, "y", DType::kF32);
  auto eight = p.constant<float>("eight", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  p.node(OpId::kAdd, {x, eight}, {y}, NoAttrs{}, "sum");
  p.entry("main", {x}, {y});
  p.metadata("wick.multiple_of.height", "4");
  auto l = load(p.finish());
  auto session = open(*l.program);
  const auto bound = [&](int64_t height) {
    const Shape shape{height};
    return session->bind({&shape, 1});
  };
  EXPECT_TRUE(bound(8).ok());
  EXPECT_TRUE(bound(1).ok());
  EXPECT_THAT(bound(6).message(),
              HasSubstr("height is 6, the model takes multiples of 4: node sum"));
  EXPECT_THAT(bound(12).message(), ::testing::StartsWith("node sum"));
}

// A name for which there is no room is not looked up by its beginning.
TEST(Bind, AMultipleOfALongNameIsNotSaid) {
  ProgramBuilder p;
  const std::string name(200, 'h');
  p.symbol(name.c_str(), 1, 64);
  auto x = p.value("x", DType::kF32, {kSym}), y = unknown(p, "y", DType::kF32);
  auto eight = p.constant<float>("eight", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  p.node(OpId::kAdd, {x, eight}, {y}, NoAttrs{}, "sum");
  p.entry("main", {x}, {y});
  for (size_t length : {142u, 143u, 144u, 200u})
    p.metadata(("wick.multiple_of." + name.substr(0, length)).c_str(), "4");
  auto l = load(p.finish());
  auto session = open(*l.program);
  const Shape shape{6};
  EXPECT_THAT(session->bind({&shape, 1}).message(), ::testing::StartsWith("node sum"));
}

// Sequences of strings, and optionals that say something else than they hold.
TEST(Bind, PackedValuesThatAreNotSound) {
  alignas(8) char place[1024];
  auto packed = [&](DType dtype, bool present, std::vector<TensorView> elements, DType kind) {
    PackedSize size(static_cast<int64_t>(elements.size()));
    for (const TensorView& v : elements) EXPECT_TRUE(size.add(dtype, v.shape).ok());
    PackedWriter w(place, *size.bytes(), dtype, static_cast<int64_t>(elements.size()), present);
    for (const TensorView& v : elements) w.add(v);
    return TensorView(place, kind, {*size.bytes()});
  };
  auto text = [&](ValueKind kind, DType element, const TensorView& v) {
    ProgramBuilder p;
    auto o = p.packed("o", kind, element);
    p.entry("main", {o}, {o});
    auto l = load(p.finish(kFeatureNonTensor));
    auto session = open(*l.program);
    TensorView out;
    return std::string(
        session->run(Span<const TensorView>(&v, 1), Span<TensorView>(&out, 1)).message());
  };
  float f = 1;
  const TensorView one(&f, DType::kF32, {});
  EXPECT_EQ(
      text(ValueKind::Optional, DType::kF32, packed(DType::kF32, true, {one}, DType::kOptional)),
      "");
  EXPECT_EQ(
      text(ValueKind::Optional, DType::kF32, packed(DType::kF32, false, {}, DType::kOptional)), "");
  EXPECT_THAT(text(ValueKind::Optional, DType::kF32,
                   packed(DType::kF32, true, {one, one}, DType::kOptional)),
              HasSubstr("an optional tensor holds one element or none"));
  EXPECT_THAT(
      text(ValueKind::Optional, DType::kF32, packed(DType::kF32, true, {}, DType::kOptional)),
      HasSubstr("an optional tensor holds one element or none"));
  EXPECT_THAT(
      text(ValueKind::Sequence, DType::kF32, packed(DType::kF32, false, {}, DType::kSequence)),
      HasSubstr("a sequence cannot be absent"));
  EXPECT_THAT(
      text(ValueKind::Sequence, DType::kF64, packed(DType::kF32, true, {}, DType::kSequence)),
      HasSubstr("its elements are float32, the program takes float64"));
  TensorView square = packed(DType::kF32, true, {}, DType::kSequence);
  square = TensorView(place, DType::kSequence, {1, square.shape[0]});
  EXPECT_THAT(text(ValueKind::Sequence, DType::kF32, square),
              HasSubstr("a packed value has the shape [bytes]"));
  StringRef good = {"ab", 2};
  const TensorView words(&good, DType::kString, {1});
  EXPECT_EQ(text(ValueKind::Sequence, DType::kString,
                 packed(DType::kString, true, {words}, DType::kSequence)),
            "");
}

// More inputs than a call keeps without asking for memory.
TEST(Bind, ManyInputs) {
  ProgramBuilder p;
  p.symbol("n");
  std::vector<uint32_t> in;
  for (int i = 0; i < 20; ++i)
    in.push_back(p.value(("x" + std::to_string(i)).c_str(), DType::kF32, {kSym}));
  auto y = unknown(p, "y", DType::kF32);
  p.node(OpId::kConcat, in, {y}, AxisAttrs{0});
  p.entry("main", in, {y});
  float x[3] = {1, 2, 3};
  const auto run = [&](Session& session) -> Status {
    for (int64_t n : {2, 3}) {
      std::vector<TensorView> views(20, TensorView(x, DType::kF32, {n}));
      TensorView out;
      WICK_TRY(session.run(views, Span<TensorView>(&out, 1)));
      EXPECT_EQ(out.shape, (Shape{20 * n}));
    }
    return {};
  };
  EXPECT_GT(test::with_each_allocation_failing(p.finish(), 1, run), 8);
}

// An entry point of nothing.
TEST(Bind, NothingAtAll) {
  ProgramBuilder p;
  p.entry("main", {}, {});
  auto l = load(p.finish());
  auto session = open(*l.program);
  EXPECT_TRUE(session->run(Span<const TensorView>{}, Span<TensorView>{}).ok());
}

// Small constants of a mapped file are copied, empty ones too.
TEST(Bind, SmallConstantsOfAMappedFile) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2}),
       w = p.constant<float>("w", {2}, {1, 2}), none = p.constant<float>("none", {0}, {}),
       z = p.value("z", DType::kF32, {2});
  p.node(OpId::kAdd, {w, x}, {y}, NoAttrs{}, "add");
  p.node(OpId::kConcat, {y, none}, {z}, AxisAttrs{0}, "join");
  p.entry("main", {x}, {z, w, none});
  const auto file = p.finish();
  const std::string path = test::temp_folder() + "wick_bind_test.wick";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  LoadOptions options;
  options.weights = WeightsIn::kMap;
  auto program = Program::load(path.c_str(), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = open(**program);
  float data[2] = {10, 20};
  const TensorView in(data, DType::kF32, {2});
  TensorView out[3];
  ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
  EXPECT_EQ(out[0].as<float>()[1], 22);
  EXPECT_NE(out[1].data, (*program)->constants()[0].view.data);
  EXPECT_EQ(out[1].as<float>()[1], 2);
  remove(path.c_str());
}

// Weights that somebody lends, and cannot when they are needed: by what runs, what a plan
// evaluates, what is handed out.
class Lender final : public LentBytes {
 public:
  bool filled() const override { return fills > 0; }
  Status fill() override {
    ++fills;
    return broken ? Status(Code::kIo, "the lender is gone") : Status();
  }
  Status read(void*) override { return fill(); }
  int fills = 0;
  bool broken = false;
};

TEST(Bind, LentWeightsAreFilledForWhoReadsThem) {
  enum Reader { kNobody, kLarge, kSmall, kOutput, kApart };
  for (Reader reader : {kNobody, kLarge, kSmall, kOutput, kApart}) {
    for (bool broken : {false, true}) {
      const int64_t n = reader == kSmall ? 4 : 40000;
      ProgramBuilder p;
      auto x = p.value("x", DType::kF32, {1});
      auto w = p.constant<float>("w", {n}, std::vector<float>(static_cast<size_t>(n), 1));
      std::vector<uint32_t> outs = {x};
      auto y = unknown(p, "y", reader == kApart ? DType::kI64 : DType::kF32);
      if (reader == kLarge || reader == kSmall) p.node(OpId::kAdd, {w, x}, {y}, NoAttrs{}, "add");
      if (reader == kApart) p.node(OpId::kNonZero, {w}, {y}, NoAttrs{}, "places");
      if (reader == kOutput)
        outs.push_back(w);
      else if (reader != kNobody)
        outs.push_back(y);
      p.entry("main", {x}, outs);
      const auto file = p.finish(kFeatureLent);
      auto bytes = test::aligned_copy(file);
      const std::vector<float> ones(static_cast<size_t>(n), 1);
      auto place = test::aligned_copy(
          {reinterpret_cast<const uint8_t*>(ones.data()), ones.size() * sizeof(float)});
      Lender lender;
      const LentSegment lent[] = {{{place.get(), ones.size() * sizeof(float)}, &lender}};
      LoadOptions options;
      options.lent = lent;
      auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
      ASSERT_TRUE(program.ok()) << program.status().message();
      EXPECT_EQ(lender.fills, 0);
      lender.broken = broken;
      auto session = Session::create(**program);
      if (reader == kNobody) {
        EXPECT_TRUE(session.ok());
        EXPECT_EQ(lender.fills, 0);
        continue;
      }
      EXPECT_EQ(session.ok(), !broken) << reader;
      EXPECT_GT(lender.fills, 0);
      if (broken) {
        EXPECT_STREQ(session.status().message(), "constant w: the lender is gone");
      }
    }
  }
}

// Values that plans compute: sizes from reals, integers of half a byte, and a view of a constant
// that is too large to be copied ahead.
TEST(Bind, ValuesThatPlansRead) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1, 1, 2, 2}), big = unknown(p, "big", DType::kF32);
  auto scales = p.constant<float>("scales", {4}, {1, 1, 2, 2});
  p.node(OpId::kResize, {x, kNoIndex, scales}, {big}, ResizeAttrs{}, "resize");
  auto half = p.value("half", DType::kU4, {3},
                      p.constant_only("half", {3}, std::vector<uint8_t>{0x21, 3}, 0, DType::kU4));
  auto whole = unknown(p, "whole", DType::kI32);
  p.node(OpId::kCast, {half}, {whole}, CastAttrs{static_cast<int64_t>(DType::kI32)}, "cast");
  auto w = p.constant<float>("w", {40000}, std::vector<float>(40000, 3));
  auto to = p.constant<int64_t>("to", {2}, {200, 200});
  auto turned = unknown(p, "turned", DType::kF32), sum = unknown(p, "sum", DType::kF32);
  p.node(OpId::kReshape, {w, to}, {turned}, ReshapeAttrs{}, "turn");
  auto row = p.constant<float>("row", {40000}, std::vector<float>(40000, 1));
  auto y = p.value("y", DType::kF32, {40000});
  p.node(OpId::kAdd, {row, y}, {sum}, NoAttrs{}, "sum");
  p.entry("main", {x, y}, {big, whole, turned, sum});
  auto l = load(p.finish());
  auto session = open(*l.program);
  float data[4] = {1, 2, 3, 4};
  std::vector<float> many(40000, 5);
  const TensorView in[] = {TensorView(data, DType::kF32, {1, 1, 2, 2}),
                           TensorView(many.data(), DType::kF32, {40000})};
  TensorView out[4];
  const Status s = session->run(in, out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out[0].shape, (Shape{1, 1, 4, 4}));
  EXPECT_EQ(out[1].as<int32_t>()[2], 3);
  EXPECT_EQ(out[2].shape, (Shape{200, 200}));
  EXPECT_EQ(out[2].as<float>()[39999], 3);
  EXPECT_EQ(out[3].as<float>()[39999], 6);
}

// An op does not write over an operand that is larger, of another dtype, a constant or read twice.
TEST(Bind, OperandsThatAreLeftAlone) {
  ProgramBuilder p;
  auto v = [&](const char* name, std::vector<int64_t> dims) {
    return p.value(name, DType::kF32, dims);
  };
  auto x = v("x", {1, 2}), r = v("r", {1, 2}), wide = v("wide", {2, 2}), c = v("c", {2, 2}),
       y = v("y", {2, 2});
  auto m = p.constant<float>("m", {2, 1}, {1, 2}), most = p.constant<float>("most", {}, {3});
  p.node(OpId::kRelu, {x}, {r}, NoAttrs{}, "relu");
  p.node(OpId::kAdd, {r, m}, {wide}, NoAttrs{}, "spread");
  p.node(OpId::kClip, {wide, kNoIndex, most}, {c}, NoAttrs{}, "clip");
  p.node(OpId::kMul, {c, c}, {y}, NoAttrs{}, "square");
  p.entry("main", {x}, {y});
  auto l = load(p.finish());
  auto session = open(*l.program);
  float data[2] = {-1, 4};
  const TensorView in(data, DType::kF32, {1, 2});
  TensorView out;
  const Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  ASSERT_TRUE(s.ok()) << s.message();
  const float want[] = {1, 9, 4, 9};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.as<float>()[i], want[i]);
}

// Nor over one with another layout: the sum has blocks of channels, the last one of which is not
// full, and takes more bytes than the Tanh, which has none.
TEST(Bind, OperandsOfAnotherLayoutAreLeftAlone) {
  constexpr int64_t kChannels = 29, kSide = 6;
  ProgramBuilder p;
  const auto v = [&](const char* name) {
    return p.value(name, DType::kF32, {1, kChannels, kSide, kSide});
  };
  auto x = v("x"), t = v("t"), c = v("c"), sum = v("sum"), y = v("y"), z = v("z");
  auto w = p.constant<float>("w", {kChannels, kChannels, 3, 3},
                             test::ramp(kChannels * kChannels * 9, 0.01f));
  ConvAttrs conv;
  conv.pads = {1, 1, 1, 1};
  p.node(OpId::kTanh, {x}, {t}, NoAttrs{}, "tanh");
  p.node(OpId::kConv, {x, w}, {c}, conv, "conv");
  p.node(OpId::kAdd, {t, c}, {sum}, NoAttrs{}, "sum");
  p.node(OpId::kConv, {sum, w}, {y}, conv, "again");
  p.node(OpId::kConv, {c, w}, {z}, conv, "beside");
  p.entry("main", {x}, {y, z});
  auto l = load(p.finish());
  const auto data = test::ramp(kChannels * kSide * kSide, 0.05f);
  const TensorView in(const_cast<float*>(data.data()), DType::kF32, {1, kChannels, kSide, kSide});
  std::vector<float> made[2];
  for (bool reference : {false, true}) {
    static const KernelSet* const plain[] = {&kReferenceKernels};
    SessionOptions options;
    if (reference) options.kernels = plain;
    auto session = open(*l.program, options);
    TensorView out[2];
    const Status s = session->run({&in, 1}, out);
    ASSERT_TRUE(s.ok()) << s.message();
    for (const TensorView& o : out)
      made[reference ? 1 : 0].insert(made[reference ? 1 : 0].end(), o.as<float>(),
                                     o.as<float>() + o.numel());
  }
  EXPECT_TRUE(test::same_bits(made[0], made[1]));
}

// An op of the user's may write over its first input. One node leaves it out, another one has no
// inputs at all.
TEST(Bind, AnOpThatMayWriteOverAnInputThatIsNotThere) {
  constexpr int64_t kMany = 20000;  // too many to be evaluated by the plan
  static constexpr KernelRow kFill[] = {
      {"test.fill", kInPlace, [](const KernelQuery&) { return true; }, nullptr, nullptr,
       [](const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
          const void*) -> Status {
         const bool there = !in.empty() && in[0].data != nullptr;
         for (int64_t i = 0; i < kMany; ++i)
           out[0].as<float>()[i] = there ? 2 * in[0].as<float>()[i] : 7;
         return {};
       }}};
  static constexpr KernelRow kUnfit[] = {
      {"test.unfit", 0, [](const KernelQuery&) { return false; }, nullptr, nullptr, kFill[0].run}};
  const auto shape = [](OpShapes& c) -> Status {
    c.out[0].dtype = DType::kF32;
    c.out[0].shape = {OpDim(kMany)};
    return {};
  };
  const CustomOp fill = {.domain = "my",
                         .name = "Fill",
                         .min_inputs = 0,
                         .max_inputs = 2,
                         .shape = shape,
                         .kernels = kFill};
  CustomOp unfit = fill;
  unfit.kernels = kUnfit;
  ProgramBuilder p;
  p.custom_op("my", "Fill");
  const auto v = [&](const char* name) { return p.value(name, DType::kF32, {kMany}); };
  auto x = v("x"), a = v("a"), r = v("r"), b = v("b"), c = v("c");
  p.node_raw(kFirstCustomOp, {}, {a}, {}, "none");
  p.node_raw(kFirstCustomOp, {kNoIndex, x}, {b}, {}, "absent");
  p.node(OpId::kRelu, {x}, {r}, NoAttrs{}, "relu");
  p.node_raw(kFirstCustomOp, {r}, {c}, {}, "given");
  p.entry("main", {x}, {a, b, c});
  const auto file = p.finish(kFeatureCustomOps);
  auto bytes = test::aligned_copy(file);
  std::vector<float> data(kMany, 4);
  const TensorView in(data.data(), DType::kF32, {kMany});
  for (const CustomOp* const op : {&fill, static_cast<const CustomOp*>(&unfit)}) {
    const CustomOp* const given[] = {op};
    LoadOptions load_options;
    load_options.custom_ops = given;
    auto program = Program::load({bytes.get(), file.size()}, load_options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    if (op == &unfit) {
      EXPECT_THAT(
          Session::create(**program).status().message(),
          HasSubstr("3 steps have no kernel: my::Fill of no input (node none), my::Fill of"));
      continue;
    }
    auto session = open(**program);
    TensorView out[3];
    const Status s = session->run({&in, 1}, out);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out[0].as<float>()[kMany - 1], 7);
    EXPECT_EQ(out[1].as<float>()[kMany - 1], 7);
    EXPECT_EQ(out[2].as<float>()[kMany - 1], 8);
  }
}

// Kernels that a session does not have are listed as far as there is room.
TEST(Bind, KernelsThatAreNotThere) {
  static const KernelSet none = {"none", {}};
  static const KernelSet* const nothing[] = {&none};
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1});
  uint32_t y = x;
  for (int i = 0; i < 30; ++i) {
    const uint32_t next = p.value("", DType::kF32, {1});
    p.node(OpId::kRelu, {y}, {next}, NoAttrs{},
           ("a_node_with_a_name_" + std::to_string(i)).c_str());
    y = next;
  }
  auto end = p.value("end", DType::kF32, {1});
  p.node(OpId::kNeg, {y}, {end});
  p.entry("main", {x}, {end});
  auto l = load(p.finish());
  SessionOptions options;
  options.kernels = nothing;
  const Status s = Session::create(*l.program, options).status();
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), HasSubstr("31 steps have no kernel: Relu of float32 (node a_node"));
  EXPECT_THAT(s.message(), ::testing::Not(HasSubstr("Neg")));
}

// Sizes computed from shapes and reals, behind `before` other steps.
std::vector<uint8_t> sizes_of_sizes(int before) {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym, 1, 2, 2});
  uint32_t h = x;
  for (int i = 0; i < before; ++i) {
    const uint32_t next = p.value("h", DType::kF32, {kSym, 1, 2, 2});
    p.node(OpId::kRelu, {h}, {next});
    h = next;
  }
  auto s = p.value("s", DType::kI64, {4}), n = p.value("n0", DType::kI64, {1});
  auto zero = p.constant<int64_t>("zero", {1}, {0}), rest = p.constant<int64_t>("rest", {1}, {-1});
  auto to = p.value("to", DType::kI64, {2});
  auto scales = p.constant<float>("scales", {4}, {1, 1, 2, 2});
  auto third = p.constant<int32_t>("third", {1}, {3});
  auto one = p.constant<float>("one", {1}, {1});
  auto size = p.value("size", DType::kI64, {1}), flat = unknown(p, "flat", DType::kF32),
       big = unknown(p, "big", DType::kF32), tiled = unknown(p, "tiled", DType::kF32);
  p.node(OpId::kShape, {h}, {s}, ShapeOpAttrs{});
  p.node(OpId::kGather, {s, zero}, {n}, AxisAttrs{0});
  p.node(OpId::kConcat, {n, rest}, {to}, AxisAttrs{0});
  p.node(OpId::kReshape, {h, to}, {flat}, ReshapeAttrs{});
  p.node(OpId::kResize, {h, kNoIndex, scales}, {big}, ResizeAttrs{}, "resize");
  p.node(OpId::kCast, {third}, {size}, CastAttrs{static_cast<int64_t>(DType::kI64)});
  p.node(OpId::kExpand, {one, size}, {tiled});
  p.entry("main", {x}, {flat, big, tiled});
  return p.finish();
}

// Every budget from nothing to enough: a Status, and nothing leaks. More steps before others let
// each of what follows be the one that finds no room.
TEST(Bind, EveryBudgetIsKept) {
  struct Form {
    std::vector<uint8_t> file;
    std::vector<TensorView> in;
  };
  static float x[64 * 3], image[4 * 16 * 16], row[2] = {1, 2}, more[2] = {3, 4};
  static int64_t trips = 3;
  static uint8_t go = 1;
  static StringRef words[2] = {{"you", 3}, {"world", 5}};
  static std::vector<float> square(40, 1.0f);
  std::vector<Form> forms = {
      {test::mlp(), {TensorView(x, DType::kF32, {2, 3})}},
      {test::small_cnn(), {TensorView(image, DType::kF32, {1, 4, 16, 16})}},
      {test::growing_loop(),
       {TensorView(&trips, DType::kI64, {}), TensorView(&go, DType::kBool, {}),
        TensorView(row, DType::kF32, {1, 2}), TensorView(more, DType::kF32, {1, 2})}},
      {test::branches(), {TensorView(&go, DType::kBool, {1}), TensorView(x, DType::kF32, {4})}},
      {test::greeting(), {TensorView(words, DType::kString, {2})}},
  };
  for (int before = 0; before < 24; ++before)
    forms.push_back(
        {sizes_of_sizes(before), {TensorView(square.data(), DType::kF32, {2, 1, 2, 2})}});
  uint64_t enough = 0;
  for (const Form& form : forms) {
    auto l = load(form.file);
    // of the steps before others, what is far below the last budget is tried once
    uint64_t most =
        form.in.size() == 1 && form.in[0].rank() == 4 && enough > 9000 ? enough - 9000 : 256;
    for (;; most += most < 30000 ? 24 : 4000) {
      test::CountingAllocator allocator;
      SessionOptions options;
      options.allocator = &allocator;
      options.threads = 1;
      options.max_ram = most;
      Status s;
      {
        auto session = Session::create(*l.program, options);
        s = session.status();
        if (session.ok()) {
          std::vector<TensorView> out((*session)->output_count());
          s = (*session)->run(form.in, {out.data(), out.size()});
        }
      }
      EXPECT_EQ(allocator.alive, 0);
      if (s.ok()) break;
      ASSERT_EQ(s.code(), Code::kBudgetExceeded) << most << ": " << s.message();
    }
    EXPECT_GT(most, 1000u);
    enough = most;
    const auto run = [&](Session& session) -> Status {
      std::vector<TensorView> out(session.output_count());
      return session.run(form.in, {out.data(), out.size()});
    };
    EXPECT_GT(test::with_each_allocation_failing(form.file, 1, run), 4);
  }
}

}  // namespace
}  // namespace wick
