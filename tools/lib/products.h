// The nodes of a model whose products have an order that the model chose (docs/numerics.md).
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Returns what people call it: exact, fast or bf16.
const char* products_name(Products products);

// Layers of products, convolutions among them, and those that have an order of their own.
struct ProductCounts {
  int layers = 0, convolutions = 0, winograd = 0, bf16 = 0;
};
ProductCounts product_counts(const ir::Graph& graph);  // its regions included
ProductCounts product_counts(const EntryDef& entry);

// Returns "12 of 20 convolutions by Winograd's F(2x2, 3x3)", or the like; of kExact "".
std::string products_text(const ProductCounts& counts, Products products);

}  // namespace wick::tool
