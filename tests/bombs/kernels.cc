// Nodes of constants whose outputs are small, or whose work is more than their bytes say.
#include "tests/bombs/bomb.h"

namespace wick::bombs {
namespace {

using Ints = Model::Ints;

void add_windows(std::vector<Bomb>* to) {
  auto& all = *to;
  for (int ratio : {1024, 0}) {
    Model m;
    m.floats("x", {1, 1, 2, 2}, {1, 2, 3, 4}).floats("r", {1, 4}, {0, 0, 1e9F, 1e9F});
    m.ints("w", {1}, {0}).node("RoiAlign", {"x", "r", "w"}, {"y"});
    m.attr("output_height", 512).attr("output_width", 16).attr("sampling_ratio", ratio);
    all.push_back(m.output("y").bomb(ratio == 0 ? "roi_align_by_size" : "roi_align_by_ratio"));
  }
  {
    Model m;
    m.filled("x", {1, 1, 1 << 12, 1 << 12}).filled("r", {1 << 16, 5});
    m.node("MaxRoiPool", {"x", "r"}, {"y"}).attr("pooled_shape", Ints{8, 8});
    all.push_back(m.output("y").bomb("max_roi_pool"));
  }
  for (const char* pool : {"MaxPool", "LpPool", "AveragePool"}) {
    Model m;
    m.filled("x", {1, 1, 1 << 12, 1 << 12}).node(pool, {"x"}, {"y"});
    m.attr("kernel_shape", Ints{2048, 2048});
    all.push_back(m.output("y").bomb(pool));
  }
  {
    Model m;
    m.floats("x", {1, 1, 2, 2}, {1, 2, 3, 4}).node("MaxPool", {"x"}, {"y"});
    m.attr("kernel_shape", Ints{int64_t{1} << 53, 1}).attr("auto_pad", "SAME_UPPER");
    all.push_back(m.output("y").bomb("max_pool_2_53", "MaxPool"));
  }
  {
    Model m;
    m.filled("x", {1, 8, 512, 512}).filled("w", {8, 8, 65, 65}).node("Conv", {"x", "w"}, {"y"});
    all.push_back(m.output("y").bomb("conv"));
  }
  {
    Model m;
    m.filled("x", {1, 8, 256, 256}).filled("w", {8, 8, 65, 65});
    m.node("ConvTranspose", {"x", "w"}, {"y"}).attr("strides", Ints{16, 16});
    all.push_back(m.output("y").bomb("conv_transpose"));
  }
  {
    Model m;
    m.filled("x", {1, 1, 256, 256}).filled("w", {1, 1, 31, 31}).filled("o", {1, 1922, 226, 226});
    m.node("DeformConv", {"x", "w", "o"}, {"y"});
    all.push_back(m.output("y").bomb("deform_conv"));
  }
  {
    Model m;
    m.filled("x", {1, 1041408, 64}).ints("s", {2}, {1031, 1024}).ints("b", {2}, {1024, 1017});
    m.node("Col2Im", {"x", "s", "b"}, {"y"});
    all.push_back(m.output("y").bomb("col2im"));
  }
  {
    Model m;
    m.filled("x", {1, 1, 64, 64}).filled("g", {1, 1 << 14, 1 << 14, 2});
    m.node("GridSample", {"x", "g"}, {"y"}).attr("mode", "cubic");
    all.push_back(m.output("y").bomb("grid_sample"));
  }
  {
    Model m;
    m.filled("x", {1, 1, 1 << 13, 1 << 13}).ints("s", {4}, {1, 1, 512, 512});
    m.node("Resize", {"x", "", "", "s"}, {"y"}).attr("mode", "cubic").attr("antialias", 1);
    all.push_back(m.output("y").bomb("resize_antialias"));
  }
}

void add_sorts(std::vector<Bomb>* to) {
  auto& all = *to;
  {
    Model m;
    m.ints("s", {3}, {int64_t{1} << 55, 2, 0}).node("ConstantOfShape", {"s"}, {"x"});
    m.node("Unique", {"x"}, {"y"}).attr("axis", 0);
    all.push_back(m.output("y").bomb("unique_of_nothing"));
  }
  {
    Model m;
    m.filled("x", {1 << 27}).node("Unique", {"x"}, {"y"});
    all.push_back(m.output("y").bomb("unique"));
  }
  {
    Model m;
    m.filled("b", {1, 400000, 4}).filled("s", {1, 1, 400000}).ints("n", {}, {400000});
    m.node("NonMaxSuppression", {"b", "s", "n"}, {"y"});
    all.push_back(m.output("y").bomb("nms_of_400000"));
  }
  {
    Model m;
    m.filled("x", {1 << 27}).ints("k", {1}, {1 << 26}).node("TopK", {"x", "k"}, {"y", "i"});
    all.push_back(m.output("y").bomb("top_k"));
  }
  {
    Model m;
    m.filled("x", {1 << 14, 1 << 14}).node("NonZero", {"x"}, {"y"});
    all.push_back(m.output("y").bomb("non_zero"));
  }
  {
    Model m;
    m.filled("x", {1 << 28}).ints("a", {}, {0}).node("CumSum", {"x", "a"}, {"y"});
    all.push_back(m.output("y").bomb("cum_sum"));
  }
  {
    Model m;
    m.filled("x", {1 << 14, 1 << 14}).filled("n", {1 << 14}, 7);
    m.node("ReverseSequence", {"x", "n"}, {"y"});
    all.push_back(m.output("y").bomb("reverse_sequence"));
  }
  {
    Model m;
    m.filled("x", {1 << 28}).filled("i", {1 << 26, 1}, 7).filled("u", {1 << 26});
    m.node("ScatterND", {"x", "i", "u"}, {"y"});
    all.push_back(m.output("y").bomb("scatter_nd"));
  }
}

void add_products(std::vector<Bomb>* to) {
  auto& all = *to;
  {
    Model m;
    m.filled("a", {1 << 15, 1 << 13}).filled("b", {1 << 13, 1 << 15});
    all.push_back(m.node("MatMul", {"a", "b"}, {"y"}).output("y").bomb("mat_mul"));
  }
  {  // each is small, and there are many
    Model m;
    m.filled("x0", {128, 128});
    for (int k = 0; k < 150; ++k) {
      const std::string x = "x" + std::to_string(k);
      m.node("MatMul", {x, x}, {"x" + std::to_string(k + 1)});
    }
    all.push_back(m.output("x150").bomb("mat_mul_chain"));
  }
  {
    Model m;
    m.filled("a", {1 << 14, 1 << 14}, 2).filled("b", {1 << 14, 1 << 14}, 2);
    m.node("MatMulInteger", {"a", "b"}, {"y"});
    all.push_back(m.output("y").bomb("mat_mul_integer"));
  }
  {
    Model m;
    m.filled("a", {1 << 13, 1 << 13}, 2).floats("s", {}, {1});
    m.filled("z", {}, 2).node("QLinearMatMul", {"a", "s", "z", "a", "s", "z", "s", "z"}, {"y"});
    all.push_back(m.output("y").bomb("qlinear_mat_mul"));
  }
  {
    Model m;
    m.filled("x", {1, 8, 512, 512}, 2).filled("w", {8, 8, 65, 65}, 2).floats("s", {}, {1});
    m.filled("z", {}, 2);
    m.node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z"}, {"y"});
    all.push_back(m.output("y").bomb("qlinear_conv"));
  }
  {
    Model m;
    m.filled("x", {1000, 300, 300}).node("Det", {"x"}, {"y"});
    all.push_back(m.output("y").bomb("det"));
  }
  {
    Model m;
    m.filled("x", {1, 16777213, 1}).node("DFT", {"x"}, {"y"});
    all.push_back(m.output("y").bomb("dft_of_a_prime"));
  }
  {
    Model m;
    m.filled("x", {1, 1 << 24}).ints("step", {}, {1}).ints("n", {}, {4093});
    m.node("STFT", {"x", "step", "", "n"}, {"y"});
    all.push_back(m.output("y").bomb("stft"));
  }
  for (const char* cell : {"RNN", "GRU", "LSTM"}) {
    Model m;
    const int64_t gates = cell[0] == 'R' ? 1 : cell[0] == 'G' ? 3 : 4;
    m.filled("x", {1 << 20, 1, 64}).filled("w", {1, gates * 64, 64});
    m.node(cell, {"x", "w", "w"}, {"", "y"}).attr("hidden_size", 64);
    all.push_back(m.output("y").bomb(std::string("long_") + cell));
  }
  {
    Model m;
    m.filled("x", {1, 8, 1 << 15, 64}).node("Attention", {"x", "x", "x"}, {"y"});
    all.push_back(m.output("y").bomb("attention"));
  }
  {
    Model m;
    m.filled("a", {256, 256, 256}).node("Einsum", {"a", "a", "a"}, {"y"});
    m.attr("equation", "abc,bcd,cde->ae");
    all.push_back(m.output("y").bomb("einsum"));
  }
  {  // every letter of every operand stays
    Model m;
    m.filled("a", {2, 2});
    std::string equation;
    Model::Names in;
    for (char l = 'a'; l + 1 <= 'z'; l = static_cast<char>(l + 2)) {
      equation += std::string(equation.empty() ? "" : ",") + l + static_cast<char>(l + 1);
      in.push_back("a");
    }
    m.node("Einsum", in, {"y"}).attr("equation", (equation + "->").c_str());
    all.push_back(m.output("y").bomb("einsum_of_26_letters"));
  }
}

void add_strings(std::vector<Bomb>* to) {
  auto& all = *to;
  {
    Model m;
    m.strings("x", {std::string(3000, 'a')}).node("RegexFullMatch", {"x"}, {"y"});
    m.attr("pattern", "((a{1,30}){1,30}){1,30}b");
    all.push_back(m.output("y").bomb("regex"));
  }
  {
    Model m;
    m.filled("x", {1 << 16}, 7).node("TfIdfVectorizer", {"x"}, {"y"});
    m.attr("mode", "TF").attr("min_gram_length", 1).attr("max_gram_length", 3);
    m.attr("max_skip_count", 1 << 16).attr("pool_int64s", Ints{1, 1, 1, 1, 1, 1});
    m.attr("ngram_counts", Ints{0, 1, 3}).attr("ngram_indexes", Ints{0, 1, 2});
    all.push_back(m.output("y").bomb("tf_idf"));
  }
  {  // a text that is joined with itself
    Model m;
    m.strings("x0", {"0123456789abcdef"});
    for (int k = 0; k < 40; ++k) {
      const std::string x = "x" + std::to_string(k);
      m.node("StringConcat", {x, x}, {"x" + std::to_string(k + 1)});
    }
    all.push_back(m.output("x40").bomb("string_concat_doubles"));
  }
  {
    Model m;
    m.strings("x", {std::string(8000, ' ') + "a"}).node("StringSplit", {"x"}, {"y", "n"});
    m.attr("delimiter", " ");
    m.ints("many", {1}, {1 << 16}).node("Expand", {"y", "many"}, {"z"});
    all.push_back(m.output("n").bomb("string_split"));
  }
}

// Trees and support vectors whose tables ask for more than they have.
void add_tables(std::vector<Bomb>* to) {
  auto& all = *to;
  // A chain of nodes, whose last one leads to a leaf, or back.
  for (bool back : {false, true}) {
    constexpr int64_t kChain = 60;
    Ints trees, ids, yes, no;
    Model::Names modes;
    for (int64_t i = 0; i <= kChain + 1; ++i) {
      const bool leaf = i >= kChain;
      trees.push_back(0), ids.push_back(i), modes.emplace_back(leaf ? "LEAF" : "BRANCH_LEQ");
      yes.push_back(leaf ? 0 : i + 1), no.push_back(leaf ? 0 : kChain + 1);
    }
    if (back) yes[kChain - 1] = 0;
    Model m;
    m.with_ml().filled("x", {1 << 18, 1}).node("TreeEnsembleRegressor", {"x"}, {"y"}, "ai.onnx.ml");
    m.attr("nodes_treeids", trees)
        .attr("nodes_nodeids", ids)
        .attr("nodes_featureids", Ints(trees.size()));
    m.attr("nodes_truenodeids", yes)
        .attr("nodes_falsenodeids", no)
        .words_attr("nodes_modes", modes);
    m.attr("nodes_values", std::vector<float>(trees.size(), 1));
    m.attr("target_treeids", Ints{0, 0}).attr("target_nodeids", Ints{kChain, kChain + 1});
    m.attr("target_ids", Ints{0, 0}).attr("target_weights", std::vector<float>{1, 2});
    m.attr("n_targets", 1).output("y");
    all.push_back(m.bomb(back ? "tree_of_a_cycle" : "tree_of_a_chain", back ? "lead back" : ""));
  }
  {  // pairs of classes are as many as their square
    Model m;
    m.with_ml().floats("x", {1, 1}, {1}).node("SVMClassifier", {"x"}, {"l", "y"}, "ai.onnx.ml");
    m.attr("classlabels_ints", Ints(1000, 1)).attr("vectors_per_class", Ints(1000, 0));
    m.attr("coefficients", std::vector<float>{1}).attr("rho", std::vector<float>{1});
    all.push_back(m.output("y").bomb("svm_of_no_vectors", "coefficients"));
  }
  {
    Model m;
    const Ints one_each(2000, 1);
    m.with_ml().floats("x", {1, 1}, {1}).node("SVMClassifier", {"x"}, {"l", "y"}, "ai.onnx.ml");
    m.attr("classlabels_ints", one_each).attr("vectors_per_class", one_each);
    m.attr("coefficients", std::vector<float>{1}).attr("rho", std::vector<float>{1});
    all.push_back(m.output("y").bomb("svm_of_many_classes", "must have 3998000"));
  }
}

// Adds chains in which the size multiplies at each node.
void add_doubling(std::vector<Bomb>* to) {
  auto& all = *to;
  for (size_t copies : {2, 3}) {
    for (bool text : {false, true}) {
      Model m;
      text ? m.strings("x0", {"0123456789abcdef", std::string(200, 'b')})
           : m.floats("x0", {4}, {1, 2, 3, 4});
      const int last = copies == 2 ? 40 : 33;
      for (int k = 0; k < last; ++k) {
        const Model::Names in(copies, "x" + std::to_string(k));
        m.node("Concat", in, {"x" + std::to_string(k + 1)}).attr("axis", 0);
      }
      all.push_back(m.output("x" + std::to_string(last))
                        .bomb("concat_" + std::to_string(copies) + (text ? "_strings" : "_times")));
    }
  }
  {  // each is little more than the one before, and all of them stay
    Model m;
    m.floats("x0", {4}, {1, 2, 3, 4}).filled("more", {16000});
    for (int k = 0; k < 120; ++k) {
      const std::string next = "x" + std::to_string(k + 1);
      m.node("Concat", {"x" + std::to_string(k), "more"}, {next}).attr("axis", 0).output(next);
    }
    all.push_back(m.bomb("concat_a_little_more"));
  }
  {
    Model m;
    m.floats("x0", {4}, {1, 2, 3, 4});
    for (int k = 0; k < 40; ++k) {
      const std::string x = "x" + std::to_string(k), id = std::to_string(k);
      m.node("SequenceConstruct", {x, x}, {"s" + id});
      m.node("ConcatFromSequence", {"s" + id}, {"x" + std::to_string(k + 1)}).attr("axis", 0);
    }
    all.push_back(m.output("x40").bomb("sequence_doubles"));
  }
  {
    Model m;
    m.filled("x", {1 << 14}).node("SequenceConstruct", {"x"}, {"s0"});
    for (int k = 0; k < 120; ++k) {
      const std::string s = "s" + std::to_string(k);
      m.node("SequenceInsert", {s, "x"}, {"s" + std::to_string(k + 1)});
    }
    all.push_back(m.output("s120").bomb("sequence_insert"));
  }
}

}  // namespace

void add_kernels(std::vector<Bomb>* to) {
  add_windows(to);
  add_sorts(to);
  add_products(to);
  add_strings(to);
  add_tables(to);
  add_doubling(to);
}

}  // namespace wick::bombs
