// Sequences and optionals in sessions: values, errors, plans that do not depend on their sizes, and
// packed bytes that must not be trusted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "runtime/core/packed_sequence.h"
#include "runtime/kernels/kernel.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/sequence_programs.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"
#include "wick/wick.h"

namespace wick {
namespace {

using fbs::ValueKind;
using test::grow;
using test::kF32Elements;
using test::load;
using test::maybe;
using test::open;
using test::ProgramBuilder;
using test::walk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kFeatures = kFeatureNonTensor | kFeatureRegions;

struct Packed {
  std::unique_ptr<char, void (*)(void*)> data{nullptr, std::free};
  int64_t bytes = 0;
  TensorView view(DType kind = DType::kSequence) const { return {data.get(), kind, {bytes}}; }
};

// Vectors of f32; `room`: memory of exactly that size, so that a read behind it shows.
Packed packed(const std::vector<std::vector<float>>& elements, bool present = true) {
  PackedSize size(static_cast<int64_t>(elements.size()));
  for (const auto& e : elements)
    EXPECT_TRUE(size.add(DType::kF32, {static_cast<int64_t>(e.size())}).ok());
  Packed p;
  p.bytes = size.bytes().value();
  p.data.reset(static_cast<char*>(std::malloc(static_cast<size_t>(p.bytes))));
  PackedWriter w(p.data.get(), p.bytes, DType::kF32, static_cast<int64_t>(elements.size()),
                 present);
  for (const auto& e : elements)
    w.add(TensorView(const_cast<float*>(e.data()), DType::kF32, {static_cast<int64_t>(e.size())}));
  return p;
}

std::vector<float> floats(const TensorView& v) {
  return {v.as<float>(), v.as<float>() + v.numel()};
}

std::vector<std::vector<float>> elements_of(const TensorView& v) {
  auto s = PackedSequence::open(v);
  EXPECT_TRUE(s.ok()) << s.status().message();
  std::vector<std::vector<float>> all;
  for (int64_t i = 0; s.ok() && i < s->count(); ++i) all.push_back(floats(s->at(i)));
  return all;
}

int g_plans = 0;  // calls of Add's plan

// The reference Add, whose plans are counted.
const KernelSet& counting_add() {
  static KernelRow row;
  static Span<const KernelRow> rows{&row, 1};
  static KernelEntry entry{OpId::kAdd, &rows};
  static KernelSet set{"counting", {&entry, 1}};
  for (const KernelEntry& e : kReferenceKernels.entries) {
    if (e.op != OpId::kAdd) continue;
    for (const KernelRow& r : *e.rows) {
      if (strcmp(r.name, "add.f32.ref") == 0) row = r;
    }
  }
  row.plan = [](const KernelQuery&, KernelPlan*) -> Status {
    ++g_plans;
    return {};
  };
  return set;
}

TEST(Sequences, TakenCountedAndAppended) {
  auto l = load(walk());
  auto session = open(*l.program);
  EXPECT_EQ(session->input(0).dtype, DType::kSequence);
  EXPECT_EQ(session->input(0).element, DType::kF32);
  for (int64_t p : {0, 1, 2, -1, -3}) {
    Packed s = packed({{1, 2}, {}, {3, 4, 5}});
    TensorView in[] = {s.view(), TensorView(&p, DType::kI64, {})}, out[3];
    Status st = session->run(in, out);
    ASSERT_TRUE(st.ok()) << st.message();
    const size_t at = static_cast<size_t>(p < 0 ? p + 3 : p);
    EXPECT_EQ(floats(out[0]), elements_of(s.view())[at]);
    EXPECT_EQ(*out[1].as<int64_t>(), 3);
    auto all = elements_of(out[2]);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[3], all[at]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(PackedSequence::open(out[2])->at(0).data) % 64, 0u);
  }
}

TEST(Sequences, ErrorsSayWhatAndWhere) {
  auto l = load(walk());
  auto session = open(*l.program);
  int64_t p = 5;
  Packed s = packed({{1}, {2}, {3}});
  TensorView in[] = {s.view(), TensorView(&p, DType::kI64, {})}, out[3];
  EXPECT_STREQ(session->run(in, out).message(),
               "node take (SequenceAt): position 5 of a sequence of 3: -3 to 2 are allowed");
  p = -4;
  EXPECT_THAT(session->run(in, out).message(), HasSubstr("position -4 of a sequence of 3"));
  Packed none = packed({});
  in[0] = none.view();
  EXPECT_THAT(session->run(in, out).message(), HasSubstr("position -4 of an empty sequence"));
  in[0].dtype = DType::kOptional;
  EXPECT_THAT(session->run(in, out).message(), HasSubstr("input s is optional"));
  PackedWriter(none.data.get(), none.bytes, DType::kI32, 0);
  in[0] = none.view();
  EXPECT_STREQ(session->run(in, out).message(),
               "input s: its elements are int32, the program takes float32");
  PackedWriter(none.data.get(), none.bytes, DType::kF32, 0, false);
  EXPECT_STREQ(session->run(in, out).message(), "input s: a sequence cannot be absent");
  p = 0;  // and the session still works
  in[0] = s.view();
  EXPECT_TRUE(session->run(in, out).ok());
}

TEST(Sequences, ALoopThatGrowsOneIsPlannedOnce) {
  auto l = load(grow());
  const KernelSet* sets[] = {&counting_add(), &kReferenceKernels};
  SessionOptions options;
  options.kernels = sets;
  auto session = open(*l.program, options);
  int64_t trips = 200;
  uint8_t go = 1;
  float x[] = {1, 2};
  Packed s = packed({{7}});
  TensorView in[] = {TensorView(&trips, DType::kI64, {}), TensorView(&go, DType::kBool, {}),
                     s.view(), TensorView(x, DType::kF32, {2})};
  g_plans = 0;
  for (int run = 0; run < 2; ++run) {
    TensorView out[2];
    Status st = session->run(in, out);
    ASSERT_TRUE(st.ok()) << st.message();
    EXPECT_EQ(elements_of(out[0]).size(), 201u);
    ASSERT_EQ(out[1].shape, Shape{401});
    EXPECT_EQ(out[1].as<float>()[400], 4);
    EXPECT_EQ(out[1].as<float>()[0], run == 0 ? 7 : 1);
    s = packed({{1}, {2, 3}});  // another size of the input plans nothing either
    in[2] = s.view();
    trips = 199;
  }
  EXPECT_EQ(g_plans, 1);
}

TEST(Sequences, OptionalsAreThereOrNot) {
  auto l = load(maybe());
  auto session = open(*l.program);
  Packed s = packed({{1, 2}, {3}});
  TensorView in[] = {s.view(DType::kOptionalSequence)}, out[2];
  Status st = session->run(in, out);
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(*out[0].as<uint8_t>(), 1);
  EXPECT_EQ(elements_of(out[1]).size(), 2u);
  Packed empty = packed({});
  in[0] = empty.view(DType::kOptionalSequence);
  out[0] = out[1] = TensorView();
  st = session->run(in, out);
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(*out[0].as<uint8_t>(), 1);
  EXPECT_EQ(elements_of(out[1]).size(), 0u);
  Packed none = packed({}, false);
  in[0] = none.view(DType::kOptionalSequence);
  out[0] = out[1] = TensorView();
  EXPECT_STREQ(session->run(in, out).message(),
               "node get (OptionalGetElement): the optional has no element");
}

// Every truncation, and every byte set to a few others: a result or an error, and nothing read
// outside (the memory is of exactly that size: run under ASan).
TEST(Sequences, NoBytesAreBelieved) {
  auto l = load(walk());
  auto session = open(*l.program);
  const Packed good = packed({{1, 2}, {}, {3, 4, 5}});
  size_t refused = 0, taken = 0;
  auto attempt = [&](const Packed& bad) {
    for (int64_t p : {0, 2, -1}) {
      TensorView in[] = {bad.view(), TensorView(&p, DType::kI64, {})}, out[3];
      Status st = session->run(in, out);
      EXPECT_NE(st.code(), Code::kInternal);
      ++(st.ok() ? taken : refused);
      size_t count = 0;
      wick_tensor c = {bad.data.get(), WICK_SEQUENCE, 1, {bad.bytes}}, element;
      if (wick_packed_count(&c, &count, nullptr) != WICK_OK) continue;
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(wick_packed_element(&c, i, &element), WICK_OK);
    }
  };
  auto copy = [&](int64_t bytes) {
    Packed p;
    p.bytes = bytes;
    p.data.reset(static_cast<char*>(std::malloc(static_cast<size_t>(bytes) + (bytes == 0))));
    memcpy(p.data.get(), good.data.get(), static_cast<size_t>(bytes));
    return p;
  };
  for (int64_t bytes = 0; bytes < good.bytes; ++bytes) attempt(copy(bytes));
  EXPECT_EQ(taken, 0u);
  refused = 0;
  for (int64_t at = 0; at < good.bytes; ++at) {
    for (int value : {0x00, 0x01, 0x40, 0x7F, 0x80, 0xFF}) {
      Packed bad = copy(good.bytes);
      bad.data.get()[at] = static_cast<char>(value);
      attempt(bad);
    }
  }
  EXPECT_GT(refused, 4000u);
  EXPECT_GT(taken, 1000u);  // bytes of elements are anything
  printf("COUNT: packed: %zu hostile sequences refused, %zu taken\n", refused, taken);
}

TEST(Sequences, EveryNumberOfAPackedOneIsChecked) {
  struct Wrong {
    size_t word;
    int64_t value;
    const char* why;
  };
  const int64_t bytes = packed({{1, 2}, {3}}).bytes;  // 320: a head, two entries, two elements
  for (const Wrong& w :
       {Wrong{0, 1, "no head"}, Wrong{1, bytes + 64, "cut off"}, Wrong{2, -1, "no room"},
        Wrong{2, int64_t{1} << 60, "no room"}, Wrong{3, 64, "no dtype"}, Wrong{3, 0, "no dtype"},
        Wrong{3, 1, "it is absent, but"}, Wrong{4, bytes, "outside"}, Wrong{4, -64, "outside"},
        Wrong{4, 0, "outside"}, Wrong{4, 129, "outside"}, Wrong{5, 9, "rank"}, Wrong{5, -1, "rank"},
        Wrong{5, 0, "behind its rank"}, Wrong{6, -2, "not sound"},
        Wrong{6, int64_t{1} << 61, "not sound"}, Wrong{6, INT64_MAX, "not sound"},
        Wrong{6, bytes / 4, "outside"}, Wrong{7, 3, "behind its rank"}}) {
    SCOPED_TRACE(w.why);
    Packed p = packed({{1, 2}, {3}});
    ASSERT_EQ(PackedSequence::open(p.view())->count(), 2);
    memcpy(p.data.get() + 8 * w.word, &w.value, sizeof(w.value));
    auto opened = PackedSequence::open(p.view());
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.status().message(), HasSubstr(w.why));
  }
}

