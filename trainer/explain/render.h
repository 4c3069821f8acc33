// The graph of a tensor's history as text: a tree, or DOT for graphviz.
#pragma once

#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

// A line a value, the result first and what it was made from below it:
//   #5 mul [2] (train.cpp:9)
//   |-- #3 add [2] (train.cpp:8)
//   |   |-- #1 leaf 'a' [2]
//   |   `-- #2 leaf 'b' [2]
//   `-- #4 leaf 'c' [2]
// Numbers are given in post-order, so that what a value needs has smaller ones. A value used again
// is written once more, marked "(see above)", without what is below it. "constant": an input that
// no gradient goes to. Deeper levels than max_depth are "...".
std::string render(const Tensor& t, bool show_dtype = false, int max_depth = 100);

// The same graph for `dot -Tsvg`: boxes are ops, ellipses leaves; forward lines and module paths in
// the labels.
std::string to_dot(const Tensor& t, bool show_dtype = false);

}  // namespace wick
