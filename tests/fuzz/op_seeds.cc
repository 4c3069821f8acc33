// The samples of tests/ops as cases.
#include <map>

#include "tests/fuzz/op_case.h"
#include "tests/ops/rows.h"
#include "tests/ops/values.h"

namespace wick::fuzz {
namespace {

// Every row: one without samples of its own does not link.
constexpr const test::TestRow* kRows[] = {
#define WICK_FUZZED_kInfer(Name) &test::kTest_##Name,
#define WICK_FUZZED_kTrain(Name) &test::kTest_##Name,
#define WICK_FUZZED_kControl(Name)  // have regions: seeds of fuzz_programs
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_FUZZED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// Samples of so many elements are for kernels' blocks; a fuzzer makes its own sizes.
constexpr int64_t kMostElements = 20000;

OpCase case_of(const test::TestRow& row, const test::Sample& sample) {
  OpCase c;
  c.op = find_op(row.op);
  c.seed = c.op->name;
  c.attrs = sample.attrs;
  const std::vector<test::Value> values = test::make_inputs(sample);
  for (size_t k = 0; k < sample.in.size(); ++k) {
    OpInput in;
    in.dtype = sample.in[k].dtype;
    in.shape = sample.in[k].shape;
    if (in.dtype == DType::kNone) {
      in.from = From::kAbsent;
    } else {
      for (int64_t i = 0, n = numel(in.shape); i < n; ++i) {
        if (in.dtype == DType::kString)
          in.strings.push_back(values[k].string_at(i));
        else
          in.values.push_back(values[k].at(i));
      }
    }
    c.in.push_back(std::move(in));
  }
  c.out.resize(static_cast<size_t>(sample.outputs));
  return c;
}

struct Seeds {
  std::vector<OpCase> all;
  std::vector<std::pair<size_t, size_t>> of_op;  // ranges of all
  std::vector<std::string> missing;
};

const Seeds& seeds() {
  static const Seeds made = [] {
    Seeds s;
    for (const test::TestRow* row : kRows) {
      const size_t first = s.all.size();
      for (const test::Sample& sample : row->samples()) {
        int64_t elements = 0;
        for (const test::Input& in : sample.in) elements += numel(in.shape);
        if (elements <= kMostElements) s.all.push_back(case_of(*row, sample));
      }
      if (s.all.size() == first)
        s.missing.emplace_back(find_op(row->op)->name);
      else
        s.of_op.emplace_back(first, s.all.size());
    }
    return s;
  }();
  return made;
}

}  // namespace

const std::vector<OpCase>& op_seeds(std::vector<std::string>* missing) {
  if (missing != nullptr) *missing = seeds().missing;
  return seeds().all;
}

const OpCase& draw_seed(Dice& dice) {
  for (;;) {
    const auto [first, end] = dice.of(seeds().of_op);
    const OpCase& c = seeds().all[first + dice.below(end - first)];
    // No file may hold an op that only trains.
    if (c.op->role != OpRole::kTrain || dice.one_in(4)) return c;
  }
}

}  // namespace wick::fuzz
