// A file says of every value what dtype it has. Where that is not what the op gives, the program is
// refused before anybody reads bytes as something else: as strings (pointers of the file's choice),
// as sequences, as elements that are wider than what is there.
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

}  // namespace
}  // namespace wick
