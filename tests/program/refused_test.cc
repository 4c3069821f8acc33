// Each check of the loader by itself: a file with a single fault, and the message for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/core/ledger.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/custom_op.h"
#include "tests/program/attack_wick.h"
#include "tests/runtime/string_programs.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using fbs::ValueKind;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using test::every_feature;
using test::ProgramBuilder;
using ::testing::HasSubstr;

Status load(const std::vector<uint8_t>& file, const LoadOptions& options = {}) {
  auto bytes = test::aligned_copy(file);
  return Program::load(Span<const uint8_t>(bytes.get(), file.size()), options).status();
}
std::string message(const std::vector<uint8_t>& file, const LoadOptions& options = {}) {
  return load(file, options).message();
}

// -- values

TEST(Refused, WhatIsNoTensorHasNothingOfOne) {
  auto text = [](auto&& build, bool unranked = true) {
    ProgramBuilder p;
    auto c = p.constant_only<float>("c", {}, {1});
    auto s = p.state("s", DType::kF32, {}, kNoIndex);
    auto name = p.fb().CreateString("v");
    auto quant = fbs::CreateQuantization(p.fb(), p.fb().CreateVector(std::vector<float>{1}));
    fbs::ValueBuilder v(p.fb());
    v.add_name(name);
    v.add_kind(ValueKind::Sequence);
    v.add_dtype(static_cast<uint8_t>(DType::kF32));
    v.add_unranked(unranked);
    build(v, c, s, quant);
    p.add_value(v.Finish());
    p.entry("main", {}, {});
    return message(p.finish(kFeatureNonTensor | kFeatureState));
  };
  const std::string refused =
      "what is no tensor has no dimensions, constant, state or quantization";
  EXPECT_EQ(text([](auto&, auto, auto, auto) {}), "");
  EXPECT_THAT(text([](auto&, auto, auto, auto) {}, false), HasSubstr(refused));
  EXPECT_THAT(text([](auto& v, auto c, auto, auto) { v.add_constant(c); }), HasSubstr(refused));
  EXPECT_THAT(text([](auto& v, auto, auto s, auto) { v.add_state(s); }), HasSubstr(refused));
  EXPECT_THAT(text([](auto& v, auto, auto, auto q) { v.add_quantization(q); }), HasSubstr(refused));
}

// A map can be said, and not run.
TEST(Refused, AMapBySessions) {
  ProgramBuilder p;
  auto m = p.packed("m", ValueKind::Map, DType::kString);
  p.entry("main", {m}, {});
  auto l = test::load(p.finish(kFeatureNonTensor));
  EXPECT_EQ(l.program->entries()[0].values[m].kind, wick::ValueKind::kMap);
  const Status s = Session::create(*l.program).status();
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_STREQ(s.message(), "value m is a map");
}

TEST(Refused, ATypeThatIsNotTheConstants) {
  auto text = [](DType dtype, const std::vector<int64_t>& dims, bool unranked, bool state) {
    ProgramBuilder p;
    p.symbol("n");
    auto c = p.constant_only<float>("c", {2}, {1, 2});
    auto s = p.state("s", DType::kF32, {2}, kNoIndex);
    p.value("v", dtype, dims, state ? kNoIndex : c, state ? s : kNoIndex, 0, unranked);
    p.entry("main", {}, {});
    return message(p.finish(kFeatureState));
  };
  for (bool state : {false, true}) {
    const std::string refused = state ? "it does not have the type of its state 0"
                                      : "it does not have the type of its constant 0";
    EXPECT_EQ(text(DType::kF32, {2}, false, state), "");
    EXPECT_THAT(text(DType::kI32, {2}, false, state), HasSubstr(refused));
    EXPECT_THAT(text(DType::kF32, {3}, false, state), HasSubstr(refused));
    EXPECT_THAT(text(DType::kF32, {2, 1}, false, state), HasSubstr(refused));
    EXPECT_THAT(text(DType::kF32, {test::kSym}, false, state), HasSubstr(refused));
    EXPECT_THAT(text(DType::kF32, {}, true, state), HasSubstr(refused));
  }
}

TEST(Refused, ScalesThatScaleNothing) {
  auto text = [](float scale, int axis = -1, std::vector<int64_t> zeros = {}) {
    ProgramBuilder p;
    auto quant = fbs::CreateQuantization(p.fb(), p.fb().CreateVector(std::vector<float>{1, scale}),
                                         p.fb().CreateVector(zeros), axis);
    p.value("v", DType::kI8, {2}, kNoIndex, kNoIndex, quant);
    p.entry("main", {}, {});
    return message(p.finish());
  };
  EXPECT_EQ(text(0.5f, 0, {1, 2}), "");
  for (float scale : {0.0f, -1.0f, INFINITY, NAN})
    EXPECT_THAT(text(scale), HasSubstr("a scale must be finite and > 0")) << scale;
  EXPECT_THAT(text(1, -2), HasSubstr("its quantization is not sound"));
  EXPECT_THAT(text(1, 1), HasSubstr("its quantization is not sound"));
  EXPECT_THAT(text(1, 0, {1}), HasSubstr("its quantization is not sound"));
}

