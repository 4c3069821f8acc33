#include <algorithm>
#include <limits>

#include "trainer/tensor/bags.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

// Bags of different sizes as [bags, longest]: the position of each element among the indices, and
// whether it exists.
struct Bags {
  Tensor place, present;
};

// Reads offsets on the host.
Bags bags_of(const char* op, const Tensor& offsets, int64_t count, bool include_last,
             const Where& where) {
  if (Tracer* tracer = active_tracer()) {
    const std::string by_offsets =
        std::string(op) + " by offsets (indices [bags, n], filled up with padding_idx, need none)";
    tracer->on_read(offsets, by_offsets.c_str(), where);
  }
  std::vector<int64_t> start = offsets.to(DType::kI64, where).to_vector<int64_t>(where);
  const auto wrong = [&](const std::string& rule, size_t i) {
    throw_error(op,
                "offsets must " + rule + "; offset " + std::to_string(start[i]) + " stands at [" +
                    std::to_string(i) + "]",
                where);
  };
  if (start.empty()) {
    throw_error(op, "needs an offset for the indices [" + std::to_string(count) + "]", where);
  }
  if (start[0] != 0) wrong("begin with 0", 0);
  if (include_last && start.back() != count) {
    wrong("end with the number of indices, " + std::to_string(count), start.size() - 1);
  }
  if (!include_last) start.push_back(count);
  int64_t longest = 1;
  for (size_t i = 0; i + 1 < start.size(); ++i) {
    if (start[i] > start[i + 1])
      wrong("ascend from 0 to at most the " + std::to_string(count) + " indices", i);
    longest = std::max(longest, start[i + 1] - start[i]);
  }
  const auto bags = static_cast<int64_t>(start.size()) - 1;
  Tensor place = zeros({bags, longest}, DType::kI64),
         present = zeros({bags, longest}, DType::kBool);
  auto* p = place.mutable_data<int64_t>();
  auto* there = static_cast<uint8_t*>(present.unsafe_data());
  for (int64_t b = 0; b < bags; ++b) {
    for (int64_t i = start[static_cast<size_t>(b)]; i < start[static_cast<size_t>(b) + 1]; ++i) {
      const int64_t at = b * longest + i - start[static_cast<size_t>(b)];
      p[at] = i;
      there[at] = 1;
    }
  }
  return {place, present};
}

}  // namespace

void need_bags(const char* op, const Arg& indices, const Tensor& offsets, const BagOptions& options,
               const Tensor& per_sample_weights) {
  const Tensor& x = indices.tensor;
  const int rank = x.rank(indices.where);
  if (options.mode != "sum" && options.mode != "mean" && options.mode != "max") {
    throw_error(op, "mode must be sum, mean or max, got '" + options.mode + "'", indices.where);
  }
  if (rank != 2 && !(rank == 1 && offsets.defined() && offsets.rank() == 1)) {
    bad_shape(op, "takes indices [bags, n], or [n] with offsets [bags], got " + text(x),
              indices.where);
  }
  if (rank == 2 && offsets.defined()) {
    bad_shape(op, "indices [bags, n] take no offsets, got both for " + text(x), indices.where);
  }
  if (offsets.defined() && offsets.dtype() != DType::kI64 && offsets.dtype() != DType::kI32) {
    throw_error(op,
                std::string("offsets must be int64 or int32, got ") + dtype_name(offsets.dtype()),
                indices.where, Code::kTypeMismatch);
  }
  if (offsets.defined() && options.include_last_offset && offsets.layout().numel() == 0) {
    bad_shape(op, "include_last_offset needs at least one offset, got [0]", indices.where);
  }
  if (per_sample_weights.defined() &&
      (options.mode != "sum" || !(per_sample_weights.raw_shape() == x.raw_shape()))) {
    bad_shape(op,
              "per_sample_weights go with mode sum and have the shape of the indices " + text(x) +
                  ", got " + text(per_sample_weights),
              indices.where);
  }
}

Tensor pool_bags(const char* op, const Arg& indices, Tensor rows, const Tensor& offsets,
                 const BagOptions& options, const Tensor& per_sample_weights) {
  const At at(indices);
  const Tensor& x = indices.tensor;
  Tensor present;
  if (options.padding_idx) present = ne(indices, *options.padding_idx);
  if (per_sample_weights.defined()) {
    if (per_sample_weights.dtype() != rows.dtype()) {
      throw_error(op,
                  std::string("per_sample_weights must have the table's dtype ") +
                      dtype_name(rows.dtype()) + ", got " + dtype_name(per_sample_weights.dtype()) +
                      ": convert with to()",
                  indices.where, Code::kTypeMismatch);
    }
    rows = at(rows) * at(per_sample_weights.unsqueeze(-1, indices.where));
  }
  if (x.layout().numel() == 0) {  // all bags are empty; the sums of no rows keep the history
    if (x.rank() == 2) return sum(at(rows), 1);
    const bool last = options.include_last_offset;
    const int64_t bags = offsets.raw_shape()[0] - (last ? 1 : 0);
    if (bags > 0) bags_of(op, offsets, 0, last, indices.where);  // checks them
    const Tensor none = sum(at(rows), {0}, true);
    return none.expand({bags, none.raw_shape()[1]}, indices.where).contiguous(indices.where);
  }
  if (x.rank() == 1) {
    const Bags bags =
        bags_of(op, offsets, x.raw_shape()[0], options.include_last_offset, indices.where);
    rows = index_select(at(rows), 0, at(bags.place));
    if (present.defined()) {
      present = logical_and(at(bags.present), at(index_select(at(present), 0, at(bags.place))));
    } else {
      present = bags.present;
    }
  }
  // rows: [bags, n, columns]; present: [bags, n], or undefined if all exist
  Tensor shown, zero = full({}, 0, rows.dtype());
  if (present.defined()) shown = present.unsqueeze(-1, indices.where);
  if (options.mode == "max") {
    if (!present.defined()) return max(at(rows), 1).values;
    Tensor never = full({}, -std::numeric_limits<double>::infinity(), rows.dtype());
    Tensor top = max(at(where(at(shown), at(rows), at(never))), 1).values;
    return where(at(any(at(shown), 1)), at(top), at(zero));
  }
  if (!present.defined()) return options.mode == "sum" ? sum(at(rows), 1) : mean(at(rows), 1);
  Tensor total = sum(at(where(at(shown), at(rows), at(zero))), 1);
  if (options.mode == "sum") return total;
  Tensor count = clamp(at(sum(at(shown.to(rows.dtype())), 1)), 1, {});
  return at(total) / at(count);
}

Tensor embedding_bag(const Arg& indices, const Arg& weight, const Tensor& offsets,
                     const BagOptions& options, const Tensor& per_sample_weights) {
  if (weight.tensor.rank() != 2 || !is_float(weight.tensor.dtype())) {
    bad_shape("embedding_bag",
              "the weight must be [n, d] of floats, got " + text(weight.tensor) + " " +
                  dtype_name(weight.tensor.dtype()),
              indices.where);
  }
  need_bags("embedding_bag", indices, offsets, options, per_sample_weights);
  BagOptions counted = options;
  if (counted.padding_idx && *counted.padding_idx < 0)
    *counted.padding_idx += dim_of(weight.tensor, 0);
  const Tensor rows = embedding(indices, weight, counted.padding_idx);
  return pool_bags("embedding_bag", indices, rows, offsets, counted, per_sample_weights);
}

}  // namespace wick
