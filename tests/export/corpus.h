// Modules as users write them, each with the arguments that it is exported with.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/capture/capture.h"

namespace wick::test {

struct Program {
  std::string name;
  std::shared_ptr<nn::Module> module;
  std::vector<CaptureInput> inputs;
  CaptureCall call;
};

// Dimensions that stay free, and the smallest that makes sense.
inline DynamicDim batch(int dim = 0) { return {dim, "batch"}; }
inline DynamicDim time(int dim = 1, int64_t min = 1) { return {dim, "time", min}; }
inline std::vector<DynamicDim> batch_time() { return {batch(), time()}; }
inline std::vector<DynamicDim> batch_image(int64_t min = 8) {
  return {batch(), {2, "height", min}, {3, "width", min}};
}

Tensor some_floats(const Shape& shape);
Tensor some_ids(const Shape& shape, int64_t below);

// One input, one output.
Program layer(std::string name, std::shared_ptr<nn::Module> module, const Shape& shape,
              std::vector<DynamicDim> dims);
Program ids_layer(std::string name, std::shared_ptr<nn::Module> module, const Shape& shape,
                  int64_t below, std::vector<DynamicDim> dims);
// A forward of one's own without layers.
Program form(std::string name, const Shape& shape, std::vector<DynamicDim> dims,
             std::function<Tensor(const Tensor&)> f);
// Any signature.
template <class F>
Program program(std::string name, std::shared_ptr<nn::Module> module,
                std::vector<CaptureInput> inputs, F f) {
  return {std::move(name), std::move(module), std::move(inputs),
          [f](const std::vector<Tensor>& in) {
            std::vector<Tensor> out;
            [&]<size_t... I>(std::index_sequence<I...>) {
              detail::flatten(f(in[I]...), &out);
            }(std::make_index_sequence<detail::arity<const F, 1>()>());
            return out;
          }};
}

std::vector<Program> layer_programs();    // every layer, every size free that may be
std::vector<Program> form_programs();     // common operations on sizes
std::vector<Program> model_programs();    // whole models, several inputs and outputs
std::vector<Program> control_programs();  // branches and loops by data

}  // namespace wick::test
