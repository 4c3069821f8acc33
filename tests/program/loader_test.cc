// Files that the loader accepts, and its messages for those that it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/program/attack_wick.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/state_programs.h"
#include "tests/runtime/string_programs.h"
#include "tests/support/temp_folder.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using test::every_feature;
using test::ProgramBuilder;
using ::testing::HasSubstr;

Status load_status(const std::vector<uint8_t>& file, const LoadOptions& options = {}) {
  auto bytes = test::aligned_copy(file);
  return Program::load(Span<const uint8_t>(bytes.get(), file.size()), options).status();
}

// One relu from x to y; `change` may spoil the rest.
struct Relu {
  ProgramBuilder p;
  uint32_t x = p.value("x", DType::kF32, {2});
  uint32_t y = p.value("y", DType::kF32, {2});
};

TEST(Loader, ReadsEveryFeature) {
  auto file = every_feature();
  EXPECT_LE(file.size(), 4096u);
  auto l = test::load(file);
  ASSERT_TRUE(l.program);
  const Program& p = *l.program;
  ASSERT_EQ(p.entries().size(), 2u);
  EXPECT_EQ(p.symbols()[0].max, 8);
  EXPECT_EQ(p.constants()[0].packed[0].layout, 3u);
  EXPECT_EQ(p.constants()[0].packed[0].bytes, 72u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p.constants()[0].view.data) % 64, 0u);
  const NodeDef& conv = p.entries()[0].body().nodes[0];
  EXPECT_EQ(static_cast<const ConvAttrs*>(conv.attrs)->pads.count, 4);
  EXPECT_EQ(static_cast<const ConvAttrs*>(conv.attrs)->group, 1)
      << "an omitted field has its default";
  EXPECT_EQ(p.entries()[0].values[conv.outputs[0]].quant->zero_points[0], 3);
  EXPECT_EQ(p.entries()[1].state_updates.size(), 1u);
  EXPECT_TRUE(p.entries()[1].growing);
  SessionOptions step;
  step.entry = "step";
  EXPECT_THAT(Session::create(p, step).status().message(), HasSubstr("my::Loop"));
  EXPECT_TRUE(test::open_and_run(file));
}

TEST(Loader, ListsEveryUnknownOpAtOnce) {
  Relu r;
  auto z = r.p.value("z", DType::kF32, {2});
  r.p.node_raw(9999, {r.x}, {r.y}, {});
  r.p.node_raw(82, {r.x, r.x}, {z}, {});  // MaxPoolGrad
  r.p.node_raw(2, {r.x}, {r.p.value("v", DType::kF32, {2})}, {}, "", 7);
  r.p.node_raw(9999, {r.x}, {r.p.value("w", DType::kF32, {2})}, {});
  r.p.entry("main", {r.x}, {r.y});
  Status s = load_status(r.p.finish());
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_STREQ(s.message(),
               "3 ops of the file cannot run in this build: 9999 (unknown), 82 (a training op), 2 "
               "(of a newer version)");
}

// An allowlist holds for every region of every entry point, custom ops by their full names.
TEST(Loader, ListsEveryOpThatIsNotAllowed) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
  p.node(OpId::kRelu, {x}, {y});
  p.entry("main", {x}, {y});
  auto a = p.value("a", DType::kF32, {2}), b = p.value("b", DType::kF32, {2}),
       c = p.value("c", DType::kF32, {2}), d = p.value("d", DType::kF32, {2});
  p.custom_op("my.domain", "Swish");
  p.node(OpId::kTanh, {a}, {b});
  p.node_raw(kFirstCustomOp, {b}, {c}, {});
  p.node(OpId::kTanh, {c}, {d});
  p.entry("other", {a}, {d});
  const auto file = p.finish(kFeatureCustomOps);
  auto message = [&](std::vector<const char*> ops) {
    LoadOptions options;
    options.ops = ops;
    static std::string kept;
    kept = load_status(file, options).message();
    return kept;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({"Tanh", "my.domain::Swish", "Conv", "Relu"}), "");
  EXPECT_EQ(message({"Conv"}),
            "3 ops of the file are not among those allowed: Relu, Tanh, my.domain::Swish");
  EXPECT_EQ(message({"Swish", "Relu"}),
            "2 ops of the file are not among those allowed: Tanh, my.domain::Swish");
  LoadOptions options;
  const char* none[] = {nullptr};
  options.ops = none;
  EXPECT_EQ(load_status(file, options).code(), Code::kUnsupported);
}

