// Outputs whose size is a number in the file.
#include "tests/bombs/bomb.h"

namespace wick::bombs {
namespace {

constexpr int64_t kG = int64_t{1} << 30;

}  // namespace

void add_generators(std::vector<Bomb>* to) {
  auto& all = *to;
  for (const auto& [name, type] : {std::pair{"input_floats", 1}, std::pair{"input_strings", 8}}) {
    Model m;
    m.input("x", type, {std::to_string(type == 1 ? kG / 2 : kG / 16)});
    all.push_back(m.node("Identity", {"x"}, {"y"}).output("y").bomb(name));
  }
  {
    Model m;
    m.ints("n", {1}, {7 * kG}).node("ConstantOfShape", {"n"}, {"y"});
    all.push_back(m.output("y").bomb("constant_of_shape_7g"));
  }
  {
    Model m;
    m.filled("y", {1 << 20, 1 << 20});
    all.push_back(m.output("y").bomb("expand_2_40"));
  }
  {
    Model m;
    m.floats("x", {2}, {1, 2}).ints("n", {1}, {kG / 4}).node("Tile", {"x", "n"}, {"y"});
    all.push_back(m.output("y").bomb("tile"));
  }
  {
    Model m;
    m.floats("x", {2}, {1, 2}).ints("p", {2}, {4 * kG, 3 * kG}).node("Pad", {"x", "p"}, {"y"});
    all.push_back(m.output("y").bomb("pad"));
  }
  {
    Model m;
    m.ints("i", {4}, {0, 1, 2, 3}).ints("d", {1}, {kG}).floats("v", {2}, {0, 1});
    m.node("OneHot", {"i", "d", "v"}, {"y"});
    all.push_back(m.output("y").bomb("one_hot"));
  }
  {
    Model m;
    m.ints("a", {}, {0}).ints("b", {}, {1000 * kG}).ints("c", {}, {1});
    m.node("Range", {"a", "b", "c"}, {"y"});
    all.push_back(m.output("y").bomb("range_of_10_12", "too long"));
  }
  {
    Model m;
    m.ints("a", {}, {0}).ints("b", {}, {3000000}).ints("c", {}, {1});
    m.node("Range", {"a", "b", "c"}, {"r"}).node("Mul", {"r", "r"}, {"y"});
    all.push_back(m.output("y").bomb("range_of_24_megabytes"));
  }
  {
    Model m;
    m.ints("a", {}, {0}).ints("b", {}, {4000000}).ints("c", {}, {1});
    for (int k = 0; k < 100; ++k) {
      const std::string r = "r" + std::to_string(k);
      m.node("Range", {"a", "b", "c"}, {r}).output(r);
    }
    all.push_back(m.bomb("many_ranges"));
  }
  {
    Model m;
    m.floats("x", {1, 1, 2, 2}, {1, 2, 3, 4}).ints("s", {4}, {1, 1, 1 << 16, 1 << 16});
    m.node("Resize", {"x", "", "", "s"}, {"y"}).attr("mode", "cubic");
    all.push_back(m.output("y").bomb("resize"));
  }
  {
    Model m;
    m.floats("x", {1, 1, 2, 2}, {1, 2, 3, 4}).floats("s", {4}, {1, 1, 1e9F, 1});
    m.node("Resize", {"x", "", "s"}, {"y"}).attr("mode", "linear");
    all.push_back(m.output("y").bomb("resize_by_1e9"));
  }
  for (const char* window : {"HammingWindow", "HannWindow", "BlackmanWindow"}) {
    Model m;
    m.ints("n", {}, {kG}).node(window, {"n"}, {"y"});
    all.push_back(m.output("y").bomb(window));
  }
  {
    Model m;
    m.ints("bins", {}, {1 << 20}).ints("dft", {}, {1 << 20}).ints("rate", {}, {16000});
    m.floats("lo", {}, {0}).floats("hi", {}, {8000});
    m.node("MelWeightMatrix", {"bins", "dft", "rate", "lo", "hi"}, {"y"});
    all.push_back(m.output("y").bomb("mel_weight_matrix"));
  }
  for (const char* random : {"RandomNormal", "RandomUniform"}) {
    Model m;
    m.node(random, {}, {"y"}).attr("shape", Model::Ints{1000, kG}).attr("dtype", 1);
    m.attr("seed", 1.0);
    all.push_back(m.output("y").bomb(random));
  }
  {
    Model m;
    m.filled("x", {kG, 4}).node("Bernoulli", {"x"}, {"y"}).attr("seed", 1.0);
    all.push_back(m.output("y").bomb("bernoulli"));
  }
  {
    Model m;
    m.floats("x", {1, 2}, {0.5F, 0.5F}).node("Multinomial", {"x"}, {"y"});
    m.attr("sample_size", kG).attr("dtype", 7).attr("seed", 1.0);
    all.push_back(m.output("y").bomb("multinomial"));
  }
  {
    Model m;
    m.filled("x", {kG, 1 << 10}).node("EyeLike", {"x"}, {"y"}).attr("dtype", 1);
    all.push_back(m.output("y").bomb("eye_like"));
  }
  {
    Model m;
    m.filled("x", {kG}).node("Cast", {"x"}, {"y"}).attr("to", 11);
    all.push_back(m.output("y").bomb("cast"));
  }
  {
    Model m;
    m.filled("x", {kG}).node("BitCast", {"x"}, {"y"}).attr("to", 6);
    m.model.mutable_opset_import(0)->set_version(26);
    all.push_back(m.output("y").bomb("bit_cast"));
  }
  {
    Model m;
    m.filled("x", {1 << 16, 1 << 15}).node("Trilu", {"x"}, {"y"});
    all.push_back(m.output("y").bomb("trilu"));
  }
  {
    Model m;
    m.floats("x", {1, 1, 2, 2}, {1, 2, 3, 4}).ints("i", {1, 1, 2, 2}, {0, 1, 2, 3});
    m.ints("s", {4}, {1, 1, 1 << 20, 1 << 20}).node("MaxUnpool", {"x", "i", "s"}, {"y"});
    m.attr("kernel_shape", Model::Ints{2, 2}).attr("strides", Model::Ints{2, 2});
    all.push_back(m.output("y").bomb("max_unpool"));
  }
  {
    Model m;
    m.floats("t", {4}, {1, 2, 3, 4}).filled("i", {2 * kG}, 7).node("Gather", {"t", "i"}, {"y"});
    all.push_back(m.output("y").bomb("gather"));
  }
  {
    Model m;
    m.filled("c", {1 << 16, 1}, 9).filled("a", {1, 1 << 16}).floats("b", {}, {1});
    m.node("Where", {"c", "a", "b"}, {"y"});
    all.push_back(m.output("y").bomb("where"));
  }
  {  // [n, 1] x [1, n] as [n^2, 1] ...: the size squares
    Model m;
    m.floats("x0", {4}, {1, 2, 3, 4}).ints("col", {2}, {-1, 1}).ints("row", {2}, {1, -1});
    for (int k = 0; k < 4; ++k) {
      const std::string id = std::to_string(k), x = "x" + id;
      m.node("Reshape", {x, "col"}, {"c" + id}).node("Reshape", {x, "row"}, {"r" + id});
      m.node("Mul", {"c" + id, "r" + id}, {"x" + std::to_string(k + 1)});
    }
    all.push_back(m.output("x4").bomb("products_that_square"));
  }
  {
    Model m;
    m.filled("x", {2 * kG}).node("SplitToSequence", {"x"}, {"y"}).attr("keepdims", 0);
    all.push_back(m.output("y").bomb("split_to_sequence"));
  }
  {
    Model m;
    Model::Names parts;
    for (int k = 0; k < 400; ++k) parts.push_back("p" + std::to_string(k));
    m.filled("x", {400, 1 << 24}).node("Split", {"x"}, parts).attr("axis", 0);
    m.attr("num_outputs", 400);
    for (int k = 0; k < 400; ++k) m.output(parts[static_cast<size_t>(k)]);
    all.push_back(m.bomb("split_to_many"));
  }
}

}  // namespace wick::bombs
