// The nodes of a model whose products have an order that the model chose (docs/numerics.md).
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Float convolutions, and those among them whose products are Winograd's.
struct ProductCounts {
  int convolutions = 0, winograd = 0;
};
ProductCounts product_counts(const ir::Graph& graph);  // its regions included
ProductCounts product_counts(const Program& program);

// Returns "12 of 20 convolutions by Winograd's F(2x2, 3x3)".
std::string products_text(const ProductCounts& counts);

}  // namespace wick::tool
