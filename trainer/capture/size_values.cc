#include "trainer/capture/size_values.h"

namespace wick {

ir::ValueId SizeValues::of_atom(const SymAtom& atom) {
  switch (atom.kind) {
    case SymAtom::Kind::kSymbol: {
      const Source& from = sources_.at(atom.text);
      return g_.emit(OpId::kShape, ShapeOpAttrs{from.dim, from.dim + 1}, {from.input});
    }
    case SymAtom::Kind::kMax: return g_.emit(OpId::kMax, {one(atom.a), one(atom.b)});
    case SymAtom::Kind::kFloorDiv: break;
  }
  ir::ValueId a = one(atom.a);
  const ir::ValueId b = one(atom.b);
  // Division truncates; subtracting the remainder first, which has the divisor's sign, makes it
  // round down.
  if (atom.a.min() < 0) a = g_.emit(OpId::kSub, {a, g_.emit(OpId::kMod, ModAttrs{}, {a, b})});
  return g_.emit(OpId::kDiv, {a, b});
}

ir::ValueId SizeValues::one(const SymDim& size) {
  if (auto at = made_.find(size.text()); at != made_.end()) return at->second;
  if (outside_ && !size.known()) return made_[size.text()] = outside_(size);
  ir::ValueId sum = ir::kNoValue;
  auto add = [&](ir::ValueId v) { sum = sum == ir::kNoValue ? v : g_.emit(OpId::kAdd, {sum, v}); };
  auto number = [&](int64_t n) { return g_.add_constant(HostTensor::of<int64_t>({1}, {n})); };
  if (!size.known()) {
    for (const SymTerm& term : size.terms()) {
      ir::ValueId product = ir::kNoValue;
      for (const SymAtomRef& factor : term.factors) {
        const ir::ValueId v = of_atom(*factor);
        product = product == ir::kNoValue ? v : g_.emit(OpId::kMul, {product, v});
      }
      if (term.coefficient != 1) product = g_.emit(OpId::kMul, {product, number(term.coefficient)});
      add(product);
    }
  }
  if (size.constant() != 0 || sum == ir::kNoValue) add(number(size.constant()));
  return made_[size.text()] = sum;
}

ir::ValueId SizeValues::list(const std::vector<SymDim>& sizes) {
  std::vector<ir::ValueId> parts;
  std::vector<int64_t> numbers;  // consecutive known sizes
  auto close = [&] {
    if (numbers.empty()) return;
    const Shape shape = {static_cast<int64_t>(numbers.size())};
    parts.push_back(g_.add_constant(HostTensor::of<int64_t>(shape, numbers)));
    numbers.clear();
  };
  for (const SymDim& size : sizes) {
    if (size.known()) {
      numbers.push_back(size.constant());
      continue;
    }
    close();
    parts.push_back(one(size));
  }
  close();
  return parts.size() == 1 ? parts[0] : g_.emit(OpId::kConcat, AxisAttrs{0}, parts);
}

ir::ValueId SizeValues::scalar(const SymDim& size, DType dtype) {
  ir::ValueId v = g_.emit(OpId::kSqueeze, AxesAttrs{{0}}, {one(size)});
  if (dtype == DType::kI64) return v;
  CastAttrs to;
  to.to = static_cast<int64_t>(dtype);
  return g_.emit(OpId::kCast, to, {v});
}

}  // namespace wick