// Lists of 8-byte elements that begin at an odd multiple of four bytes.
TEST(Refused, ListsOffTheirAlignment) {
  enum Where { kNowhere, kDims, kConstantDims, kStateDims, kZeros, kInts };
  auto text = [](Where where, uint32_t words) {
    FlatBufferBuilder b;
    b.ForceVectorAlignment(2, 4, 8);  // so that one of two places is off
    // a length of one, and the element behind it: 1
    auto all = b.CreateVector(std::vector<uint32_t>{1, 1, 1, 1, 0, 0, 0, 0});
    const Offset<flatbuffers::Vector<int64_t>> off(all.o - 4 * (words + 1));
    auto ones = [&](bool here) { return here ? off : b.CreateVector(std::vector<int64_t>{1}); };
    const Offset<flatbuffers::Vector<const fbs::Dim*>> off_dims(off.o);
    auto dims =
        where == kDims ? off_dims : b.CreateVectorOfStructs(std::vector<fbs::Dim>{{1, 0, 0}});
    auto quant =
        fbs::CreateQuantization(b, b.CreateVector(std::vector<float>{1}), ones(where == kZeros));
    auto v = fbs::CreateValue(b, b.CreateString("v"), ValueKind::Tensor, 1, false, dims, kNoIndex,
                              kNoIndex, quant);
    auto y = fbs::CreateValue(b, b.CreateString("y"), ValueKind::Tensor, 1, true);
    auto in = b.CreateVector(std::vector<uint32_t>{0}),
         out = b.CreateVector(std::vector<uint32_t>{1});
    auto attr = fbs::CreateAttr(b, 1, fbs::AttrKind::Ints, 0, 0, ones(where == kInts));
    auto node = fbs::CreateNode(b, static_cast<uint16_t>(OpId::kTranspose), 1, in, out,
                                b.CreateVector(&attr, 1));
    auto region =
        fbs::CreateRegion(b, b.CreateVector(std::vector<uint32_t>{0}),
                          b.CreateVector(std::vector<uint32_t>{1}), b.CreateVector(&node, 1));
    auto entry = fbs::CreateEntry(b, b.CreateString("main"), b.CreateVector(std::vector{v, y}),
                                  b.CreateVector(&region, 1));
    auto c = fbs::CreateConstant(b, b.CreateString("c"), 1, ones(where == kConstantDims),
                                 fbs::CreateBuffer(b, 0, 0, 4));
    auto s = fbs::CreateState(b, b.CreateString("s"), 1, ones(where == kStateDims));
    auto segment = fbs::CreateSegment(b, 0, 4);
    auto root = fbs::CreateProgram(b, 0, b.CreateVector(&segment, 1), b.CreateVector(&c, 1),
                                   b.CreateVector(&s, 1), b.CreateVector(&entry, 1));
    fbs::FinishProgramBuffer(b, root);
    const std::vector<uint8_t> four(4);
    return message(test::file_of(b, four, kFeatureState));
  };
  EXPECT_THAT(text(kNowhere, 0), ::testing::Not(HasSubstr("aligned")));
  for (Where where : {kDims, kConstantDims, kStateDims, kZeros, kInts}) {
    const std::string both = text(where, 0) + "|" + text(where, 1);
    EXPECT_THAT(both, HasSubstr("a list of 8-byte elements is not aligned")) << where;
  }
}

TEST(Refused, PortsThatAreTooMany) {
  for (int n : {4096, 4097}) {
    for (bool out : {false, true}) {
      ProgramBuilder p;
      std::vector<uint32_t> in;
      for (int i = 0; i < n; ++i)
        in.push_back(p.value(("p" + std::to_string(i)).c_str(), DType::kF32, {}));
      if (out) {
        // no more inputs than outputs: what comes out is the outputs of nodes
        std::vector<uint32_t> made;
        auto x = p.value("x", DType::kF32, {});
        for (uint32_t v : in) p.node(OpId::kRelu, {x}, {v}), made.push_back(v);
        p.entry("main", {x}, made);
      } else {
        p.entry("main", in, {});
      }
      EXPECT_EQ(message(p.finish()), n == 4096 ? ""
                                     : out     ? "entry 0 (main): 4097 outputs, at most 4096"
                                               : "entry 0 (main): 4097 inputs, at most 4096");
    }
  }
}

// -- nodes

TEST(Refused, NodesOfMoreThanCanBeCounted) {
  auto text = [](size_t in, size_t out) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {1});
    std::vector<uint32_t> made;
    for (size_t i = 0; i < out; ++i) made.push_back(p.value("", DType::kF32, {1}));
    p.node(out == 1 ? OpId::kConcat : OpId::kSplit, std::vector<uint32_t>(in, x), made);
    p.entry("main", {x}, {});
    return message(p.finish());
  };
  EXPECT_EQ(text(65535, 1), "");
  EXPECT_EQ(text(65536, 1), "entry 0 (main): node 0 (, Concat): takes 1 to 255 inputs, has 65536");
  EXPECT_EQ(text(1, 65535), "");
  EXPECT_EQ(text(1, 65536), "entry 0 (main): node 0 (, Split): has 65536 outputs, should have 255");
}

// A node without a name is called by its first output, or by its number. A custom op that is not
// given may have no output, as nothing is known of it.
TEST(Refused, NodesAreCalledByTheirOutput) {
  ProgramBuilder p;
  p.custom_op("my", "Sink");
  auto x = p.value("x", DType::kF32, {1}), y = p.value("y", DType::kF32, {1}),
       nameless = p.value("", DType::kF32, {1});
  p.node_raw(kFirstCustomOp, {x}, {}, {});
  p.node(OpId::kRelu, {x}, {nameless});
  p.node(OpId::kRelu, {nameless}, {y});
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish(kFeatureCustomOps));
  const auto nodes = l.program->entries()[0].body().nodes;
  EXPECT_STREQ(nodes[0].name, "#0");
  EXPECT_STREQ(nodes[1].name, "#1");
  EXPECT_STREQ(nodes[2].name, "y");
}

