// Renders the graph of a tensor's history: as a text tree, or as DOT for graphviz.
#pragma once

#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

// One line per value, the result first and its inputs below it:
//   #5 mul [2] (train.cpp:9)
//   |-- #3 add [2] (train.cpp:8)
//   |   |-- #1 leaf 'a' [2]
//   |   `-- #2 leaf 'b' [2]
//   `-- #4 leaf 'c' [2]
// Numbers are given in post-order, so that inputs have smaller numbers than their results. A value
// that is used again is repeated with "(see above)", without its inputs. "constant" is an input
// that gets no gradient. Levels deeper than max_depth are "...".
std::string render(const Tensor& t, bool show_dtype = false, int max_depth = 100);

// Returns the same graph for `dot -Tsvg`: boxes are ops, ellipses leaves; the labels have forward
// lines and module paths.
std::string to_dot(const Tensor& t, bool show_dtype = false);

}  // namespace wick
