#include "runtime/program/table_walk.h"

namespace wick {

// Marks a child as named; fails if it was named before. Children start at multiples of 4
// (verified).
Status TableWalk::claim(const void* child, const char* what) {
  WICK_TRY(ledger_.visit(1));
  if (child == nullptr) return {};
  const auto at = static_cast<size_t>(static_cast<const uint8_t*>(child) - table_);
  uint8_t& byte = seen_[at / 32];
  const auto bit = static_cast<uint8_t>(1 << (at / 4 % 8));
  if ((byte & bit) != 0) {
    return error(Code::kInvalidProgram,
                 "the table names the %s at its byte %zu twice: write each once for every use",
                 what, at);
  }
  byte |= bit;
  return {};
}

template <class T>
Status TableWalk::list(const flatbuffers::Vector<T>* v, const char* what) {
  WICK_TRY(claim(v, what));
  return v == nullptr ? Status() : ledger_.visit(v->size());
}

Status TableWalk::text(const flatbuffers::String* s, const char* what) {
  WICK_TRY(claim(s, what));
  return s == nullptr ? Status() : ledger_.visit(s->size());
}

template <class T, class Each>
Status TableWalk::tables(const flatbuffers::Vector<flatbuffers::Offset<T>>* v, const char* what,
                         Each each) {
  WICK_TRY(list(v, what));
  for (flatbuffers::uoffset_t i = 0; v != nullptr && i < v->size(); ++i) {
    WICK_TRY(claim(v->Get(i), what));
    WICK_TRY(each(*v->Get(i)));
  }
  return {};
}

Status TableWalk::constant(const fbs::Constant& c) {
  WICK_TRY(text(c.name(), "constant's name"));
  WICK_TRY(list(c.dims(), "constant's dimensions"));
  WICK_TRY(claim(c.raw(), "buffer"));
  return tables(c.packed(), "packed form", [](const fbs::Buffer&) { return Status(); });
}

Status TableWalk::value(const fbs::Value& v) {
  WICK_TRY(text(v.name(), "value's name"));
  WICK_TRY(list(v.dims(), "value's dimensions"));
  WICK_TRY(claim(v.quantization(), "quantization"));
  if (v.quantization() == nullptr) return {};
  WICK_TRY(list(v.quantization()->scales(), "list of scales"));
  return list(v.quantization()->zero_points(), "list of zero points");
}

Status TableWalk::node(const fbs::Node& n) {
  WICK_TRY(list(n.inputs(), "node's inputs"));
  WICK_TRY(list(n.outputs(), "node's outputs"));
  WICK_TRY(text(n.name(), "node's name"));
  return tables(n.attrs(), "attribute", [&](const fbs::Attr& a) -> Status {
    WICK_TRY(list(a.ints(), "attribute's integers"));
    WICK_TRY(text(a.s(), "attribute's text"));
    return list(a.floats(), "attribute's numbers");
  });
}

Status TableWalk::entry(const fbs::Entry& e) {
  WICK_TRY(text(e.name(), "entry point's name"));
  WICK_TRY(tables(e.values(), "value", [&](const fbs::Value& v) { return value(v); }));
  WICK_TRY(list(e.state_updates(), "list of state updates"));
  return tables(e.regions(), "region", [&](const fbs::Region& r) -> Status {
    WICK_TRY(list(r.inputs(), "region's inputs"));
    WICK_TRY(list(r.outputs(), "region's outputs"));
    return tables(r.nodes(), "node", [&](const fbs::Node& n) { return node(n); });
  });
}

Status TableWalk::texts(const fbs::Program& root) {
  WICK_TRY(list(root.labels(), "list of labels"));
  for (flatbuffers::uoffset_t i = 0; root.labels() != nullptr && i < root.labels()->size(); ++i)
    WICK_TRY(text(root.labels()->Get(i), "label"));
  WICK_TRY(tables(root.metadata(), "metadata entry", [&](const fbs::KeyValue& kv) -> Status {
    WICK_TRY(text(kv.key(), "metadata key"));
    return text(kv.value(), "metadata value");
  }));
  const fbs::Provenance* p = root.provenance();
  WICK_TRY(claim(p, "provenance"));
  if (p == nullptr) return {};
  WICK_TRY(text(p->wick_version(), "version"));
  WICK_TRY(list(p->weights_sha256(), "sha256"));
  return text(p->source(), "source");
}

Status TableWalk::walk(const fbs::Program& root) {
  WICK_TRY(seen_.resize(bytes_ / 32 + 1));
  WICK_TRY(tables(root.symbols(), "symbol",
                  [&](const fbs::Symbol& s) { return text(s.name(), "symbol's name"); }));
  WICK_TRY(tables(root.segments(), "segment",
                  [&](const fbs::Segment& s) { return list(s.sha256(), "sha256"); }));
  WICK_TRY(
      tables(root.constants(), "constant", [&](const fbs::Constant& c) { return constant(c); }));
  WICK_TRY(tables(root.states(), "state", [&](const fbs::State& s) -> Status {
    WICK_TRY(text(s.name(), "state's name"));
    WICK_TRY(list(s.dims(), "state's dimensions"));
    return list(s.sizes(), "state's sizes");
  }));
  WICK_TRY(tables(root.custom_ops(), "custom op", [&](const fbs::CustomOp& op) -> Status {
    WICK_TRY(text(op.domain(), "custom op's domain"));
    return text(op.name(), "custom op's name");
  }));
  WICK_TRY(texts(root));
  return tables(root.entries(), "entry point", [&](const fbs::Entry& e) { return entry(e); });
}

}  // namespace wick