// Ops that do not fit into the message are counted.
TEST(Loader, CountsWhatItCannotList) {
  Relu r;
  for (uint16_t id = 9000; id < 9040; ++id)
    r.p.node_raw(id, {r.x}, {r.p.value("v", DType::kF32, {2})}, {});
  r.p.entry("main", {r.x}, {r.x});
  const std::string message = load_status(r.p.finish()).message();
  EXPECT_THAT(message, HasSubstr("40 ops of the file"));
  EXPECT_THAT(message, HasSubstr(", 9020 (unknown)"));
  EXPECT_THAT(message, ::testing::EndsWith(" more"));
}

TEST(Loader, SaysWhatAndWhere) {
  auto text = [](auto&& build, uint64_t features = 0) {
    Relu r;
    build(r);
    r.p.entry("main", {r.x}, {r.y});
    static std::string kept;
    kept = load_status(r.p.finish(features)).message();
    return kept;
  };
  EXPECT_EQ(text([](Relu& r) { r.p.node(OpId::kRelu, {r.x}, {r.y}); }), "");
  EXPECT_EQ(text([](Relu& r) { r.p.node(OpId::kRelu, {r.y}, {r.y}, NoAttrs{}, "n0"); }),
            "entry 0 (main): node 0 (n0, Relu): input 0: value 1 is used before it is defined");
  EXPECT_EQ(text([](Relu& r) {
              r.p.node(OpId::kRelu, {r.x}, {r.y});
              r.p.node(OpId::kRelu, {r.x}, {r.y});
            }),
            "entry 0 (main): node 1 (, Relu): output 0: value 1 is defined twice");
  EXPECT_EQ(text([](Relu& r) { r.p.node(OpId::kRelu, {77}, {r.y}); }),
            "entry 0 (main): node 0 (, Relu): input 0: there is no value 77");
  EXPECT_EQ(text([](Relu& r) {
              r.p.node(OpId::kRelu, {r.x, r.x}, {r.y});
            }),
            "entry 0 (main): node 0 (, Relu): takes 1 to 1 inputs, has 2");
  EXPECT_EQ(text([](Relu& r) {
              r.p.node(OpId::kAdd, {r.x, kNoIndex}, {r.y});
            }),
            "entry 0 (main): node 0 (, Add): input 1 is required");
  EXPECT_EQ(text([](Relu& r) {
              r.p.node_raw(3, {r.x}, {r.y}, {fbs::CreateAttr(r.p.fb(), 9, fbs::AttrKind::Float)});
            }),
            "entry 0 (main): node 0 (, LeakyRelu): attribute field 9 is unknown to this build's "
            "LeakyRelu");
  EXPECT_EQ(text([](Relu& r) {
              r.p.node_raw(3, {r.x}, {r.y}, {fbs::CreateAttr(r.p.fb(), 1, fbs::AttrKind::Int)});
            }),
            "entry 0 (main): node 0 (, LeakyRelu): attribute alpha has kind 1, not 2");
  EXPECT_THAT(text([](Relu& r) {
                r.p.node(OpId::kRelu, {r.x}, {r.y});
                r.p.state("s", DType::kF32, {1}, kNoIndex);
              }),
              HasSubstr("state buffers but does not declare it"));
  EXPECT_THAT(text([](Relu& r) {
                r.p.node(OpId::kRelu, {r.x}, {r.y});
                r.p.value("huge", DType::kF32, {INT64_MAX, INT64_MAX});
              }),
              HasSubstr("too large"));
}

