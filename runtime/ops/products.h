// What a product's attributes ask for: where an order of products (Products) applies, and the
// activation behind it. It depends on nothing but the dtype, the weight's shape and the attributes,
// so that every implementation decides alike.
#pragma once

#include "runtime/core/shape.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_id.h"

namespace wick {

// Returns whether a Conv or FusedConv of x by w is computed by Winograd's F(2x2, 3x3).
inline bool takes_winograd(DType x, const Shape& w, const ConvAttrs& a) {
  if (a.products != static_cast<int64_t>(Products::kWinograd) || x != DType::kF32) return false;
  if (w.rank() != 4 || w[2] != 3 || w[3] != 3 || a.group != 1) return false;
  for (int i = 0; i < 2; ++i) {
    if (a.strides.at_or(i, 1) != 1 || a.dilations.at_or(i, 1) != 1) return false;
  }
  return true;
}

// Return whether the products are pairs of bf16: of FusedLinear and FusedMatMul, and of a
// convolution over one or two dims in one group.
inline bool takes_pairs(DType x, const EpilogueAttrs& a) {
  return a.products == static_cast<int64_t>(Products::kBf16) && x == DType::kF32;
}
inline bool takes_pairs(DType x, const Shape& w, const ConvAttrs& a) {
  return a.products == static_cast<int64_t>(Products::kBf16) && x == DType::kF32 && w.rank() <= 4 &&
         a.group == 1;
}

// Returns the order that a node asks for.
inline Products products_of(OpId op, const void* attrs) {
  if (op == OpId::kConv)
    return static_cast<Products>(static_cast<const ConvAttrs*>(attrs)->products);
  if (op == OpId::kFusedConv)
    return static_cast<Products>(static_cast<const FusedConvAttrs*>(attrs)->conv.products);
  if (op == OpId::kFusedLinear || op == OpId::kFusedMatMul)
    return static_cast<Products>(static_cast<const EpilogueAttrs*>(attrs)->products);
  return Products::kExact;
}

// Returns the activation that ends a fused product.
inline Activation activation_of(OpId op, const void* attrs) {
  int64_t act = 0;
  if (op == OpId::kFusedConv) act = static_cast<const FusedConvAttrs*>(attrs)->epilogue.activation;
  if (op == OpId::kFusedLinear || op == OpId::kFusedMatMul)
    act = static_cast<const EpilogueAttrs*>(attrs)->activation;
  return static_cast<Activation>(act);
}

}  // namespace wick
