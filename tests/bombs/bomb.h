// Files of at most 10 kB that ask for hours or for all memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "wick_onnx.pb.h"

namespace wick::bombs {

struct Bomb {
  std::string name;
  std::string bytes;
  // Part of the error with which it is refused before there is a program; empty: it becomes one,
  // and what it asks for is left to a run.
  std::string refusal = {};
};

void PrintTo(const Bomb& b, std::ostream* to);  // its name

class Model;

// ONNX models, by what they grow by.
void add_generators(std::vector<Bomb>* to);  // sizes that numbers of the file say
void add_kernels(std::vector<Bomb>* to);     // nodes of constants that compute much
void add_structures(std::vector<Bomb>* to);  // functions, branches, loops, names, sparse tensors
std::vector<Bomb> onnx_bombs();
std::vector<Bomb> tflite_bombs();  // TensorFlow Lite files
// A text, and a model, of so many sizes and branches; each branch knows all sizes.
std::string branches_text(int sizes, int branches);
Model branches(int inputs, int count);
// Graph texts, and programs that the exporter would not write.
std::vector<Bomb> text_bombs();
std::vector<Bomb> wick_bombs();

// A model, a line a part.
class Model {
 public:
  using Names = std::vector<std::string>;
  using Ints = std::vector<int64_t>;

  Model();
  Model& input(const std::string& name, int type, const Names& dims);
  Model& output(const std::string& name);
  Model& floats(const std::string& name, const Ints& dims, const std::vector<float>& values);
  Model& ints(const std::string& name, const Ints& dims, const Ints& values);
  Model& strings(const std::string& name, const Names& values);
  // A tensor of equal elements, which takes a node to be so large.
  Model& filled(const std::string& name, const Ints& dims, int type = 1);
  // The node, whose attributes follow by attr().
  Model& node(const std::string& op, const Names& in, const Names& out,
              const std::string& domain = "");
  Model& attr(const std::string& name, int64_t value);
  Model& attr(const std::string& name, int value) { return attr(name, int64_t{value}); }
  Model& attr(const std::string& name, double value);
  Model& attr(const std::string& name, const char* value);
  Model& attr(const std::string& name, const Ints& values);
  Model& attr(const std::string& name, const std::vector<float>& values);
  Model& words_attr(const std::string& name, const Names& values);
  Model& graph_attr(const std::string& name, const onnx::GraphProto& value);

  // Imports ai.onnx.ml.
  Model& with_ml();

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  Bomb bomb(const std::string& name, const std::string& refusal = {}) const {
    return {name, model.SerializeAsString(), refusal};
  }
  onnx::ModelProto model;

 private:
  onnx::AttributeProto* last_attr(const std::string& name);
};

}  // namespace wick::bombs