TEST(Loader, AttributesAreGivenOnce) {
  Relu r;
  auto alpha = [&](float v) { return fbs::CreateAttr(r.p.fb(), 1, fbs::AttrKind::Float, 0, v); };
  std::vector<flatbuffers::Offset<fbs::Attr>> twice = {alpha(0.1f), alpha(0.2f)};
  r.p.node_raw(3, {r.x}, {r.y}, twice);
  r.p.entry("main", {r.x}, {r.y});
  EXPECT_STREQ(load_status(r.p.finish()).message(),
               "entry 0 (main): node 0 (, LeakyRelu): attribute alpha is given twice");
}

// A constant of strings whose bytes `spoil` may change.
std::string strings_error(void (*spoil)(std::vector<uint8_t>*), std::vector<int64_t> dims = {3},
                          uint64_t features = kFeatureNonTensor) {
  auto raw = test::packed_strings({"ab", "", "cde"});
  spoil(&raw);
  ProgramBuilder p;
  auto c = p.value("c", DType::kString, dims, p.constant_only("c", dims, raw, 0, DType::kString));
  auto y = p.value("y", DType::kString, dims);
  p.node(OpId::kIdentity, {c}, {y});
  p.entry("main", {}, {y});
  return load_status(p.finish(features)).message();
}

void set(std::vector<uint8_t>* raw, size_t offset, uint64_t v) {
  memcpy(raw->data() + offset * sizeof(v), &v, sizeof(v));
}

TEST(Loader, StringsLieInTheirBytes) {
  using Raw = std::vector<uint8_t>;
  EXPECT_EQ(strings_error([](Raw*) {}), "");
  EXPECT_THAT(strings_error([](Raw*) {}, {3}, 0), HasSubstr("uses strings but does not declare"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 2, 1); }),
              HasSubstr("constant 0 (c): string 1 does not lie in the constant's bytes"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 1, 1u << 30); }), HasSubstr("string 0"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 1, ~uint64_t{0}); }), HasSubstr("string 0"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 3, 6); }), HasSubstr("string 2"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 3, 4); }), HasSubstr("do not fill"));
  EXPECT_THAT(strings_error([](Raw* raw) { set(raw, 0, 1); }), HasSubstr("do not fill"));
  EXPECT_THAT(strings_error([](Raw* raw) { raw->resize(31); }),
              HasSubstr("3 strings need more than 31 raw bytes"));
  EXPECT_THAT(strings_error([](Raw* raw) { raw->clear(); }, {0}), HasSubstr("0 strings need"));
  EXPECT_THAT(strings_error([](Raw*) {}, {int64_t{1} << 50}),
              HasSubstr(sizeof(size_t) < 8 ? "is too large for a 32-bit machine"
                                           : "strings need more than"));
}

TEST(Loader, SegmentsAndBuffersLieInside) {
  auto spoiled = [](auto&& table_of, uint16_t field) {
    ProgramBuilder p;
    p.constant("c", {2}, std::vector<float>{1, 2});
    auto file = p.finish();
    const fbs::Program* root = fbs::GetProgram(file.data() + sizeof(FileHeader));
    auto* table = reinterpret_cast<flatbuffers::Table*>(
        const_cast<void*>(static_cast<const void*>(table_of(*root))));
    EXPECT_TRUE(table->SetField<uint64_t>(field, 64, 0));  // the file has 8
    static std::string kept;
    kept = load_status(file).message();
    return kept;
  };
  EXPECT_THAT(
      spoiled([](const fbs::Program& p) { return p.segments()->Get(0); }, fbs::Segment::VT_BYTES),
      HasSubstr("segment 0 lies outside the file"));
  EXPECT_THAT(spoiled([](const fbs::Program& p) { return p.constants()->Get(0)->raw(); },
                      fbs::Buffer::VT_BYTES),
              HasSubstr("lie outside segment 0"));
}