// The error names the input once, and the element.
TEST(Sequences, ContentsOfElementsAreChecked) {
  const auto message = [](DType dtype, const void* element) {
    ProgramBuilder b;
    const uint32_t s = b.packed("s", ValueKind::Sequence, dtype), n = b.value("n", DType::kI64, {});
    b.node(OpId::kSequenceLength, {s}, {n});
    b.entry("main", {s}, {n});
    auto l = load(b.finish(kFeatures));
    auto session = open(*l.program);
    PackedSize size(1);
    EXPECT_TRUE(size.add(dtype, {2}).ok());
    std::vector<int64_t> bytes(static_cast<size_t>(size.bytes().value() + 7) / 8);
    PackedWriter w(bytes.data(), size.bytes().value(), dtype, 1, true);
    w.add(TensorView(const_cast<void*>(element), dtype, {2}));
    TensorView in(bytes.data(), DType::kSequence, {size.bytes().value()}), out;
    return std::string(session->run({&in, 1}, {&out, 1}).message());
  };
  const uint8_t bools[] = {1, 2};
  EXPECT_EQ(message(DType::kBool, bools),
            "input s: element 0: byte 1 of its bools is 2, not 0 or 1");
  const StringRef strings[] = {{"a", 1}, {nullptr, 3}};
  EXPECT_EQ(message(DType::kString, strings), "input s: element 0: string 1 has no bytes");
}

