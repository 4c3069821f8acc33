// What a load may look at and keep is in proportion to the file's size, whatever the file says. It
// is counted in the load's ledger and by its allocator, not timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/core/ledger.h"
#include "tests/program/attack_wick.h"
#include "tests/runtime/string_programs.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using test::ProgramBuilder;
using ::testing::HasSubstr;

struct Spent {
  Status status;
  std::string message;
  uint64_t visits = 0;
  int64_t peak = 0;
};

// Under the limits that a load has by itself. Whatever comes out, they were kept.
Spent load_counted(const std::vector<uint8_t>& file) {
  Ledger ledger({.visits = kVisitsPerByte * file.size()});
  test::CountingAllocator allocator;
  auto bytes = test::aligned_copy(file);
  LoadOptions options;
  options.allocator = &allocator;
  options.ledger = &ledger;
  Spent spent;
  {
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
    spent.status = program.status();
    spent.message = spent.status.message();
  }
  options.ledger = nullptr;  // the load's own ledger says the same
  EXPECT_EQ(Program::load(Span<const uint8_t>(bytes.get(), file.size()), options).status().code(),
            spent.status.code());
  spent.visits = ledger.spent().visits;
  spent.peak = allocator.peak;
  EXPECT_LE(spent.peak, static_cast<int64_t>(16 * file.size() + (2u << 20)));
  EXPECT_EQ(allocator.alive, 0);
  return spent;
}

template <class T>
Offset<flatbuffers::Vector<Offset<T>>> times(FlatBufferBuilder& b, size_t n, Offset<T> child) {
  return b.CreateVector(std::vector<Offset<T>>(n, child));
}

// n^3 nodes, all of them one.
std::vector<uint8_t> shared_children(size_t n) {
  FlatBufferBuilder b;
  auto none = b.CreateVector(std::vector<uint32_t>());
  auto node = fbs::CreateNode(b, 9999, 1, none, none, 0, b.CreateString("n"));
  auto region = fbs::CreateRegion(b, none, none, times(b, n, node));
  auto entry = fbs::CreateEntry(b, b.CreateString("e"), 0, times(b, n, region));
  auto entries = times(b, n, entry);
  fbs::ProgramBuilder root(b);
  root.add_entries(entries);
  fbs::FinishProgramBuffer(b, root.Finish());
  return test::file_of(b, {});
}

// 150: the 2.3 kB whose nodes were looked at 3 million times; then 54 kB, 128 kB and 2 MB.
TEST(Budget, TablesThatShareChildrenAreRefused) {
  for (size_t n : {150u, 4500u, 10600u, 170000u}) {
    const auto file = shared_children(n);
    const Spent spent = load_counted(file);
    EXPECT_EQ(spent.status.code(), Code::kInvalidProgram) << n;
    EXPECT_THAT(spent.message, HasSubstr("more than once"));
    EXPECT_LE(spent.visits, file.size()) << n;
    EXPECT_LE(spent.peak, static_cast<int64_t>(file.size() + 8192)) << n;
  }
}

