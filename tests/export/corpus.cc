#include "tests/export/corpus.h"

#include "wick/trainer.h"

namespace wick::test {

Tensor some_floats(const Shape& shape) {
  std::vector<float> v;
  for (int64_t i = 0; i < numel(shape); ++i)
    v.push_back(static_cast<float>((i * 37 + i / 11) % 101 - 50) / 40);
  return from_blob(v.data(), shape, DType::kF32);
}

Tensor some_ids(const Shape& shape, int64_t below) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < numel(shape); ++i) v.push_back((i * 37 + i / 7) % below);
  return from_blob(v.data(), shape, DType::kI64);
}

Program layer(std::string name, std::shared_ptr<nn::Module> module, const Shape& shape,
              std::vector<DynamicDim> dims) {
  nn::Module* m = module.get();
  return {std::move(name),
          std::move(module),
          {{"x", some_floats(shape), std::move(dims), {}}},
          [m](const std::vector<Tensor>& in) { return std::vector{(*m)(in[0])}; }};
}

Program ids_layer(std::string name, std::shared_ptr<nn::Module> module, const Shape& shape,
                  int64_t below, std::vector<DynamicDim> dims) {
  Program p = layer(std::move(name), std::move(module), shape, std::move(dims));
  p.inputs[0].example = some_ids(shape, below);
  return p;
}

Program form(std::string name, const Shape& shape, std::vector<DynamicDim> dims,
             std::function<Tensor(const Tensor&)> f) {
  return {std::move(name),
          std::make_shared<nn::Identity>(),
          {{"x", some_floats(shape), std::move(dims), {}}},
          [f](const std::vector<Tensor>& in) { return std::vector{f(in[0])}; }};
}

}  // namespace wick::test
