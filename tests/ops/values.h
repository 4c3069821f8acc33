// Owned tensors for tests: deterministic values, any alignment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/platform/system.h"
#include "tests/ops/op_row.h"

namespace wick::test {

// Returns how many threads a test that wants `wanted` can have: some machines have one.
inline int threads_here(int wanted) { return platform::kHasThreads ? wanted : 1; }

// Bytes of a tensor; offset_bytes > 0 misaligns it on purpose.
class Value {
 public:
  Value() = default;
  Value(DType dtype, const Shape& shape, size_t offset_bytes = 0);
  TensorView view() const { return view_; }
  double at(int64_t i) const;  // element in row-major order, as double
  void set(int64_t i, double v);
  void set_small(int64_t i, double v);  // for small types; the type must have the value
  std::string string_at(int64_t i) const;
  void set_string(int64_t i, const std::string& s);
  // Takes over what a kernel left: its shape and, for strings, elements of its own; `keep` owns
  // their bytes.
  void set_view(const TensorView& view, std::shared_ptr<void> keep);

 private:
  std::shared_ptr<char[]> bytes_;
  std::vector<std::shared_ptr<void>> kept_;
  TensorView view_;
};

// The sample's inputs; `as` replaces f32 (kF64 for oracles and gradients).
std::vector<Value> make_inputs(const Sample& sample, DType as = DType::kF32,
                               size_t offset_bytes = 0);
std::vector<TensorView> views(const std::vector<Value>& values);

// Rule, then the first kernel of the sets that matches, then run. `*kernel` (optional) gets the
// row's name.
Status run_op(OpId op, const void* attrs, const std::vector<Value>& in, int outputs,
              Span<const KernelSet* const> sets, ThreadPool* pool, std::vector<Value>* out,
              std::string* kernel = nullptr, size_t offset_bytes = 0,
              Edition edition = kNewestEdition);

// "" when equal by bits (NaNs alike), else the first difference in words.
std::string bits_differ(const TensorView& a, const TensorView& b);

}  // namespace wick::test