TEST(Refused, ARegionOfAnOpThatHasNone) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1}), y = p.value("y", DType::kF32, {1});
  p.region({}, {}, false);
  auto region = fbs::CreateAttr(p.fb(), kRegionField, fbs::AttrKind::Region, 1);
  p.node_raw(static_cast<uint16_t>(OpId::kLeakyRelu), {x}, {y}, {region}, "leaky");
  p.entry("main", {x}, {y});
  EXPECT_EQ(message(p.finish(kFeatureRegions)),
            "entry 0 (main): node 0 (leaky, LeakyRelu): attribute field 32768 is unknown to this "
            "build's LeakyRelu");
}

// A loop that carries one value and stacks none, whose parts may be wrong.
struct LoopParts {
  bool absent = false;  // a capture
  ValueKind given = ValueKind::Sequence, taken = ValueKind::Sequence;
  DType element = DType::kF32;  // what the body takes
  DType out = DType::kF32;      // what the body and the node give
  int64_t carried = 1;
  bool tensor = false;
};
std::string loop_message(const LoopParts& parts) {
  ProgramBuilder p;
  auto any = [&](const char* name, ValueKind kind, DType dtype) {
    return parts.tensor ? p.value(name, dtype, {1}) : p.packed(name, kind, dtype);
  };
  auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {}),
       x = any("x", parts.given, DType::kF32), i = p.value("i", DType::kI64, {}),
       c = p.value("c", DType::kBool, {}), in = any("in", parts.taken, parts.element),
       last = any("last", parts.taken, DType::kF32);
  auto result = any("result", ValueKind::Sequence, parts.out);
  auto y = any("y", ValueKind::Sequence, parts.out);
  p.node(OpId::kIdentity, {in}, {result});
  p.region({i, c, in, last}, {c, result}, false);
  p.control(OpId::kLoop, {trips, go, x, parts.absent ? kNoIndex : x}, {y}, 1,
            LoopAttrs{parts.carried}, "loop");
  p.entry("main", {trips, go, x}, {y});
  return message(p.finish(kFeatureNonTensor | kFeatureRegions));
}

TEST(Refused, RegionsThatDoNotFit) {
  EXPECT_EQ(loop_message({}), "");
  EXPECT_EQ(loop_message({.tensor = true}), "");
  EXPECT_THAT(loop_message({.absent = true}), HasSubstr("(loop, Loop): an input is absent"));
  EXPECT_THAT(loop_message({.taken = ValueKind::Optional}),
              HasSubstr("region input 2 is optional on one side and sequence on the other"));
  EXPECT_THAT(loop_message({.given = ValueKind::Tensor, .taken = ValueKind::Map}),
              HasSubstr("region input 2 is float32 on one side and float32 on the other"));
  EXPECT_THAT(loop_message({.element = DType::kI64}), HasSubstr("region input 2 is sequence on"));
  EXPECT_THAT(loop_message({.out = DType::kF64, .tensor = true}),
              HasSubstr("carried value 0 is float64 on one side and float32 on the other"));
  EXPECT_THAT(loop_message({.carried = 2}), HasSubstr("it cannot carry 2 values"));
  EXPECT_THAT(loop_message({.carried = 3}), HasSubstr("it cannot carry 3 values"));
  EXPECT_THAT(loop_message({.carried = 0}), HasSubstr("output 0 stacks what is no tensor"));
  EXPECT_EQ(loop_message({.carried = 0, .tensor = true}), "");
}

// -- custom ops

Status copy(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  memcpy(out[0].data, in[0].data, in[0].nbytes());
  return {};
}
constexpr KernelRow kCopy[] = {
    {"test.copy", kContiguous, [](const KernelQuery&) { return true; }, nullptr, nullptr, copy}};
constexpr CustomOp kSame = {.domain = "my",
                            .name = "Same",
                            .version = 2,
                            .attrs = &AttrFields<LeakyReluAttrs>::kType,
                            .kernels = kCopy};

std::vector<uint8_t> with_same(uint32_t version, std::vector<uint32_t> inputs = {0}) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
  p.custom_op("other", "Same");
  p.custom_op("my", "Other");
  p.custom_op("my", "Same", version);
  p.node_raw(kFirstCustomOp + 2, inputs, {y},
             {fbs::CreateAttr(p.fb(), 1, fbs::AttrKind::Float, 0, 0.5)}, "same");
  p.entry("main", {x}, {y});
  return p.finish(kFeatureCustomOps);
}

