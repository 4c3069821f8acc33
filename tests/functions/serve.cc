// test_functions --serve: answers cases that random_shapes.py draws, one JSON document a line.
//   {"row", "sample", "dtype", "order", "inputs": [{"shape", "values", "dtype", "grad"}]}
// The answer has the outputs, for each the inputs (by number) whose memory it shares, and up to
// `order` the gradients of the weighted sum of the float outputs and of the weighted sum of those
// gradients; or "error", its text, and the "order" that was asked for when it was thrown.
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/functions/inputs.h"

namespace wick::test {
namespace {

using Json = nlohmann::ordered_json;

DType dtype_named(const std::string& name) {
  for (DType t : listed(kStored))
    if (name == dtype_name(t)) return t;
  throw Error("[functions] no dtype " + name);
}

Tensor tensor_of(const Json& spec, DType under_test) {
  std::vector<double> values;
  for (const Json& v : spec.at("values")) values.push_back(number_of(v));
  const auto fixed = spec.at("dtype").get<std::string>();
  Shape shape;
  for (const Json& d : spec.at("shape")) shape.push_back(d.get<int64_t>());
  return stored(values, shape, fixed.empty() ? under_test : dtype_named(fixed));
}

Json described(const Tensor& t) {
  Json values = Json::array();
  for (double v : elements(t)) values.push_back(number_as_json(v));
  const Shape& s = t.raw_shape();
  return {{"dtype", dtype_name(t.dtype())},
          {"shape", std::vector<int64_t>(s.begin(), s.end())},
          {"values", values}};
}

Tensor weights_of(size_t k, const Tensor& t) {
  std::vector<double> w(static_cast<size_t>(t.raw().numel()));
  for (size_t i = 0; i < w.size(); ++i) w[i] = output_weight(k, i);
  return stored(w, t.raw_shape(), t.dtype());
}

// The gradients of the weighted sum of those of `all` that have a history; undefined ones are 0.
List gradient(const List& all, size_t first_weight, const List& wanted, bool again) {
  List outputs, weights;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!all[k].defined() || !all[k].requires_grad() || !is_float(all[k].dtype())) continue;
    outputs.push_back(all[k]);
    weights.push_back(weights_of(first_weight + k, all[k]));
  }
  if (outputs.empty()) return {};
  return grad(outputs, wanted, weights, again, again, true);
}

Json described(const List& gradients, const List& wanted) {
  Json all = Json::array();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool there = i < gradients.size() && gradients[i].defined();
    all.push_back(described(there ? gradients[i] : zeros_like(wanted[i])));
  }
  return all;
}

Json answer(const Json& asked) {
  const FunctionRow& row = function_rows().at(asked.at("row").get<size_t>());
  const Sample& sample = row.samples.at(asked.at("sample").get<size_t>());
  const DType dtype = dtype_named(asked.at("dtype").get<std::string>());
  const int order = asked.at("order").get<int>();
  Json result;
  int at = 0;
  try {
    List in, wanted;
    for (const Json& spec : asked.at("inputs")) {
      in.push_back(tensor_of(spec, dtype));
      if (order == 0 || !spec.at("grad").get<bool>()) continue;
      in.back().requires_grad_();
      wanted.push_back(in.back());
    }
    manual_seed(11);
    const List out = sample.body({in, dtype});
    result["outputs"] = Json::array();
    for (const Tensor& t : out) result["outputs"].push_back(described(t));
    result["shared"] = shared_with(in, out);
    if (order == 0) return result;
    at = 1;
    const List first = gradient(out, 0, wanted, order > 1);
    result["first"] = described(first, wanted);
    if (order == 1) return result;
    at = 2;
    result["second"] = described(gradient(first, 5, wanted, false), wanted);
  } catch (const Error& e) {
    result["error"] = e.what();
    result["order"] = at;
  }
  return result;
}

}  // namespace

int describe_rows() {
  Json all = Json::array();
  for (size_t r = 0; r < function_rows().size(); ++r) {
    const FunctionRow& row = function_rows()[r];
    for (size_t s = 0; s < row.samples.size(); ++s) {
      Json j = describe_sample(row, s);
      j["row"] = r, j["sample"] = s, j["name"] = row.name;
      j["mark"] = static_cast<int>(row.diff.mark);
      for (size_t i = 0; i < row.samples[s].in.size(); ++i) {
        const In& in = row.samples[s].in[i];
        j["inputs"][i]["kind"] = static_cast<int>(in.kind);
        j["inputs"][i]["lo"] = in.lo, j["inputs"][i]["hi"] = in.hi,
        j["inputs"][i]["away"] = in.away;
      }
      all.push_back(j);
    }
  }
  std::cout << all.dump() << "\n";
  return 0;
}

int serve() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line)).dump() << std::endl;
  return 0;
}

}  // namespace wick::test