TEST(Loader, BytesOutsideTheirSegment) {
  for (uint64_t shift : {uint64_t{64}, uint64_t{8}, ~uint64_t{63}}) {
    Relu r;
    r.p.shift = shift;
    r.p.constant("w", {20}, std::vector<float>(20));
    r.p.node(OpId::kRelu, {r.x}, {r.y});
    r.p.entry("main", {r.x}, {r.y});
    EXPECT_STREQ(load_status(r.p.finish()).message(),
                 "constant 0 (w): its bytes lie outside segment 0 or off the alignment");
  }
}

TEST(Loader, HeaderErrors) {
  auto file = every_feature();
  const std::vector<uint8_t> cut(file.begin(), file.begin() + 500);
  EXPECT_THAT(load_status(cut).message(), HasSubstr("cut or mixed up"));
  EXPECT_THAT(load_status({}).message(), HasSubstr("0 bytes"));
  auto other = file;
  other[0] = 'P';
  EXPECT_THAT(
      load_status(other).message(),
      ::testing::AllOf(HasSubstr("not a .wick file"), HasSubstr("`wick convert` makes one")));
  other = file;
  other[8] = 3;
  EXPECT_THAT(load_status(other).message(),
              HasSubstr("format version 3, this build reads up to 2"));
  other = file;
  other[20] = 1;
  EXPECT_THAT(load_status(other).message(),
              HasSubstr("features this build lacks (mask 0x100000000)"));
}

TEST(Loader, DigestsAndBudgets) {
  auto file = every_feature();
  LoadOptions options;
  options.verify_digests = true;
  EXPECT_TRUE(load_status(file, options).ok());
  file[file.size() - 1] ^= 1;
  EXPECT_THAT(load_status(file, options).message(), HasSubstr("do not have the sha256"));
  options.verify_digests = false;
  EXPECT_TRUE(load_status(file, options).ok());
  options.max_file = 100;
  EXPECT_EQ(load_status(file, options).code(), Code::kBudgetExceeded);
  options.max_file = 1 << 20;
  options.max_ram = 512;
  EXPECT_EQ(load_status(file, options).code(), Code::kBudgetExceeded);
}

// Segments that somebody lends are compared where the program has their digest.
TEST(Loader, LentSegmentsHaveDigestsToo) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2}),
       w = p.constant<float>("w", {2}, {3, 4});
  p.node(OpId::kAdd, {x, w}, {y});
  p.entry("main", {x}, {y});
  const std::vector<uint8_t> file = p.finish(kFeatureLent);
  const float weights[] = {3, 4};
  auto segment = test::aligned_copy({reinterpret_cast<const uint8_t*>(weights), sizeof(weights)});
  const LentSegment lent[] = {{{segment.get(), sizeof(weights)}}};
  LoadOptions options;
  options.lent = lent;
  options.verify_digests = true;
  EXPECT_TRUE(load_status(file, options).ok()) << load_status(file, options).message();
  segment.get()[5] ^= 1;
  EXPECT_THAT(load_status(file, options).message(), HasSubstr("do not have the sha256"));
  options.verify_digests = false;
  EXPECT_TRUE(load_status(file, options).ok());
}

// Every step that reads a constant looks at its packed forms.
TEST(Loader, PackedFormsAreBounded) {
  for (int n : {64, 65}) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
    auto w = p.value("w", DType::kF32, {2},
                     p.constant_only("w", {2}, std::vector<float>{1, 2}, 5, DType::kF32, n));
    p.node(OpId::kAdd, {x, w}, {y});
    p.entry("main", {x}, {y});
    const Status s = load_status(p.finish());
    EXPECT_EQ(s.ok(), n == 64) << s.message();
  }
}