TEST(Refused, CustomOpsAgainstThoseGiven) {
  const CustomOp* const given[] = {&kSame};
  LoadOptions options;
  options.custom_ops = given;
  for (uint32_t version : {1u, 2u}) {
    const auto file = with_same(version);
    auto bytes = test::aligned_copy(file);
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    const NodeDef& node = (*program)->entries()[0].body().nodes[0];
    EXPECT_EQ(node.custom, &kSame);
    EXPECT_STREQ(node.info->name, "my::Same");
    EXPECT_EQ(static_cast<const LeakyReluAttrs*>(node.attrs)->alpha, 0.5);
    EXPECT_EQ((*program)->custom_ops()[0].op, nullptr);
    EXPECT_EQ((*program)->custom_ops()[1].op, nullptr);
    float data[2] = {1, 2};
    TensorView in(data, DType::kF32, {2}), out;
    auto session = test::open(**program);
    ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1)).ok());
    EXPECT_EQ(out.as<float>()[1], 2);
  }
  EXPECT_EQ(message(with_same(3), options),
            "the file was made with version 3 of my::Same, the op given is version 2: a newer "
            "library is needed");
  EXPECT_EQ(message(with_same(3)), "") << "an op that is not given is an error when it is to run";
  EXPECT_THAT(message(with_same(1, {0, 0}), options), HasSubstr("takes 1 to 1 inputs, has 2"));
  const CustomOp* const null[] = {nullptr};
  options.custom_ops = null;
  EXPECT_EQ(load(with_same(1), options).code(), Code::kInvalidArgument);
  EXPECT_EQ(message(with_same(1), options), "custom op 0 is null");
}

struct NamedAttrs {
  AttrText<8> unit;
};

}  // namespace
WICK_ATTR_FIELDS(NamedAttrs, WICK_FIELD(NamedAttrs, 1, unit));
namespace {

// Texts among the attributes of an op, which only ops of the user's have.
TEST(Refused, ATextLongerThanItsAttribute) {
  static constexpr CustomOp kNamed = {
      .domain = "my", .name = "Named", .attrs = &AttrFields<NamedAttrs>::kType, .kernels = kCopy};
  const CustomOp* const given[] = {&kNamed};
  LoadOptions options;
  options.custom_ops = given;
  const auto file = [](const std::string& unit) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
    p.custom_op("my", "Named");
    p.node_raw(
        kFirstCustomOp, {x}, {y},
        {fbs::CreateAttr(p.fb(), 1, fbs::AttrKind::String, 0, 0, 0, p.fb().CreateString(unit))},
        "named");
    p.entry("main", {x}, {y});
    return p.finish(kFeatureCustomOps);
  };
  for (const char* unit : {"", "metre", "12345678"}) {
    const auto made = file(unit);
    auto bytes = test::aligned_copy(made);
    auto program = Program::load({bytes.get(), made.size()}, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    const NodeDef& node = (*program)->entries()[0].body().nodes[0];
    EXPECT_TRUE(static_cast<const NamedAttrs*>(node.attrs)->unit == unit) << unit;
  }
  EXPECT_THAT(message(file("123456789"), options),
              HasSubstr("attribute unit has 9 characters, at most 8"));
}

// An op that cannot run is listed once. Where there is no memory to remember it in, it is still
// refused.
TEST(Refused, UnknownOpsWithoutMemoryToListThem) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2}),
       z = p.value("z", DType::kF32, {2});
  p.node_raw(9999, {x}, {y}, {});
  p.node_raw(9999, {y}, {z}, {});
  p.entry("main", {x}, {z});
  const auto file = p.finish();
  auto bytes = test::aligned_copy(file);
  int64_t refused = 0;
  for (int64_t n = 0; n < 100; ++n) {
    test::CountingAllocator allocator(n);
    LoadOptions options;
    options.allocator = &allocator;
    const Status s = Program::load({bytes.get(), file.size()}, options).status();
    EXPECT_EQ(allocator.alive, 0);
    if (s.code() == Code::kOutOfMemory) continue;
    EXPECT_EQ(s.code(), Code::kUnsupported);
    EXPECT_THAT(s.message(), HasSubstr("9999 (unknown)"));
    ++refused;
    if (allocator.calls > n) continue;
    EXPECT_STREQ(s.message(), "1 ops of the file cannot run in this build: 9999 (unknown)");
    break;
  }
  EXPECT_EQ(refused, 2);
}

// -- bytes

// Bytes that somebody lends once they are asked for.
class Lender final : public LentBytes {
 public:
  bool filled() const override { return fills > 0; }
  Status fill() override {
    if (broken) return Status(Code::kIo, "the lender is gone");
    ++fills;
    return {};
  }
  Status read(void*) override { return {}; }
  int fills = 0;
  bool broken = false;
};

// w + w2 of one segment, or two constants of it.
std::vector<uint8_t> lent_program(DType dtype, int constants) {
  ProgramBuilder p;
  for (int i = 0; i < constants; ++i) {
    const std::string name = "w" + std::to_string(i);
    p.constant_only(name.c_str(), {2}, std::vector<float>{1, 2}, 0, dtype);
  }
  p.entry("main", {}, {});
  return p.finish(kFeatureLent);
}

TEST(Refused, SegmentsThatAreNotTheProgramsOwn) {
  const float weights[18] = {1, 2};
  auto place = test::aligned_copy({reinterpret_cast<const uint8_t*>(weights), sizeof(weights)});
  const auto file = lent_program(DType::kF32, 1);
  auto with = [&](std::vector<LentSegment> lent) {
    LoadOptions options;
    options.lent = lent;
    return message(file, options);
  };
  const std::string refused = "the segments lent are not those of the program";
  EXPECT_EQ(with({Span<const uint8_t>(place.get(), 8)}), "");
  EXPECT_EQ(with({Span<const uint8_t>(place.get(), 4)}), refused);
  EXPECT_EQ(with({Span<const uint8_t>(place.get() + 4, 8)}), refused) << "off its alignment";
  EXPECT_EQ(with({Span<const uint8_t>(place.get(), 8), Span<const uint8_t>(place.get(), 8)}),
            refused);
  EXPECT_EQ(with({}), "its weights are not in the file, and nobody lent them");
  LoadOptions options;
  const LentSegment lent[] = {Span<const uint8_t>(place.get(), 8)};
  options.lent = lent;
  EXPECT_EQ(message(every_feature(), options), "weights are lent to a file that has its own");
}