TEST(Sequences, FilesDeclareThemSoundly) {
  auto status = [](auto make, uint64_t features = kFeatures) {
    ProgramBuilder b;
    make(b);
    std::vector<uint8_t> file = b.finish(features);
    auto bytes = test::aligned_copy(file);
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
    return std::string(program.ok() ? "" : program.status().message());
  };
  auto length = [](ProgramBuilder& b, uint32_t s) {
    uint32_t n = b.value("n", DType::kI64, {});
    b.node(OpId::kSequenceLength, {s}, {n});
    b.entry("main", {s}, {n});
  };
  auto plain = [&](ProgramBuilder& b) {
    length(b, b.packed("s", ValueKind::Sequence, DType::kF32));
  };
  EXPECT_EQ(status(plain), "");
  EXPECT_THAT(status(plain, 0), HasSubstr("values that are not tensors"));
  EXPECT_THAT(status([&](ProgramBuilder& b) {
                length(b, b.packed("s", ValueKind::Sequence, DType::kF32, false));
              }),
              HasSubstr("what is no tensor has no dimensions"));
  EXPECT_THAT(status([&](ProgramBuilder& b) {
                length(b, b.packed("s", ValueKind::Sequence, static_cast<DType>(64)));
              }),
              HasSubstr("unknown dtype 64"));
  // a loop cannot carry one kind in and another out, nor stack them
  for (bool stacked : {false, true}) {
    EXPECT_THAT(status([&](ProgramBuilder& b) {
                  auto trips = b.value("trips", DType::kI64, {}),
                       go = b.value("go", DType::kBool, {}),
                       s = b.packed("s", ValueKind::Sequence, DType::kF32),
                       i = b.value("i", DType::kI64, {}), c = b.value("c", DType::kBool, {}),
                       in = b.packed("in", ValueKind::Sequence, DType::kF32),
                       end = b.packed("end", ValueKind::Sequence, DType::kF32),
                       other = b.packed("other", ValueKind::Optional, DType::kF32);
                  if (!stacked) b.node(OpId::kOptional, {}, {other}, OptionalAttrs{1, 0});
                  b.region({i, c, in}, {c, stacked ? in : other}, false);
                  b.control(OpId::kLoop, {trips, go, s}, {end}, 1, LoopAttrs{stacked ? 0 : 1});
                  b.entry("main", {trips, go, s}, {end});
                }),
                HasSubstr(stacked ? "stacks what is no tensor" : "on one side and"));
  }
}