// Below the number of tables that the verifier takes: each kind of child, named twice.
TEST(Budget, EachChildHasOnePlace) {
  struct Twice {
    bool name = false, dims = false, value = false, node = false, inputs = false, attr = false;
    bool region = false, buffer = false, label = false;
  };
  auto message = [](const Twice& twice) {
    FlatBufferBuilder b;
    auto text = [&](const char* s) { return b.CreateString(s); };
    auto pair = [](auto x, auto y) { return std::vector<decltype(x)>{x, y}; };
    auto dims = [&] { return b.CreateVectorOfStructs(std::vector<fbs::Dim>{{2, 0, 0}}); };
    auto ids = [&](uint32_t id) { return b.CreateVector(std::vector<uint32_t>{id}); };
    auto n0 = text("x"), n1 = twice.name ? n0 : text("y");
    auto d0 = dims(), d1 = twice.dims ? d0 : dims();
    auto v0 = fbs::CreateValue(b, n0, fbs::ValueKind::Tensor, 1, false, d0);
    auto v1 = fbs::CreateValue(b, n1, fbs::ValueKind::Tensor, 1, false, d1);
    if (twice.value) v1 = v0;
    auto in = ids(0), out = twice.inputs ? in : ids(1);
    auto attr = fbs::CreateAttr(b, 1, fbs::AttrKind::Float, 0, 0.5);
    auto attrs = twice.attr ? b.CreateVector(pair(attr, attr)) : b.CreateVector(&attr, 1);
    auto node = fbs::CreateNode(b, 3, 1, in, out, attrs, text("n"));
    auto nodes = twice.node ? b.CreateVector(pair(node, node)) : b.CreateVector(&node, 1);
    auto region = fbs::CreateRegion(b, ids(0), ids(1), nodes);
    auto regions = twice.region ? b.CreateVector(pair(region, region)) : b.CreateVector(&region, 1);
    auto entry = fbs::CreateEntry(b, text("main"), b.CreateVector(pair(v0, v1)), regions);
    auto entries = b.CreateVector(&entry, 1);
    auto buffer = fbs::CreateBuffer(b, 0, 0, 0);
    auto constant = [&](Offset<fbs::Buffer> raw) {
      return fbs::CreateConstant(b, text("c"), 1, b.CreateVector(std::vector<int64_t>{0}), raw);
    };
    auto c0 = constant(buffer), c1 = constant(twice.buffer ? buffer : fbs::CreateBuffer(b));
    auto constants = b.CreateVector(pair(c0, c1));
    auto segment = fbs::CreateSegment(b, 0, 0);
    auto segments = b.CreateVector(&segment, 1);
    auto l0 = text("cat"), l1 = twice.label ? l0 : text("dog");
    auto labels = b.CreateVector(pair(l0, l1));
    fbs::ProgramBuilder root(b);
    root.add_entries(entries);
    root.add_constants(constants);
    root.add_segments(segments);
    root.add_labels(labels);
    fbs::FinishProgramBuffer(b, root.Finish());
    return load_counted(test::file_of(b, {})).message;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_THAT(message({.name = true}), HasSubstr("names the value's name at its byte"));
  EXPECT_THAT(message({.dims = true}), HasSubstr("names the value's dimensions"));
  EXPECT_THAT(message({.value = true}), HasSubstr("names the value at"));
  EXPECT_THAT(message({.node = true}), HasSubstr("names the node at"));
  EXPECT_THAT(message({.inputs = true}), HasSubstr("names the node's outputs"));
  EXPECT_THAT(message({.attr = true}), HasSubstr("names the attribute at"));
  EXPECT_THAT(message({.region = true}), HasSubstr("names the region at"));
  EXPECT_THAT(message({.buffer = true}), HasSubstr("names the buffer at"));
  EXPECT_THAT(message({.label = true}), HasSubstr("names the label at"));
}

// Lists that lie over each other begin at places of their own: what they hold is counted.
TEST(Budget, ListsThatOverlapAreCounted) {
  constexpr uint32_t kLength = 8000;
  FlatBufferBuilder b;
  auto all = b.CreateVector(std::vector<uint32_t>(2 * kLength, kLength));
  std::vector<Offset<fbs::Node>> nodes;
  for (uint32_t k = 0; k < kLength; ++k) {  // its length is the k-th element of `all`
    const Offset<flatbuffers::Vector<uint32_t>> inputs(all.o - 4 * (k + 1));
    fbs::NodeBuilder node(b);
    node.add_op(1);
    node.add_inputs(inputs);
    nodes.push_back(node.Finish());
  }
  auto region = fbs::CreateRegion(b, 0, 0, b.CreateVector(nodes));
  auto entry = fbs::CreateEntry(b, b.CreateString("e"), 0, b.CreateVector(&region, 1));
  auto entries = b.CreateVector(&entry, 1);
  fbs::ProgramBuilder root(b);
  root.add_entries(entries);
  fbs::FinishProgramBuffer(b, root.Finish());
  const auto file = test::file_of(b, {});
  const Spent spent = load_counted(file);
  EXPECT_EQ(spent.status.code(), Code::kBudgetExceeded) << spent.message;
  EXPECT_THAT(spent.message, HasSubstr("visits"));
  EXPECT_LE(spent.visits, kVisitsPerByte * file.size());
  EXPECT_LE(spent.peak, static_cast<int64_t>(file.size())) << "nothing is decoded before that";
}

// `n` constants over the same bytes, which is no mistake by itself.
std::vector<uint8_t> shared_bytes(int n, DType dtype, int64_t dim, const std::vector<uint8_t>& raw,
                                  bool digest = false, int segments = 1) {
  FlatBufferBuilder b;
  std::vector<Offset<fbs::Constant>> constants;
  for (int i = 0; i < n; ++i) {
    constants.push_back(fbs::CreateConstant(b, 0, static_cast<uint8_t>(dtype),
                                            b.CreateVector(std::vector<int64_t>{dim}),
                                            fbs::CreateBuffer(b, 0, 0, raw.size())));
  }
  Sha256 sha;
  sha.update(raw);
  uint8_t sum[32];
  sha.finish(sum);
  std::vector<Offset<fbs::Segment>> list;
  for (int i = 0; i < segments; ++i)
    list.push_back(fbs::CreateSegment(b, 0, raw.size(), digest ? b.CreateVector(sum, 32) : 0));
  auto region = fbs::CreateRegion(b);
  auto entry = fbs::CreateEntry(b, b.CreateString("e"), 0, b.CreateVector(&region, 1));
  auto entries = b.CreateVector(&entry, 1);
  auto constant_list = b.CreateVector(constants);
  auto segment_list = b.CreateVector(list);
  fbs::ProgramBuilder root(b);
  root.add_constants(constant_list);
  root.add_segments(segment_list);
  root.add_entries(entries);
  fbs::FinishProgramBuffer(b, root.Finish());
  return test::file_of(b, raw, kFeatureNonTensor);
}

TEST(Budget, BytesThatManyReadAreReadAFewTimes) {
  const std::vector<uint8_t> bools(1 << 20, 1);
  EXPECT_TRUE(load_counted(shared_bytes(30, DType::kBool, 1 << 20, bools)).status.ok());
  const Spent many = load_counted(shared_bytes(10000, DType::kBool, 1 << 20, bools));  // 2 MB
  EXPECT_EQ(many.status.code(), Code::kBudgetExceeded);
  EXPECT_THAT(many.message, HasSubstr("constant"));

  std::vector<std::string> words(4096);
  const auto strings = test::packed_strings(words);
  EXPECT_TRUE(load_counted(shared_bytes(2, DType::kString, 4096, strings)).status.ok());
  const Spent texts = load_counted(shared_bytes(200, DType::kString, 4096, strings));
  EXPECT_EQ(texts.status.code(), Code::kBudgetExceeded);
  EXPECT_THAT(texts.message, HasSubstr("max_ram"));
}

// Segments over the same bytes, each with a digest to compare.
TEST(Budget, DigestsReadAFewTimes) {
  const std::vector<uint8_t> raw(1 << 20, 1);
  for (int segments : {30, 10000}) {
    const auto file = shared_bytes(1, DType::kU8, 1 << 20, raw, true, segments);
    auto bytes = test::aligned_copy(file);
    LoadOptions options;
    options.verify_digests = true;
    const Status s = Program::load({bytes.get(), file.size()}, options).status();
    EXPECT_EQ(s.code(), segments == 30 ? Code::kOk : Code::kBudgetExceeded) << s.message();
  }
}

// E entries of P ports: P log P comparisons of names each, where E x P^2 were made.
TEST(Budget, NamesOfPortsAreSorted) {
  constexpr int kEntries = 16, kPorts = 2000;
  ProgramBuilder p;
  for (int e = 0; e < kEntries; ++e) {
    std::vector<uint32_t> ports;
    for (int i = 0; i < kPorts; ++i)
      ports.push_back(p.value(("port_" + std::to_string(i)).c_str(), DType::kF32, {}));
    p.entry(("entry_" + std::to_string(e)).c_str(), ports, {});
  }
  const auto file = p.finish();
  const Spent spent = load_counted(file);
  EXPECT_TRUE(spent.status.ok()) << spent.message;
  // 2 P log2 P comparisons of 10 bytes, and what is looked at once
  EXPECT_LE(spent.visits, kEntries * kPorts * 2 * 11 * 10 + file.size());
  EXPECT_GE(spent.visits, static_cast<uint64_t>(kEntries * kPorts * 11));
}

TEST(Budget, EveryNameIsFoundTwice) {
  for (int second : {1, 700, 1999}) {
    ProgramBuilder p;
    std::vector<uint32_t> ports;
    for (int i = 0; i < 2000; ++i) {
      ports.push_back(
          p.value(("port_" + std::to_string(i == second ? 0 : i)).c_str(), DType::kF32, {}));
    }
    p.entry("main", ports, {});
    EXPECT_EQ(load_counted(p.finish()).message, "entry 0 (main): two inputs are named port_0");
  }
  ProgramBuilder p;
  for (const char* name : {"a", "b", "c", "b"}) p.entry(name, {}, {});
  EXPECT_EQ(load_counted(p.finish()).message, "two entry points are named b");
  ProgramBuilder q;
  q.custom_op("my", "a");
  q.custom_op("your", "a");
  q.custom_op("my", "b");
  q.custom_op("my", "a");
  q.entry("main", {}, {});
  EXPECT_EQ(load_counted(q.finish(kFeatureCustomOps)).message, "custom op my::a is listed twice");
}

// Real models are far from the limits.
TEST(Budget, LongGraphsLoad) {
  ProgramBuilder p;
  uint32_t x = p.value("x", DType::kF32, {2});
  const uint32_t first = x;
  for (int i = 0; i < 40000; ++i) {
    const uint32_t y = p.value(("y" + std::to_string(i)).c_str(), DType::kF32, {2});
    p.node(OpId::kConv, {x, x}, {y}, ConvAttrs{}, ("node" + std::to_string(i)).c_str());
    x = y;
  }
  p.entry("main", {first}, {x});
  const auto file = p.finish();
  const Spent spent = load_counted(file);
  EXPECT_TRUE(spent.status.ok()) << spent.message;
  EXPECT_LE(spent.visits, file.size() * 2);
  EXPECT_LE(spent.peak, static_cast<int64_t>(file.size() * 8));
}

// A size that the file does not have is refused before memory is taken for it.
TEST(Budget, BytesAreThereBeforeMemoryIsTaken) {
  const auto sound = test::every_feature();
  auto peak_with = [&](auto&& change) {
    auto file = sound;
    FileHeader h;
    memcpy(&h, file.data(), sizeof(h));
    change(h);
    memcpy(file.data(), &h, sizeof(h));
    const Spent spent = load_counted(file);
    EXPECT_FALSE(spent.status.ok());
    return spent.peak;
  };
  constexpr int64_t kHandle = 4096;  // the program itself
  EXPECT_LE(peak_with([](FileHeader& h) { h.table_bytes = 1 << 30; }), kHandle);
  EXPECT_LE(peak_with([](FileHeader& h) { h.segments_bytes = uint64_t{1} << 40; }), kHandle);
  EXPECT_LE(peak_with([](FileHeader& h) { h.file_bytes = uint64_t{1} << 40; }), kHandle);
  EXPECT_LE(peak_with([](FileHeader& h) { h.segments_offset = 64; }), kHandle);
}

}  // namespace
}  // namespace wick