// Digests are where they are, and a segment of a lent program has no place in the file.
TEST(Refused, SegmentsWithAndWithoutADigest) {
  const std::vector<uint8_t> raw(8, 1);
  auto place = test::aligned_copy(raw);
  auto text = [&](bool lent, uint64_t offset, uint64_t bytes, int digest) {
    uint8_t sum[32];
    Sha256 sha;
    if (bytes != 0) sha.update(Span<const uint8_t>(raw).subspan(0, bytes));
    sha.finish(sum);
    FlatBufferBuilder b;
    auto segment = fbs::CreateSegment(
        b, offset, bytes, digest == 0 ? 0 : b.CreateVector(sum, static_cast<size_t>(digest)));
    auto region = fbs::CreateRegion(b);
    auto entry = fbs::CreateEntry(b, b.CreateString("main"), 0, b.CreateVector(&region, 1));
    fbs::FinishProgramBuffer(
        b, fbs::CreateProgram(b, 0, b.CreateVector(&segment, 1), 0, 0, b.CreateVector(&entry, 1)));
    LoadOptions options;
    options.verify_digests = true;
    const LentSegment one[] = {Span<const uint8_t>(place.get(), static_cast<size_t>(bytes))};
    if (lent) options.lent = one;
    return message(lent ? test::file_of(b, {}, kFeatureLent) : test::file_of(b, raw), options);
  };
  for (bool lent : {false, true}) {
    for (int digest : {0, 32}) {
      for (uint64_t bytes : {0u, 8u}) EXPECT_EQ(text(lent, 0, bytes, digest), "");
    }
    EXPECT_EQ(text(lent, 0, 8, 31), "segment 0: a sha256 has 32 bytes, not 31");
  }
  EXPECT_EQ(text(true, 64, 8, 32), "the segments lent are not those of the program");
}

// Whoever is to compare bytes, or needs a part of them, has them filled; floats that may be packed
// from where they lie are not.
TEST(Refused, LentBytesAreFilledWhenTheyAreNeeded) {
  const float weights[18] = {1, 2};
  auto place = test::aligned_copy({reinterpret_cast<const uint8_t*>(weights), sizeof(weights)});
  auto fills = [&](const std::vector<uint8_t>& file, bool verify, bool broken, Status* s) {
    Lender lender;
    lender.broken = broken;
    auto table = fbs::GetProgram(file.data() + sizeof(FileHeader));
    const LentSegment lent[] = {
        {{place.get(), static_cast<size_t>(table->segments()->Get(0)->bytes())}, &lender}};
    LoadOptions options;
    options.lent = lent;
    options.verify_digests = verify;
    *s = load(file, options);
    return lender.fills;
  };
  struct Form {
    DType dtype;
    int constants;
    bool verify;
    int fills;
  };
  for (const Form& form : {Form{DType::kF32, 1, false, 0}, Form{DType::kI32, 1, false, 1},
                           Form{DType::kF32, 2, false, 2}, Form{DType::kF32, 1, true, 1}}) {
    const auto file = lent_program(form.dtype, form.constants);
    Status s;
    EXPECT_EQ(fills(file, form.verify, false, &s), form.fills);
    // of two constants the digest is that of the bytes: compared only where asked for
    EXPECT_TRUE(s.ok()) << s.message();
    fills(file, form.verify, true, &s);
    EXPECT_EQ(s.code(), form.fills == 0 ? Code::kOk : Code::kIo);
    if (form.fills != 0) {
      EXPECT_THAT(s.message(), HasSubstr("the lender is gone"));
    }
  }
}

// A packed form has the layout of one, a raw one none.
TEST(Refused, LayoutsInTheWrongPlace) {
  auto text = [](uint32_t raw, uint32_t packed, uint64_t bytes) {
    FlatBufferBuilder b;
    auto form = fbs::CreateBuffer(b, 0, 0, 4, packed);
    auto c = fbs::CreateConstant(b, b.CreateString("c"), 1, 0,
                                 fbs::CreateBuffer(b, 0, 0, bytes, raw), b.CreateVector(&form, 1));
    auto segment = fbs::CreateSegment(b, 0, 8);
    auto region = fbs::CreateRegion(b);
    auto entry = fbs::CreateEntry(b, b.CreateString("main"), 0, b.CreateVector(&region, 1));
    fbs::FinishProgramBuffer(
        b, fbs::CreateProgram(b, 0, b.CreateVector(&segment, 1), b.CreateVector(&c, 1), 0,
                              b.CreateVector(&entry, 1)));
    return message(test::file_of(b, std::vector<uint8_t>(8)));
  };
  EXPECT_EQ(text(0, 5, 4), "");
  EXPECT_THAT(text(5, 5, 4), HasSubstr("takes 4 raw bytes, the file has 4 (layout 5)"));
  EXPECT_THAT(text(0, 5, 8), HasSubstr("takes 4 raw bytes, the file has 8 (layout 0)"));
  EXPECT_THAT(text(0, 0, 4), HasSubstr("a packed form without a layout"));
}