// A node that takes tensors gets none of these, whatever a file says.
TEST(Sequences, OtherOpsRefuseThem) {
  ProgramBuilder b;
  uint32_t s = b.packed("s", ValueKind::Sequence, DType::kF32),
           t = b.packed("t", ValueKind::Sequence, DType::kF32);
  b.node(OpId::kConcat, {s, s}, {t}, AxisAttrs{0}, "both");
  b.entry("main", {s}, {t});
  auto l = load(b.finish(kFeatures));
  auto session = open(*l.program);
  Packed p = packed({{1}});
  TensorView in[] = {p.view()}, out[1];
  EXPECT_STREQ(session->run(in, out).message(),
               "node both (Concat): input 0 must be a tensor, got sequence");
}

TEST(Sequences, FromAProgramInC) {
  std::string path = wick::test::temp_folder() + "wick_c_sequence.wick";
  std::vector<uint8_t> file = walk();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  EXPECT_EQ(test::output_of(std::string(WICK_C_SEQUENCE) + " '" + path + "'"),
            "length 2\n"
            "float32: 1 2\n"
            "float32: 3 4 5\n"
            "float32: 3 4 5\n"
            "invalid argument: node take (SequenceAt): position 5 of a sequence of 2: -2 to 1 are "
            "allowed\n"
            "invalid argument: there is no element 2 of 2\n");
}

TEST(Sequences, PackingInCSaysWhatIsWrong) {
  float x[2] = {1, 2};
  alignas(64) char memory[256];
  wick_tensor t = {x, WICK_FLOAT32, 1, {2}}, packed;
  size_t bytes = 0, count = 9;
  int present = 9;
  ASSERT_EQ(wick_pack_bytes(&t, 1, &bytes), WICK_OK);
  EXPECT_EQ(bytes, 192u);
  EXPECT_EQ(wick_pack(WICK_OPTIONAL, WICK_FLOAT32, &t, 1, memory, bytes - 64, &packed),
            WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "128 bytes given, wick_pack_bytes says 192");
  EXPECT_EQ(wick_pack(WICK_SEQUENCE, WICK_INT64, &t, 1, memory, bytes, &packed),
            WICK_TYPE_MISMATCH);
  EXPECT_STREQ(wick_last_error(), "element 0 is float32, not int64");
  EXPECT_EQ(wick_pack(WICK_FLOAT32, WICK_FLOAT32, &t, 1, memory, bytes, &packed),
            WICK_INVALID_ARGUMENT);
  ASSERT_EQ(wick_pack(WICK_OPTIONAL, WICK_FLOAT32, &t, 1, memory, bytes, &packed), WICK_OK);
  EXPECT_EQ(packed.dtype, WICK_OPTIONAL);
  ASSERT_EQ(wick_packed_count(&packed, &count, &present), WICK_OK);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(present, 1);
  ASSERT_EQ(wick_pack_bytes(nullptr, 0, &bytes), WICK_OK);
  ASSERT_EQ(wick_pack(WICK_OPTIONAL_SEQUENCE, WICK_FLOAT32, nullptr, 0, memory, bytes, &packed),
            WICK_OK);
  ASSERT_EQ(wick_packed_count(&packed, &count, &present), WICK_OK);
  EXPECT_EQ(present, 0);
  ASSERT_EQ(wick_pack(WICK_OPTIONAL_SEQUENCE, WICK_FLOAT32, &t, 0, memory, bytes, &packed),
            WICK_OK);
  ASSERT_EQ(wick_packed_count(&packed, &count, &present), WICK_OK);
  EXPECT_EQ(present, 1);
  EXPECT_EQ(wick_packed_element(&packed, 0, &t), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_dtype_name(WICK_OPTIONAL_SEQUENCE), "optional_sequence");
  t.dims[0] = -1;
  EXPECT_EQ(wick_pack_bytes(&t, 1, &bytes), WICK_SHAPE_MISMATCH);
}

}  // namespace
}  // namespace wick
