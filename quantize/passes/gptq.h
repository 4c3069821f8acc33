// GPTQ: rounds a matrix column by column, and lets the columns that follow make up for the error of
// those before (Frantar, Ashkboos, Hoefler, Alistarh, GPTQ: Accurate Post-Training Quantization for
// Generative Pre-trained Transformers, ICLR 2023). Columns are taken in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quantize/observe/calibrate.h"

namespace wick::quantize {

// Sums x x^T over the rows x that a layer read: n * n numbers, of which those on and above the
// diagonal are filled.
struct Moments {
  int64_t n = 0;
  std::vector<double> sums;
};

// How a matrix becomes integers. Both get float64 numbers that carry the error of earlier columns.
struct ColumnRounding {
  // Called before the columns from..to - 1 of a row are rounded, with their numbers, where `block`
  // is the number of columns that share a scale; 0: never.
  int64_t block = 0;
  std::function<void(int64_t row, int64_t from, int64_t to, const double* w)> begin;
  // Rounds a number, keeps its integer, and returns what the integer stands for.
  std::function<double(int64_t row, int64_t column, double w)> round;
};

// Rounds a matrix of rows x moments.n: the paper's algorithm in float64, with a hundredth of the
// diagonal's mean added to the diagonal; a column that no input reaches becomes 0. Returns false,
// without a call, if the moments are not finite.
bool gptq(const HostTensor& weight, const Moments& moments, const ColumnRounding& to);

// Rounds a matrix so that q says what its integers stand for (one scale, or one per row), to the
// nearest integers where the moments are not finite or absent.
HostTensor gptq_integers(const HostTensor& weight, const QParams& q, const Moments* moments);

// The moments of layers' inputs in the float graph. A run over the batches finds those of as many
// layers as fit kMostMoments bytes, so that layers are best asked for in order.
class LayerInputs {
 public:
  static constexpr int64_t kMostMoments = int64_t{1} << 30;
  // All of these must live as long. Throws Error if there is no batch function.
  LayerInputs(const ir::Graph& graph, const Batches& batches, const CalibrateOptions& options);
  // Returns the sums over every Linear that reads `weight`; null: no Linear does, or the layer has
  // more than kMostInputs inputs, which a note says.
  const Moments* of(ir::ValueId weight);
  // What a layer may have: the sums of one alone fit kMostMoments.
  static constexpr int64_t kMostInputs = 11585;
  static_assert(kMostInputs * kMostInputs * int64_t{sizeof(double)} <= kMostMoments);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void run(ir::ValueId first);

  const ir::Graph& g_;
  const Batches& batches_;
  const CalibrateOptions& o_;
  std::map<ir::ValueId, std::vector<ir::ValueId>> inputs_;  // by weight: what its layers read
  std::map<std::vector<ir::ValueId>, Moments> moments_;
  std::vector<std::string> notes_;
};

}  // namespace wick::quantize