TEST(Refused, DTypesThatStateBuffersCannotHave) {
  auto text = [](uint8_t dtype) {
    ProgramBuilder p;
    p.state("s", static_cast<DType>(dtype), {1}, kNoIndex);
    p.entry("main", {}, {});
    return message(p.finish(kFeatureState | kFeatureNonTensor));
  };
  EXPECT_EQ(text(1), "");
  for (uint8_t dtype : {uint8_t{0}, static_cast<uint8_t>(DType::kString), uint8_t{200}})
    EXPECT_EQ(text(dtype), "state 0 (s): dtype " + std::to_string(dtype));
}

// A state is written once by an entry point, with its own type and sizes.
TEST(Refused, UpdatesOfStates) {
  struct Parts {
    ProgramBuilder p;
    uint32_t s = 0, t = 0, x = 0, y = 0;
  };
  auto text = [](auto&& update) {
    Parts parts;
    ProgramBuilder& p = parts.p;
    p.symbol("n", 1, 8);
    parts.s = p.state("s", DType::kF32, {2}, kNoIndex);
    parts.t = p.state("t", DType::kF32, {test::kSym}, kNoIndex);
    parts.x = p.value("x", DType::kF32, {2});
    parts.y = p.value("y", DType::kF32, {2});
    const uint32_t wide = p.value("wide", DType::kF32, {3}),
                   whole = p.value("whole", DType::kI32, {2});
    p.value("nowhere", DType::kF32, {2});
    p.node(OpId::kRelu, {parts.x}, {parts.y});
    update(parts);
    p.entry("main", {parts.x, wide, whole}, {parts.y});
    return message(p.finish(kFeatureState));
  };
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(p.s, p.y); }), "");
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(p.t, p.y); }), "") << "n may be 2";
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(p.s, p.x); }), "") << "an input is remembered";
  EXPECT_EQ(text([](Parts& p) {
              p.p.state_update(p.s, p.y);
              p.p.state_update(p.t, p.x);
              p.p.state_update(p.s, p.x);
            }),
            "entry 0 (main): two values become state s");
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(2, p.y); }),
            "entry 0 (main): state update 0 is not sound");
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(p.s, 77); }),
            "entry 0 (main): state update 0 is not sound");
  EXPECT_EQ(text([](Parts& p) { p.p.state_update(p.s, p.y + 3); }),
            "entry 0 (main): state update 0 is not sound")
      << "no node makes it";
  EXPECT_THAT(text([](Parts& p) { p.p.state_update(p.s, p.y + 1); }),
              HasSubstr("value wide, which becomes state s, has another type or other sizes"));
  EXPECT_THAT(text([](Parts& p) { p.p.state_update(p.s, p.y + 2); }),
              HasSubstr("value whole, which becomes state s, has another type or other sizes"));
}

// Sizes of a state stand in one of two lists; a start has all of them.
TEST(Refused, SizesOfStates) {
  auto text = [](bool dims, uint32_t symbol, bool init) {
    FlatBufferBuilder b;
    auto n = fbs::CreateSymbol(b, b.CreateString("n"), 1, 8);
    const std::vector<fbs::Dim> sizes = {{symbol == 0 ? 2 : 0, symbol, 0}};
    auto raw = fbs::CreateBuffer(b, 0, 0, 8);
    auto constant = fbs::CreateConstant(b, b.CreateString("c"), 1,
                                        b.CreateVector(std::vector<int64_t>{2}), raw);
    auto segment = fbs::CreateSegment(b, 0, 8);
    auto list = b.CreateVector(dims ? std::vector<int64_t>{2} : std::vector<int64_t>{});
    auto state = fbs::CreateState(b, b.CreateString("s"), 1, list, init ? 0 : kNoIndex,
                                  b.CreateVectorOfStructs(sizes));
    auto region = fbs::CreateRegion(b);
    auto entry = fbs::CreateEntry(b, b.CreateString("main"), 0, b.CreateVector(&region, 1));
    fbs::FinishProgramBuffer(
        b, fbs::CreateProgram(b, b.CreateVector(&n, 1), b.CreateVector(&segment, 1),
                              b.CreateVector(&constant, 1), b.CreateVector(&state, 1),
                              b.CreateVector(&entry, 1)));
    return message(test::file_of(b, std::vector<uint8_t>(8), kFeatureState));
  };
  EXPECT_EQ(text(false, 0, true), "");
  EXPECT_EQ(text(false, 1, false), "");
  EXPECT_EQ(text(true, 0, false), "state 0 (s): its sizes are given twice");
  EXPECT_EQ(text(false, 1, true), "state 0 (s): its initial value does not fit");
  EXPECT_EQ(text(false, 2, false), "state 0 (s): there is no symbol 2");
}

TEST(Refused, PlacesOfTheTable) {
  const auto sound = every_feature();
  auto text = [&](auto&& change) {
    auto file = sound;
    FileHeader h;
    memcpy(&h, file.data(), sizeof(h));
    change(h);
    memcpy(file.data(), &h, sizeof(h));
    return message(file);
  };
  const std::string refused = "the header's place of the table is not sound";
  EXPECT_EQ(text([](FileHeader&) {}), "");
  EXPECT_EQ(text([](FileHeader& h) { h.table_bytes = 8; }), refused);
  EXPECT_EQ(text([](FileHeader& h) { h.header_bytes = 128; }), refused);
  EXPECT_EQ(text([](FileHeader& h) { h.table_offset = 72; }), refused);
  EXPECT_EQ(text([](FileHeader& h) { h.table_bytes = h.file_bytes; }), refused);
}

