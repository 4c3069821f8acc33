#include "tools/lib/products.h"

#include <fmt/core.h>

#include "runtime/ops/products.h"

namespace wick::tool {
namespace {

void count(OpId op, const void* attrs, ProductCounts* counts) {
  const bool conv = op == OpId::kConv || op == OpId::kFusedConv;
  if (!conv && (is_custom(op) || kind_of(op) != OpKind::kProduct)) return;
  ++counts->layers;
  if (conv) ++counts->convolutions;
  const Products products = products_of(op, attrs);
  if (products == Products::kWinograd) ++counts->winograd;
  if (products == Products::kBf16) ++counts->bf16;
}

void count(const ir::Graph& graph, ProductCounts* counts) {
  for (const ir::Node& n : graph.nodes()) {
    if (n.removed()) continue;
    count(n.op, n.attrs.get(), counts);
    for (const ir::Graph& region : n.regions) count(region, counts);
  }
}

}  // namespace

ProductCounts product_counts(const ir::Graph& graph) {
  ProductCounts counts;
  count(graph, &counts);
  return counts;
}

ProductCounts product_counts(const EntryDef& entry) {
  ProductCounts counts;
  for (const RegionDef& region : entry.regions) {
    for (const NodeDef& n : region.nodes) count(n.op, n.attrs, &counts);
  }
  return counts;
}

const char* products_name(Products products) {
  switch (products) {
    case Products::kExact: return "exact";
    case Products::kWinograd: return "fast";
    case Products::kBf16: return "bf16";
  }
  return "invalid";
}

std::string products_text(const ProductCounts& counts, Products products) {
  if (products == Products::kWinograd)
    return fmt::format("{} of {} convolutions by Winograd's F(2x2, 3x3)", counts.winograd,
                       counts.convolutions);
  if (products == Products::kBf16)
    return fmt::format("{} of {} layers by products of bf16", counts.bf16, counts.layers);
  return "";
}

}  // namespace wick::tool
