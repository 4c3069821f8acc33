// TableWalk: visits a file's whole table once, before anything is decoded. A flatbuffer may refer
// to one child from many places, so that a small file decodes into a large program; a .wick file
// stores each table, vector and string once for each reference to it. The decoder's work is then
// proportional to the file.
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
  // Fails with kInvalidProgram where something is referenced twice, kBudgetExceeded at the ledger's
  // limit.
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
  Array<uint8_t> seen_;  // one bit per 4 bytes: a table, vector or string starts there
  Ledger& ledger_;
};

}  // namespace wick
