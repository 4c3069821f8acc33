// The inputs of a sample: one set of values for each class of dtypes, chosen so that every dtype of
// the class holds them exactly; and their description for the golden generator.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<DType> listed(DTypeSet set);
inline bool has(DTypeSet set, DType t) { return ((set >> static_cast<int>(t)) & 1U) != 0; }
inline DTypeSet dtypes_of(const FunctionRow& row, const Sample& s) {
  return s.dtypes != 0 ? s.dtypes : row.dtypes;
}

// Returns false if every input of a sample is no_grad(): then only values are compared.
inline bool wants_gradient(const FunctionRow& row, const Sample& s) {
  bool any = s.in.empty();
  for (const In& in : s.in) any = any || (in.grad && in.fixed == DType::kNone);
  return any && row.diff.differentiable() && has(dtypes_of(row, s), DType::kF64);
}

// "softmax#0": the row and the place of its sample.
std::string sample_key(const FunctionRow& row, size_t sample);

// Row-major, as a dtype of `t`'s class holds them.
std::vector<double> input_values(const In& in, DType t, const std::string& key, size_t place);
// Contiguous, of dtype `t` (its own where fixed), without history.
Tensor input_tensor(const In& in, DType t, const std::string& key, size_t place);
List input_tensors(const FunctionRow& row, size_t sample, DType t);

// A contiguous tensor of `values`, one an element.
Tensor stored(const std::vector<double>& values, const Shape& shape, DType t);

// A number in JSON, which has no NaN and no infinity: they are texts.
nlohmann::ordered_json number_as_json(double v);
double number_of(const nlohmann::ordered_json& j);

// Elements as doubles, row-major; 64-bit integers beyond 2^53 lose their last bits.
std::vector<double> elements(const Tensor& t);
// For each output the inputs, by number, whose memory it shares; of no elements none.
std::vector<std::vector<size_t>> shared_with(const List& inputs, const List& outputs);

// Returns what make_goldens.py needs of one sample, its digest included.
nlohmann::ordered_json describe_sample(const FunctionRow& row, size_t sample);
std::string sample_digest(const FunctionRow& row, size_t sample);

// Fixed weights on output k, element i: the golden gradient is of the weighted sum of all outputs.
inline double output_weight(size_t k, size_t i) {
  return 0.25 + static_cast<double>((i * 7 + k * 3) % 13) / 8.0;
}

}  // namespace wick::test