// Names are compared each with each: so there are few of them.
TEST(Loader, NamesAreBounded) {
  for (int n : {4096, 4097}) {
    ProgramBuilder p;
    for (int i = 0; i < n; ++i) p.entry(("e" + std::to_string(i)).c_str(), {}, {});
    EXPECT_EQ(load_status(p.finish()).ok(), n == 4096);
    ProgramBuilder q;
    for (int i = 0; i < n; ++i) q.custom_op("my", ("op" + std::to_string(i)).c_str());
    q.entry("main", {}, {});
    EXPECT_EQ(load_status(q.finish(kFeatureCustomOps)).ok(), n == 4096);
  }
}

TEST(Loader, FilesAreMappedAndMissingOnesNamed) {
  EXPECT_THAT(Program::load("/nowhere/m.wick").status().message(),
              HasSubstr("cannot open /nowhere/m.wick"));
  EXPECT_THAT(Program::load("/").status().message(), HasSubstr("not a regular file"));
  auto file = every_feature();
  std::string path = wick::test::temp_folder() + "wick_loader.wick";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  auto program = Program::load(path.c_str());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->file_bytes(), file.size());
}

TEST(Loader, Sha256IsTheStandards) {
  Sha256 sha;
  uint8_t d[32];
  const char* text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (const char* c = text; *c != 0; ++c) sha.update({reinterpret_cast<const uint8_t*>(c), 1});
  sha.finish(d);
  const uint8_t want[8] = {0x24, 0x8d, 0x6a, 0x61, 0xd2, 0x06, 0x38, 0xb8};
  EXPECT_EQ(memcmp(d, want, 8), 0);
}

// A file of version 1 written long ago. Never write it anew: it stands for all files out there.
TEST(Golden, Version1LoadsAndRuns) {
  auto program = Program::load(source_dir("/tests/program/golden/v1.wick").c_str());
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = test::open(**program);
  float x[16];
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i + 1);
  TensorView in(x, DType::kF32, {1, 1, 4, 4}), out;
  Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out.shape, (Shape{32}));
  EXPECT_EQ(out.as<float>()[0], 7);    // half of 1 + 2 + 5 + 6
  EXPECT_EQ(out.as<float>()[21], 27);  // half of the nine around 6, second channel
}

// A loop over one region, in every way that does not fit.
struct LoopParts {
  bool outer_value = false, region_twice = false, no_region = false, wrong_field = false;
  bool missing_output = false, wrong_dtype = false, wrong_condition = false, deep = false;
  int64_t carried = 1, region = 1;
};
std::string loop_error(const LoopParts& parts) {
  ProgramBuilder p;
  auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {});
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto in = p.value("in", parts.wrong_dtype ? DType::kF64 : DType::kF32, {2});
  auto out = p.value("out", parts.wrong_dtype ? DType::kF64 : DType::kF32, {2});
  p.node(OpId::kRelu, {parts.outer_value ? x : in}, {out});
  std::vector<uint32_t> made = {parts.wrong_condition ? i : c, out};
  if (parts.missing_output) made.pop_back();
  p.region({i, c, in}, made, false);
  std::vector<flatbuffers::Offset<fbs::Attr>> attrs;
  attrs.push_back(fbs::CreateAttr(p.fb(), 1, fbs::AttrKind::Int, parts.carried));
  uint16_t field = parts.wrong_field ? 7 : kRegionField;
  auto region = [&] { return fbs::CreateAttr(p.fb(), field, fbs::AttrKind::Region, parts.region); };
  if (!parts.no_region) attrs.push_back(region());
  if (parts.region_twice) attrs.push_back(region());
  p.node_raw(static_cast<uint16_t>(OpId::kLoop), {trips, go, x}, {y}, attrs, "loop");
  p.entry("main", {trips, go, x}, {y});
  auto file = p.finish(kFeatureRegions);
  return load_status(file).message();
}