// A table that ends where the file does: there is no padding to be a part of the digest.
TEST(Refused, NothingBehindTheTable) {
  ProgramBuilder p;
  p.entry("main", {}, {});
  auto file = test::with_digest(p.finish());
  FileHeader h;
  memcpy(&h, file.data(), sizeof(h));
  file.resize(h.table_offset + h.table_bytes);
  h.file_bytes = h.segments_offset = file.size();
  memcpy(file.data(), &h, sizeof(h));
  Sha256 sha;
  sha.update(Span<const uint8_t>(file).subspan(0, kDigestAt));
  sha.update(Span<const uint8_t>(file).subspan(kDigestAt + kDigestBytes));
  sha.finish(file.data() + kDigestAt);
  LoadOptions options;
  options.verify_digests = true;
  EXPECT_EQ(message(file, options), "");
  file.back() ^= 1;
  EXPECT_NE(message(file, options), "");
}

// -- memory that is not aligned

TEST(Refused, UnalignedBytesAreCopied) {
  const auto file = every_feature();
  std::vector<uint8_t> place(file.size() + 65);
  const size_t at = 65 - reinterpret_cast<uintptr_t>(place.data()) % 64;
  memcpy(place.data() + at, file.data(), file.size());
  const Span<const uint8_t> bytes(place.data() + at, file.size());
  auto program = Program::load(bytes);
  ASSERT_TRUE(program.ok()) << program.status().message();
  std::fill(place.begin(), place.end(), uint8_t{0});
  EXPECT_EQ((*program)->constants()[0].view.as<float>()[0], 0.5f) << "the copy stays";
  memcpy(place.data() + at, file.data(), file.size());
  LoadOptions options;
  options.max_ram = file.size() - 1;
  const Status s = Program::load(bytes, options).status();
  EXPECT_EQ(s.code(), Code::kBudgetExceeded);
  EXPECT_STREQ(s.message(), "max_ram: an unaligned file must be copied");
  for (int64_t n = 0;; ++n) {
    test::CountingAllocator allocator(n);
    LoadOptions failing;
    failing.allocator = &allocator;
    failing.max_ram = 1 << 20;
    const Status failed = Program::load(bytes, failing).status();
    EXPECT_EQ(allocator.alive, 0);
    if (failed.ok()) {
      EXPECT_GT(n, 3);
      break;
    }
    EXPECT_EQ(failed.code(), Code::kOutOfMemory) << n << ": " << failed.message();
  }
}

// -- budgets, one after the other

// A program of everything that is read, and `more` of most of it.
std::vector<uint8_t> all_parts(bool digest, int more_symbols = 0, int more = 0) {
  ProgramBuilder p;
  p.symbol("n", 1, 8);
  for (int i = 0; i < more_symbols; ++i) p.symbol("m");
  auto raw = test::packed_strings({"ab", "", "cde"});
  auto texts = p.value("t", DType::kString, {3}, p.constant_only("t", {3}, raw, 0, DType::kString));
  auto flag = p.value("flag", DType::kBool, {},
                      p.constant_only("flag", {}, std::vector<uint8_t>{1}, 0, DType::kBool));
  auto w = p.value("w", DType::kF32, {2}, p.constant_only<float>("w", {2}, {1, 2}, 3));
  auto state = p.state("hidden", DType::kF32, {2}, 2);
  auto h = p.value("h", DType::kF32, {2}, kNoIndex, state);
  auto quant = fbs::CreateQuantization(p.fb(), p.fb().CreateVector(std::vector<float>{0.5f}),
                                       p.fb().CreateVector(std::vector<int64_t>{3}), 0, 0);
  auto x = p.value("x", DType::kF32, {test::kSym}, kNoIndex, kNoIndex, quant);
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto a = p.value("a", DType::kF32, {2}), b = p.value("b", DType::kF32, {2}),
       c = p.value("c", DType::kF32, {2}), d = p.value("d", DType::kF32, {2});
  auto s = p.packed("s", ValueKind::Sequence, DType::kString);
  p.region({a}, {a}, false);
  p.node_raw(kFirstCustomOp, {b}, {c}, {}, "");
  p.region({b}, {c}, false);
  p.node(OpId::kTranspose, {x}, {y}, TransposeAttrs{}, "turn");
  p.control(OpId::kIf, {flag, h}, {d}, 1, NoAttrs{}, "if");
  p.node(OpId::kSequenceConstruct, {texts}, {s},
         SequenceAttrs{static_cast<int64_t>(DType::kString)}, "list");
  p.node(OpId::kAdd, {w, w}, {p.value("", DType::kF32, {2})});  // called "#3"
  p.region({x}, {y, s});
  p.state_update(state, d);
  p.end_entry("main", true);
  for (const char* name : {"e0", "e1", "e2", "e3", "e4", "e5"}) {  // small lists
    auto from = p.value("from", DType::kF32, {}), to = p.value("to", DType::kF32, {}),
         nameless = p.value("", DType::kF32, {}), kept = p.value("kept", DType::kF32, {2});
    p.region({kept}, {kept}, false);
    auto inside = p.value("inside", DType::kF32, {2});
    p.region({inside}, {inside}, false);
    auto yes = p.value("yes", DType::kBool, {}), chosen = p.value("chosen", DType::kF32, {2}),
         last = p.value("last", DType::kF32, {2});
    p.node(OpId::kAdd, {from, from}, {nameless});
    p.node(OpId::kAdd, {from, nameless}, {to});
    p.control(OpId::kIf, {yes, last}, {chosen}, 1, NoAttrs{}, "if");
    p.region({from, yes, last}, {to});
    p.state_update(state, chosen);
    p.end_entry(name);
  }
  auto from = more == 0 ? kNoIndex : p.value("from", DType::kF32, {2});
  for (int i = 0; i < more; ++i) {
    const auto nameless = p.value("", DType::kF32, {2});
    p.node(OpId::kAdd, {from, from}, {nameless});
    p.state_update(p.state("more", DType::kF32, {test::kSym}, kNoIndex), nameless);
    p.label("dog");
    p.metadata("more", "v");
  }
  if (more > 0) p.entry("many", {from}, {from});
  p.custom_op("my", "Same", 1);
  p.custom_op("my", "Other", 1);
  for (int i = 0; i < more; ++i) p.custom_op("my", ("Other" + std::to_string(i)).c_str());
  p.label("cat");
  p.metadata("k", "v");
  auto file = p.finish(kFeatureState | kFeatureRegions | kFeatureCustomOps | kFeatureGrowing |
                       kFeatureNonTensor);
  return digest ? test::with_digest(file) : file;
}

