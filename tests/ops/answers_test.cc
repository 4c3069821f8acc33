// The reference kernels beside NumPy and PyTorch, for the rows whose oracle would else be Wick's
// own kernel in float64. goldens/make_goldens.py wrote the answers.
#include "tests/ops/answers.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ops/sets.h"
#include "tests/support/where.h"

namespace wick::test {
namespace {

// Where the values of the other rows are computed in another way than by their kernel.
struct Elsewhere {
  OpId op;
  const char* test;
};
constexpr Elsewhere kElsewhere[] = {
    {OpId::kCastString, "StringOps.NumbersAsText"},
    {OpId::kConcatFromSequence, "SequenceOnnx.ConcatenatesOnOldAndNewAxes"},
    {OpId::kDeformConv, "DeformConvValues.MoveByTheOffset"},
    {OpId::kEig, "FunctionValue.MatchesPyTorch"},
    {OpId::kGRU, "SequenceValues.RecurrentCellsAreOnnxEquations"},
    {OpId::kGroupNormGrad, "OneNode.GroupNormHasTheBitsOfItsOps"},
    {OpId::kGridSample, "GridSampleValues.AreHatsAroundThePoint"},
    {OpId::kLSTM, "SequenceValues.RecurrentCellsAreOnnxEquations"},
    {OpId::kLayerNormGrad, "OnePass.LayerNormsGradientIsThatOfItsParts"},
    {OpId::kLinearAttention, "LinearAttention.ReadsTheSumOverTheTokensBefore"},
    {OpId::kNonMaxSuppression, "KnownValues.NonMaxSuppression"},
    {OpId::kOptional, "Sequences.OptionalsAreThereOrNot"},
    {OpId::kOptionalGetElement, "Sequences.OptionalsAreThereOrNot"},
    {OpId::kOptionalHasElement, "Sequences.OptionalsAreThereOrNot"},
    {OpId::kQr, "FunctionValue.MatchesPyTorch"},
    {OpId::kRNN, "SequenceValues.RecurrentCellsAreOnnxEquations"},
    {OpId::kRegexFullMatch, "StringOps.RegexFullMatch"},
    {OpId::kResize, "ResizeValues.FollowTheKernelAsAFunctionOfDistance"},
    {OpId::kResizeGrad, "OneNode.InterpolateHasTheBitsOfItsOps"},
    {OpId::kRoiAlign, "RoiAlignSamples.HaveTheBitsOfEverySample"},
    {OpId::kSequenceAt, "Sequences.TakenCountedAndAppended"},
    {OpId::kSequenceConstruct, "SequenceOnnx.SequencesComeInAndGoOut"},
    {OpId::kSequenceErase, "SequenceOnnx.KnownSequencesLeaveNoTrace"},
    {OpId::kSequenceInsert, "Sequences.TakenCountedAndAppended"},
    {OpId::kSequenceLength, "Sequences.TakenCountedAndAppended"},
    {OpId::kSplitToSequence, "SequenceOnnx.SplitsIntoKnownParts"},
    {OpId::kStringNormalizer, "StringOps.Normalizer"},
    {OpId::kStringSplit, "StringOps.Split"},
    {OpId::kTfIdfVectorizer, "SequenceValues.NGramsAreCountedOneByOne"},
};

const std::map<std::string, Answer>& answers() {
  static const auto all = read_answers(source_dir("/tests/ops/goldens/answers.txt"));
  return all;
}

std::string text_of(const Shape& s) {
  std::string text = "[";
  for (int d = 0; d < s.rank(); ++d) text += (d == 0 ? "" : ",") + std::to_string(s[d]);
  return text + "]";
}

// Returns "" where every element is within bound * 2^-24 of its own magnitude, which grows with the
// terms that were added, or is the very number.
std::string differs(const Value& got, const AnsweredOutput& want, double bound, double* worst) {
  const TensorView g = got.view();
  if (dtype_name(g.dtype) != want.dtype || text_of(g.shape) != want.shape)
    return fmt::format("{}{}, expected {}{}", dtype_name(g.dtype), text_of(g.shape), want.dtype,
                       want.shape);
  if (want.exact && number_hash(got) != want.hash) return "other numbers";
  if (!want.exact && !want.free && want.elements.empty() && g.numel() > 0) return "no answers";
  for (const AnsweredElement& e : want.elements) {
    if (e.index < 0 || e.index >= g.numel()) return fmt::format("no element {}", e.index);
    const double a = got.at(e.index);
    double b = e.value;
    if (g.dtype == DType::kF32 && std::fabs(b) > 3.4028235677973366e38)
      b = std::copysign(INFINITY, b);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double unit = 0x1p-24 * e.scale + 0x1p-149;
    *worst = std::fmax(*worst, std::fabs(a - b) / unit);
    if (!(std::fabs(a - b) <= bound * unit))
      return fmt::format("element {}: {:.9g}, expected {:.10g}, allowed difference {:.3g}", e.index,
                         a, b, bound * unit);
  }
  return "";
}

TEST(OpAnswers, OfNumPyAndPyTorch) {
  size_t rows = 0, samples = 0;
  for (const TestRow* row : all_test_rows()) {
    const char* name = find_op(row->op)->name;
    const bool elsewhere = std::any_of(std::begin(kElsewhere), std::end(kElsewhere),
                                       [&](const Elsewhere& e) { return e.op == row->op; });
    if (!has_answers(*row) || elsewhere) continue;
    ++rows;
    // Roundings that do not know each other add up to the root of their number (Higham and Mary,
    // 2019): 64 for the longest sums here, some 4096 terms. 0 stands for numbers that are only
    // moved; those that are computed all the same round once.
    const double bound = std::fmin(std::fmax(row->bound, 1), 64);
    double worst = 0;
    for (const Sample& s : row->samples()) {
      SCOPED_TRACE(s.name);
      const auto found = answers().find(s.name);
      if (found == answers().end()) {
        ADD_FAILURE() << "no answer: run tests/ops/goldens/make_goldens.py, or name in kElsewhere "
                         "the test that computes its values in another way";
        continue;
      }
      const Answer& answer = found->second;
      ASSERT_EQ(answer.digest, sample_digest(*row, s))
          << "the sample is another than was answered: run tests/ops/goldens/make_goldens.py";
      std::vector<Value> got;
      const Status status = run_op(row->op, s.attrs.get(), make_inputs(s), s.outputs,
                                   reference_sets(), nullptr, &got);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(got.size(), answer.outputs.size());
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(differs(got[k], answer.outputs[k], bound, &worst), "") << "output " << k;
      ++samples;
    }
    if (worst > 0)
      printf("%s: %.2f of %g units of 2^-24 of an element's own magnitude\n", name, worst, bound);
  }
  printf("COUNT: ops: %zu rows and %zu samples beside NumPy and PyTorch\n", rows, samples);
  EXPECT_GE(rows, 90u);
}

}  // namespace
}  // namespace wick::test
