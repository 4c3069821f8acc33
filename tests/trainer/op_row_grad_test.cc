// The samples of tests/ops once more, in float64: every differentiable op's gradient against
// central differences, first and second order, and forward mode against the gradient. An op without
// samples, gradient or NonDiff mark fails; gradcheck_test.cc has more points, chosen by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/ops/rows.h"
#include "tests/ops/values.h"
#include "trainer/autograd/grad_table.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;

constexpr const test::TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &test::kTest_##Name,
#define WICK_TESTED_kTrain(Name) &test::kTest_##Name,
#define WICK_TESTED_kControl(Name)  // no kernels: tests/graph and tests/runtime
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// Differences take four runs an element; larger samples are for kernels' tails and threads. An op
// whose samples are all larger is checked at its smallest.
constexpr int64_t kFirstOrder = 64, kSecondOrder = 16;

// Samples at a non-smooth point: NaN and infinities, the axes of atan2, one place written twice.
bool non_smooth(const test::Sample& s) {
  for (const test::Input& in : s.in) {
    for (double v : in.values)
      if (!std::isfinite(v)) return true;
  }
  return s.name == "Atan2/axes" || s.name == "ScatterElements/none" || s.name == "ScatterND/none" ||
         s.name == "LuFactor/singular";
}

// 16-bit inputs beside float32 ones: results are rounded more coarsely than differences are taken.
bool rounds(const test::Sample& s) {
  for (const test::Input& in : s.in)
    if (in.dtype == DType::kF16 || in.dtype == DType::kBF16) return true;
  return false;
}

int64_t elements_of(const test::Sample& s) {
  int64_t n = 0;
  for (const test::Input& in : s.in)
    if (in.dtype == DType::kF32) n += numel(in.shape);
  return n;
}

// Forms that runtimes need and the trainer does not make; a gradient is refused by name.
bool refused(const std::string& message) {
  for (const char* part : {"no gradient when", "a gradient needs", "needs full_matrices = false"})
    if (message.find(part) != std::string::npos) return true;
  return false;
}

// Piecewise constant ops have a gradient of 0 without a history. Cast's samples end in dtypes that
// have no gradient at all.
bool no_second_order(OpId op) {
  for (OpId each : {OpId::kFloor, OpId::kCeil, OpId::kRound, OpId::kSign, OpId::kCast})
    if (op == each) return true;
  return false;
}

struct Work {
  std::function<List(const List&)> f;  // takes only the float64 inputs
  List x;
};

Work work_of(const test::TestRow& row, const test::Sample& s) {
  List all;
  std::vector<size_t> places;
  Work work;
  std::vector<test::Value> values = make_inputs(s, DType::kF64);
  for (size_t i = 0; i < values.size(); ++i) {
    TensorView v = values[i].view();
    if (s.in[i].dtype == DType::kNone) {
      all.emplace_back();
      continue;
    }
    all.push_back(from_blob(v.data, v.shape, v.dtype));
    bool constant = i < 32 && (grad_row(row.op).nondiff_in >> i & 1U) != 0;
    if (v.dtype != DType::kF64 || constant) continue;
    places.push_back(i);
    work.x.push_back(all.back());
  }
  work.f = [op = row.op, attrs = s.attrs, outputs = s.outputs, all, places](const List& x) {
    List in = all, out(static_cast<size_t>(outputs)), floats;
    for (size_t k = 0; k < places.size(); ++k) in[places[k]] = x[k];
    // one triangle is read, the gradient is a symmetric matrix's
    if (op == OpId::kCholesky || op == OpId::kEigh) in[0] = (in[0] + in[0].transpose(-2, -1)) * 0.5;
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : in) pointers.push_back(&t);
    call(op, attrs.get(), pointers, out, Where::current());
    // the gradient is that of functions which do not depend on complex vectors' phases
    if (op == OpId::kEig) out[1] = (out[1] * out[1]).sum({-1});
    for (const Tensor& t : out)
      if (t.dtype() == DType::kF64) floats.push_back(t);
    return floats;
  };
  return work;
}

double inner(const List& a, const List& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += (a[i] * b[i]).sum().item();
  return total;
}

