// A file declares every value's dtype. If that is not the dtype that the op gives, the program is
// refused before bytes are read as something else: as strings (pointers of the file's choice), as
// sequences, as elements that are wider than the buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/programs.h"

namespace wick {
namespace {

using fbs::ValueKind;
using test::ProgramBuilder;
using ::testing::HasSubstr;

constexpr DType kTensorDTypes[] = {DType::kString, DType::kC128, DType::kF64,
                                   DType::kI64,    DType::kF32,  DType::kF16,
                                   DType::kI8,     DType::kBool, DType::kU4};

uint32_t unknown(ProgramBuilder& p, const char* name, DType dtype) {
  return p.value(name, dtype, {}, kNoIndex, kNoIndex, 0, true);
}

// Loads the file, makes a session and runs it: the first error.
struct Attempt {
  test::Loaded l;
  Owned<Session> session;
  TensorView out[1];
  Code code = Code::kOk;
  std::string error;

  Attempt(const std::vector<uint8_t>& file, Span<const TensorView> in) {
    l = test::load(file);
    auto made = Session::create(*l.program);
    Status s = made.status();
    if (made.ok()) {
      session = std::move(*made);
      s = session->run(in, out);
    }
    code = s.code();
    error = s.message();
  }
};

// Reshape and its kin, whose sizes an input gives, so that they run by themselves.
TEST(DeclaredTypes, AnAliasKeepsTheDTypeOfItsBytes) {
  struct Form {
    OpId op;
    Shape x;
    int64_t number;  // the size, or the axis
  };
  for (const Form& form : {Form{OpId::kReshape, {2, 8}, 16}, Form{OpId::kSqueeze, {1, 16}, 0},
                           Form{OpId::kUnsqueeze, {16}, 0}}) {
    for (DType from : {DType::kU8, DType::kF32}) {
      for (DType to : kTensorDTypes) {
        ProgramBuilder p;
        const std::vector<int64_t> dims(form.x.begin(), form.x.end());
        const auto x = p.value("x", from, dims), list = p.value("list", DType::kI64, {1});
        const auto y = unknown(p, "y", to);
        form.op == OpId::kReshape ? p.node(form.op, {x, list}, {y}, ReshapeAttrs{}, "alias")
                                  : p.node(form.op, {x, list}, {y}, AxesAttrs{}, "alias");
        p.entry("main", {x, list}, {y});
        std::vector<float> data(16, 1.5f);
        int64_t number = form.number;
        const TensorView in[] = {TensorView(data.data(), from, form.x),
                                 TensorView(&number, DType::kI64, {1})};
        const Attempt run(p.finish(kFeatureNonTensor), in);
        const std::string what = std::string(find_op(form.op)->name) + " of " + dtype_name(from) +
                                 ", declared as " + dtype_name(to);
        if (from == to) {
          EXPECT_EQ(run.code, Code::kOk) << what << ": " << run.error;
          EXPECT_EQ(run.out[0].dtype, from) << what;
          continue;
        }
        EXPECT_EQ(run.code, Code::kInvalidProgram) << what << ": " << run.error;
        EXPECT_THAT(run.error, HasSubstr("the program declares")) << what;
      }
    }
  }
}

TEST(DeclaredTypes, BytesAreNoSequence) {
  for (ValueKind kind : {ValueKind::Sequence, ValueKind::Optional, ValueKind::OptionalSequence}) {
    for (DType element : {DType::kString, DType::kF32}) {
      ProgramBuilder p;
      const auto x = p.value("x", DType::kU8, {256}), n = p.value("n", DType::kI64, {});
      const auto s = p.packed("s", kind, element), y = p.packed("y", ValueKind::Sequence, element);
      p.node(OpId::kIdentity, {x}, {s}, NoAttrs{}, "forge");
      p.node(OpId::kSequenceErase, {s}, {y}, NoAttrs{}, "erase");
      p.entry("main", {x, n}, {y});
      std::vector<uint8_t> bytes(256, 0x41);
      int64_t number = 0;
      const TensorView in[] = {TensorView(bytes.data(), DType::kU8, {256}),
                               TensorView(&number, DType::kI64, {})};
      const Attempt run(p.finish(kFeatureNonTensor), in);
      EXPECT_NE(run.code, Code::kOk);
      EXPECT_THAT(run.error, HasSubstr("node forge (Identity)"));
    }
  }
}

// The other way round: a sequence's own bytes are not to be had.
TEST(DeclaredTypes, ASequenceIsNoBytes) {
  for (DType to : {DType::kU8, DType::kI64, DType::kString}) {
    ProgramBuilder p;
    const auto x = p.value("x", DType::kF32, {4});
    const auto s = p.packed("s", ValueKind::Sequence, DType::kF32);
    const auto y = unknown(p, "y", to);
    p.node(OpId::kSequenceConstruct, {x}, {s}, SequenceAttrs{static_cast<int64_t>(DType::kF32)},
           "make");
    p.node(OpId::kIdentity, {s}, {y}, NoAttrs{}, "forge");
    p.entry("main", {x}, {y});
    float data[4] = {};
    const TensorView in[] = {TensorView(data, DType::kF32, {4})};
    const Attempt run(p.finish(kFeatureNonTensor), in);
    EXPECT_EQ(run.code, Code::kInvalidProgram) << run.error;
    EXPECT_THAT(run.error, HasSubstr("node forge (Identity)"));
  }
}

// Every op that data decides the size of, and every op at all, gives what its rule says.
TEST(DeclaredTypes, AnOpThatRunsByItselfGivesItsOwnDType) {
  for (DType to : kTensorDTypes) {
    ProgramBuilder p;
    const auto x = p.value("x", DType::kF32, {4});
    const auto y = unknown(p, "y", to);
    p.node(OpId::kNonZero, {x}, {y}, NoAttrs{}, "places");
    p.entry("main", {x}, {y});
    float data[4] = {0, 1, 2, 0};
    const TensorView in[] = {TensorView(data, DType::kF32, {4})};
    const Attempt run(p.finish(kFeatureNonTensor), in);
    EXPECT_EQ(run.code, to == DType::kI64 ? Code::kOk : Code::kInvalidProgram) << run.error;
  }
}

// The shapes that the file declares, by every way in which a value comes to be: `wrong` declares
// one of them otherwise.
std::string shape_error(const char* path, bool wrong) {
  ProgramBuilder p;
  auto f32 = [&](const char* name, std::vector<int64_t> dims) {
    return p.value(name, DType::kF32, dims);
  };
  auto i64 = [&](const char* name, std::vector<int64_t> dims) {
    return p.value(name, DType::kI64, dims);
  };
  auto any = [&](const char* name) { return unknown(p, name, DType::kF32); };
  const std::string way = path;
  const int64_t two = wrong ? 3 : 2;
  const auto x = f32("x", {2}), go = p.value("go", DType::kBool, {}), trips = i64("trips", {});
  uint32_t y = x;
  uint64_t features = 0;
  if (way == "planned") {
    p.node(OpId::kRelu, {x}, {y = f32("y", {two})}, NoAttrs{}, "n");
  } else if (way == "evaluated") {
    const auto c = p.constant<float>("c", {1}, {1});
    p.node(OpId::kConcat, {c, c}, {y = f32("y", {two})}, AxisAttrs{0}, "n");
  } else if (way == "elements") {
    p.node(OpId::kShape, {p.constant<float>("c", {1, 1}, {1})}, {y = i64("y", {two})}, ShapeAttrs{},
           "n");
  } else if (way == "evaluated, sized by data") {
    const auto c = p.constant<float>("c", {4}, {1, 0, 2, 0});
    p.node(OpId::kNonZero, {c}, {y = i64("y", {1, two})}, NoAttrs{}, "n");
  } else if (way == "apart") {
    p.node(OpId::kNonZero, {x}, {y = i64("y", {1, two})}, NoAttrs{}, "n");
  } else if (way == "a view apart") {
    const auto places = unknown(p, "places", DType::kI64), to = unknown(p, "to", DType::kI64);
    p.node(OpId::kNonZero, {x}, {places}, NoAttrs{}, "places");
    p.node(OpId::kShape, {places}, {to}, ShapeOpAttrs{}, "to");  // [1, 2]
    p.node(OpId::kReshape, {x, to}, {y = f32("y", {1, two})}, ReshapeAttrs{}, "n");
  } else if (way == "into a branch" || way == "out of a branch") {
    const bool in = way == "into a branch";
    const auto a = f32("a", {in ? two : 2}), b = in ? any("b") : f32("b", {2});
    const auto c = f32("c", {2}), d = f32("d", {2});
    p.node(OpId::kRelu, {a}, {b}, NoAttrs{}, "inside");
    p.region({a}, {b}, false);
    p.node(OpId::kNeg, {c}, {d}, NoAttrs{}, "other");
    p.region({c}, {d}, false);
    p.control(OpId::kIf, {go, x}, {y = f32("y", {in ? 2 : two})}, 1, NoAttrs{}, "n");
    features = kFeatureRegions;
  } else if (way.find("loop") != std::string::npos) {
    const bool in = way == "into a loop", next = way == "into the next trip of a loop";
    const auto i = i64("i", {}), c = p.value("c", DType::kBool, {});
    const auto a = f32("a", {in ? two : 2});
    const auto b = any("b"), each = any("each");
    next&& wrong ? p.node(OpId::kConcat, {a, a}, {b}, AxisAttrs{0}, "grows")
                 : p.node(OpId::kRelu, {a}, {b}, NoAttrs{}, "inside");
    p.node(OpId::kNeg, {a}, {each}, NoAttrs{}, "each");
    p.region({i, c, a}, {c, b, each}, false);
    const auto end = next ? any("end") : f32("end", {way == "carried out of a loop" ? two : 2});
    y = f32("y", {way == "stacked by a loop" ? two : 2, 2});
    p.control(OpId::kLoop, {trips, go, x}, {end, y}, 1, LoopAttrs{1}, "n");
    features = kFeatureRegions;
  } else if (way == "out of a sequence" || way == "out of an optional") {
    const bool optional = way == "out of an optional";
    const auto s = p.packed("s", optional ? ValueKind::Optional : ValueKind::Sequence, DType::kF32);
    const auto at = p.constant<int64_t>("at", {}, {0});
    const SequenceAttrs of{static_cast<int64_t>(DType::kF32)};
    p.node(optional ? OpId::kOptional : OpId::kSequenceConstruct, {x}, {s}, of, "make");
    y = f32("y", {two});
    optional ? p.node(OpId::kOptionalGetElement, {s}, {y}, of, "n")
             : p.node(OpId::kSequenceAt, {s, at}, {y}, of, "n");
    features = kFeatureNonTensor;
  }
  p.entry("main", {x, go, trips}, {y});
  float data[2] = {1, 2};
  uint8_t yes = 1;
  int64_t count = 2;
  const TensorView in[] = {TensorView(data, DType::kF32, {2}),
                           TensorView(&yes, DType::kBool, Shape{}),
                           TensorView(&count, DType::kI64, Shape{})};
  const Attempt run(p.finish(features), in);
  EXPECT_EQ(run.code, wrong ? Code::kInvalidProgram : Code::kOk) << path << ": " << run.error;
  return run.error;
}

TEST(DeclaredTypes, ShapesByEveryPath) {
  for (const char* path :
       {"planned", "evaluated", "elements", "evaluated, sized by data", "apart", "a view apart",
        "into a branch", "out of a branch", "into a loop", "into the next trip of a loop",
        "carried out of a loop", "stacked by a loop", "out of a sequence", "out of an optional"}) {
    EXPECT_EQ(shape_error(path, false), "") << path;
    EXPECT_THAT(shape_error(path, true), HasSubstr("which is not what the program declares"))
        << path;
  }
}

}  // namespace
}  // namespace wick
