// TableWalk: looks at the whole table of a file once, before anything of it is decoded. A
// flatbuffer may name one child from many places, so that a small file decodes into a large
// program; a .wick file stores each table, list and text once for each place that names it. What
// the decoder does after this is in proportion to the file.
#pragma once

#include "runtime/core/array.h"
#include "runtime/core/ledger.h"
#include "runtime/program/program_generated.h"

namespace wick {

class TableWalk {
 public:
  // `table`: verified, of `bytes`.
  TableWalk(const uint8_t* table, size_t bytes, Allocator& allocator, Ledger& ledger)
      : table_(table), bytes_(bytes), seen_(allocator), ledger_(ledger) {}
  // kInvalidProgram where something is named twice, kBudgetExceeded where the ledger says so.
  Status walk(const fbs::Program& root);

 private:
  Status claim(const void* child, const char* what);
  template <class T>
  Status list(const flatbuffers::Vector<T>* v, const char* what);
  Status text(const flatbuffers::String* s, const char* what);
  template <class T, class Each>
  Status tables(const flatbuffers::Vector<flatbuffers::Offset<T>>* v, const char* what, Each each);
  Status constant(const fbs::Constant& c);
  Status value(const fbs::Value& v);
  Status node(const fbs::Node& n);
  Status entry(const fbs::Entry& e);
  Status texts(const fbs::Program& root);

  const uint8_t* table_;
  size_t bytes_;
  Array<uint8_t> seen_;  // a bit for every fourth byte: where a table, a list or a text begins
  Ledger& ledger_;
};

}  // namespace wick