LoadOptions all_options() {
  static const CustomOp* const given[] = {&kSame};
  static const char* const ops[] = {"Transpose", "If", "SequenceConstruct", "Add", "my::Same"};
  LoadOptions options;
  options.custom_ops = given;
  options.ops = ops;
  options.verify_digests = true;
  return options;
}

// Whatever of a file is looked at is counted, and a load ends where its budget does.
TEST(Budget, EveryVisitMayBeTheLast) {
  const auto file = all_parts(false);
  auto bytes = test::aligned_copy(file);
  uint64_t n = 0;
  for (;; ++n) {
    Ledger ledger({.visits = n});
    LoadOptions options = all_options();
    options.ledger = &ledger;
    const Status s = Program::load({bytes.get(), file.size()}, options).status();
    if (s.ok()) break;
    ASSERT_EQ(s.code(), Code::kBudgetExceeded) << n << ": " << s.message();
    ASSERT_THAT(s.message(), HasSubstr("visits that it may"));
  }
  EXPECT_GT(n, 500u);
  EXPECT_LT(n, 2 * file.size());
}

// Loads the file with so many bytes of memory, all of which are given back.
Code loaded_within(uint64_t n, Span<const uint8_t> file) {
  test::CountingAllocator allocator;
  LoadOptions options = all_options();
  options.allocator = &allocator;
  options.max_ram = n;
  const Code code = Program::load(file, options).status().code();
  EXPECT_EQ(allocator.alive, 0) << n;
  return code;
}

// The same of memory. Symbols are decoded first: with more of them each of what follows is in its
// turn the one that finds no room in the last block.
TEST(Budget, EveryByteMayBeTheLast) {
  uint64_t enough = 1;  // bytes that the last file needed; only a few values far below are tried
  for (int symbols = 0; symbols < 64; ++symbols) {
    const auto file = all_parts(true, symbols);
    auto bytes = test::aligned_copy(file);
    uint64_t n = enough > 3000 ? enough - 3000 : 1;
    for (;; n += 24) {
      const Code code = loaded_within(n, {bytes.get(), file.size()});
      if (code == Code::kOk) break;
      ASSERT_EQ(code, Code::kBudgetExceeded) << n;
    }
    EXPECT_GT(n, 1500u);
    EXPECT_LT(n, 16 * file.size());
    enough = n;
  }
}

// And where the lists are so long that each takes a block of its own.
TEST(Budget, EveryByteOfLongLists) {
  for (const int more : {7, 30}) {
    const auto file = all_parts(true, 0, more);
    auto bytes = test::aligned_copy(file);
    for (uint64_t n = 1;; n += 24) {
      const Code code = loaded_within(n, {bytes.get(), file.size()});
      if (code == Code::kOk) break;
      ASSERT_EQ(code, Code::kBudgetExceeded) << n;
      ASSERT_LT(n, 16 * file.size());
    }
  }
}

TEST(Budget, EveryAllocationMayFail) {
  const auto file = all_parts(true);
  const std::string path = test::temp_folder() + "wick_refused_test.wick";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  auto bytes = test::aligned_copy(file);
  for (int from : {0, 1, 2}) {  // memory, a file that is copied, one that is mapped
    int64_t n = 0;
    for (;; ++n) {
      test::CountingAllocator allocator(n);
      LoadOptions options = all_options();
      options.allocator = &allocator;
      options.weights = from == 1 ? WeightsIn::kCopy : WeightsIn::kMap;
      const Status s = from == 0 ? Program::load({bytes.get(), file.size()}, options).status()
                                 : Program::load(path.c_str(), options).status();
      ASSERT_EQ(allocator.alive, 0);
      if (s.ok()) break;
      ASSERT_EQ(s.code(), Code::kOutOfMemory) << n << ": " << s.message();
    }
    EXPECT_GT(n, 4) << from;
  }
  remove(path.c_str());
}

TEST(Programs, AnswerWhatIsNotThere) {
  auto l = test::load(test::mlp());
  EXPECT_EQ(l.program->find_entry("other"), nullptr);
  EXPECT_EQ(l.program->find_entry(nullptr), nullptr);
  EXPECT_EQ(l.program->find_metadata("other"), nullptr);
  EXPECT_EQ(l.program->find_metadata(nullptr), nullptr);
  EXPECT_EQ(l.program->weight_bytes(), (6 + 2) * sizeof(float) + sizeof(int64_t));
  Program::destroy(nullptr);
}

}  // namespace
}  // namespace wick