// |<w, J v> - <J^T w, v>|, relative to the larger of 1 and its magnitude.
double forward_error(const Work& work) {
  Generator g{21, 0};
  List v, w;
  for (const Tensor& t : work.x) v.push_back(uniform(t.raw_shape(), -1, 1, DType::kF64, g));
  for (const Tensor& t : work.f(work.x))
    w.push_back(uniform(t.raw_shape(), 0.5, 1.5, DType::kF64, g));
  double jv = inner(jvp(work.f, work.x, v).second, w);
  double wj = inner(vjp(work.f, work.x, w).second, v);
  return std::fabs(jv - wj) / std::max(1.0, std::fabs(wj));
}

TEST(OpRowGradient, EverySampleOfEveryDifferentiableOp) {
  set_num_threads(1);
  size_t checked = 0, twice = 0, at_kinks = 0, large = 0, without = 0, ops = 0;
  double worst = 0, worst_second = 0, worst_forward = 0;
  std::string at, at_second, at_forward;
  auto keep = [](double* so_far, std::string* where, double e, const std::string& name) {
    if (e > *so_far) *so_far = e, *where = name;
  };
  std::map<NonDiff, size_t> marked;
  for (const test::TestRow* row : kRows) {
    const OpInfo* info = op_info(row->op);
    SCOPED_TRACE(info->name);
    std::vector<test::Sample> samples = row->samples();
    EXPECT_FALSE(samples.empty()) << "no samples in tests/ops";
    if (grad_row(row->op).formula == nullptr) {
      EXPECT_NE(grad_row(row->op).why, NonDiff::kUnmarked) << "neither a gradient nor a reason";
      ++marked[grad_row(row->op).why];
      continue;
    }
    // straight through a rounding: on purpose not the derivative; tests/qat has PyTorch's
    if (row->op == OpId::kFakeQuantize) continue;
    ++ops;
    size_t of_this = 0;
    int64_t limit = INT64_MAX;
    for (const test::Sample& s : samples)
      if (elements_of(s) > 0 && !non_smooth(s)) limit = std::min(limit, elements_of(s));
    limit = std::max(limit, kFirstOrder);
    for (const test::Sample& s : samples) {
      SCOPED_TRACE(s.name);
      if (non_smooth(s)) {
        ++at_kinks;
        continue;
      }
      int64_t n = elements_of(s);
      if (n == 0 || rounds(s)) continue;
      if (n > limit) {
        ++large;
        continue;
      }
      Work work = work_of(*row, s);
      if (work.x.empty()) continue;
      GradcheckOptions o;
      try {
        GradcheckResult r = gradcheck(work.f, work.x, o);
        EXPECT_TRUE(r.ok) << r.message;
        keep(&worst, &at, r.worst_relative, s.name);
        double e = forward_error(work);
        EXPECT_LE(e, 1e-10) << "forward mode";
        keep(&worst_forward, &at_forward, e, s.name);
        ++of_this;
        if (n > kSecondOrder) continue;
        o.second_order = true;
        r = gradcheck(work.f, work.x, o);
        EXPECT_TRUE(r.ok) << r.message;
        keep(&worst_second, &at_second, r.worst_relative, s.name);
        ++twice;
      } catch (const Error& e) {
        if (refused(e.what())) {
          ++without;
        } else {
          EXPECT_TRUE(no_second_order(row->op)) << e.what();
        }
      }
    }
    // Cast's float64 samples end in another dtype: gradcheck_test.cc goes there and back
    EXPECT_TRUE(of_this > 0 || row->op == OpId::kCast)
        << "has a gradient and no sample to check it at";
    checked += of_this;
  }
  printf(
      "COUNT: op rows: %zu differentiable ops, %zu samples against differences and in forward mode "
      "(%zu in second order); left out: %zu at non-smooth points, %zu large ones, %zu whose "
      "gradient is refused; worst gradcheck error %.2g (%s), worst gradgradcheck error %.2g (%s), "
      "worst forward mode error %.2g (%s); no gradient: %zu integer output, %zu piecewise "
      "constant, "
      "%zu random, %zu of a size that depends on data\n",
      ops, checked, twice, at_kinks, large, without, worst, at.c_str(), worst_second,
      at_second.c_str(), worst_forward, at_forward.c_str(), marked[NonDiff::kIntegerOutput],
      marked[NonDiff::kPiecewiseConstant], marked[NonDiff::kRandom],
      marked[NonDiff::kSizeFromData]);
}

}  // namespace
}  // namespace wick