TEST(Loader, RegionsAreClosedAndFitTheirNode) {
  EXPECT_EQ(loop_error({}), "");
  EXPECT_THAT(loop_error({.outer_value = true}), HasSubstr("belongs to another region"));
  EXPECT_THAT(loop_error({.region_twice = true}), HasSubstr("given twice"));
  EXPECT_THAT(loop_error({.no_region = true}), HasSubstr("region 0 is missing"));
  EXPECT_THAT(loop_error({.wrong_field = true}), HasSubstr("has no region 7"));
  EXPECT_THAT(loop_error({.missing_output = true}), HasSubstr("do not fit"));
  EXPECT_THAT(loop_error({.wrong_dtype = true}), HasSubstr("float64 on one side and float32"));
  EXPECT_THAT(loop_error({.wrong_condition = true}), HasSubstr("must be bool"));
  EXPECT_THAT(loop_error({.carried = 2}), HasSubstr("cannot carry 2"));
  EXPECT_THAT(loop_error({.carried = -1}), HasSubstr("cannot carry -1"));
  EXPECT_THAT(loop_error({.region = 0}), HasSubstr("used twice"));
  EXPECT_THAT(loop_error({.region = 9}), HasSubstr("no region 9"));
  EXPECT_THAT(loop_error({.region = -1}), HasSubstr("no region -1"));
}

TEST(Loader, RegionsNestToALimit) {
  auto nested = [](int depth) {
    ProgramBuilder p;
    auto go = p.value("go", DType::kBool, {});
    std::vector<uint32_t> inside;
    // the innermost regions first: their numbers count on
    uint32_t condition = p.value("c", DType::kBool, {}), other = p.value("d", DType::kBool, {});
    p.region({condition}, {condition}, false);
    p.region({other}, {other}, false);
    int64_t first = 1;
    for (int k = 0; k < depth; ++k) {
      auto in = p.value("in", DType::kBool, {}), out = p.value("out", DType::kBool, {});
      p.control(OpId::kIf, {in, in}, {out}, first);
      if (k + 1 == depth) {
        auto y = p.value("y", DType::kBool, {});
        p.region({in}, {out}, false);
        auto unused = p.value("e", DType::kBool, {});
        p.region({unused}, {unused}, false);
        p.control(OpId::kIf, {go, go}, {y}, first + 2);
        p.entry("main", {go}, {y});
        break;
      }
      p.region({in}, {out}, false);
      auto unused = p.value("e", DType::kBool, {});
      p.region({unused}, {unused}, false);
      first += 2;
    }
    auto file = p.finish(kFeatureRegions);
    return std::string(load_status(file).message());
  };
  EXPECT_EQ(nested(7), "");
  EXPECT_THAT(nested(9), HasSubstr("nest deeper"));
}

// Five values a byte; all 255 in the full test run.
TEST(Attack, TruncationsAndOtherValuesOfEveryByte) {
  auto count = test::attack(every_feature(), getenv("WICK_TEST_FULL") != nullptr ? 255 : 5,
                            test::open_and_run);
  EXPECT_GT(count.cases, 15000);
  EXPECT_GT(count.accepted, 100) << "changed weights and names still run";
  EXPECT_LT(count.accepted, count.cases / 2);
  count = test::attack(test::growing_loop(), getenv("WICK_TEST_FULL") != nullptr ? 255 : 2,
                       test::open_and_run);
  EXPECT_GT(count.accepted, 100);
  count = test::attack(test::branches(), getenv("WICK_TEST_FULL") != nullptr ? 255 : 2,
                       test::open_and_run);
  EXPECT_GT(count.accepted, 100);
  count = test::attack(test::rows_program(), getenv("WICK_TEST_FULL") != nullptr ? 255 : 5,
                       test::open_and_run);
  EXPECT_GT(count.accepted, 100);
}

}  // namespace
}  // namespace wick
