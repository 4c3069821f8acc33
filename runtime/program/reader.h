// ProgramReader: decodes and checks untrusted bytes into a Program. Every index, offset, size and
// order is checked here, once; what comes after (planning, kernels) relies on it.
#pragma once

#include "runtime/core/array.h"
#include "runtime/core/ledger.h"
#include "runtime/core/sha256.h"
#include "runtime/ops/op_info.h"
#include "runtime/program/program.h"
#include "runtime/program/program_generated.h"

namespace wick {

// Returns the length of a vector that a file may omit.
template <class V>
uint32_t count(const V* vector) {
  return vector == nullptr ? 0 : vector->size();
}
inline const char* text(const flatbuffers::String* s) { return s == nullptr ? "" : s->c_str(); }

// The verifier checks where a vector's length is, but not the alignment of the 8-byte elements
// after it.
inline Status check_aligned(const void* vector, uint32_t size) {
  const auto first = reinterpret_cast<uintptr_t>(vector) + sizeof(flatbuffers::uoffset_t);
  if (size == 0 || first % 8 == 0) return {};
  return Status(Code::kInvalidProgram, "a list of 8-byte elements is not aligned");
}
template <class V>
Status check_aligned(const V* vector) {
  return check_aligned(vector, count(vector));
}

// The bytes of a file, in parts that may be in different places.
struct FileBytes {
  uint8_t head[sizeof(FileHeader) + sizeof(FileDigest)] = {};
  const uint8_t* table = nullptr;
  const uint8_t* rest = nullptr;  // from rest_at to the end
  uint64_t rest_at = 0;
  bool check = false;  // verify the digests also where the options do not ask for it
};

struct CustomOpName;  // runtime/ops/custom_op.h

class ProgramReader {
 public:
  ProgramReader(Program& program, const LoadOptions& options)
      : p_(program),
        options_(options),
        ledger_(options.ledger != nullptr ? *options.ledger : own_ledger_) {}
  // Reads the header, and the digest where there is one: `head` is the file's first 128 bytes, or
  // the whole file. After this every size and offset in the header lies within `file_bytes`.
  Status read_head(Span<const uint8_t> head, uint64_t file_bytes);
  const FileHeader& header() const { return header_; }
  // Returns where the rest begins: a multiple of kSegmentAlignment, at the table's end or shortly
  // before.
  uint64_t rest_at() const {
    return (header_.table_offset + header_.table_bytes) / kSegmentAlignment * kSegmentAlignment;
  }
  // Reads everything else. In `bytes`, table and rest are 64-byte aligned.
  Status read(const FileBytes& bytes);
  // Returns the program's bytes where they are a mapped file, else an empty span.
  static Span<const uint8_t> mapping(const Program& program) { return program.mapped_; }

 private:
  Status check_header(uint64_t file_bytes);
  Status read_digest(Span<const uint8_t> head);
  Status check_file_digest(const FileBytes& bytes);
  uint64_t segment_bytes() const;
  Status expand(const uint8_t** table);
  Status widen(Span<ConstantDef> constants, size_t bytes);
  Span<const uint8_t> area_of(const fbs::Segment& segment) const;
  Status read_table(const uint8_t* table);
  Status read_entries();
  Status read_symbols();
  Status read_segments();
  Status check_digest(uint32_t segment, Span<const uint8_t> bytes);
  Status read_strings(Span<const uint8_t> raw, TensorView* view);
  Status read_constants();
  Status read_states();
  Status read_state(const fbs::State& s, StateDef* def);
  Status read_texts();
  Status read_custom_ops();
  Status refuse_unknown_ops();
  Status refuse_ops_not_allowed(Span<const uint64_t> seen);
  const char* op_name(uint16_t id, CustomOpName* full) const;

  // A name: domain and name of a custom op, else one part.
  struct Name {
    const char* first;
    const char* second = "";
  };
  // Sorts the names and finds a duplicate; null: there is none.
  Status find_twice(Span<Name> names, const Name** twice);

  Status read_entry(const fbs::Entry& table, EntryDef* entry);
  Status read_updates(const fbs::Entry& table, Span<const uint8_t> defined, EntryDef* entry);
  Status read_value(const fbs::Value& v, ValueDef* def);
  Status read_type(const fbs::Value& v, ValueDef* def);
  Status read_dims(const flatbuffers::Vector<const fbs::Dim*>* list, DType dtype,
                   Span<const DimDef>* dims);
  Status read_source(const fbs::Value& v, ValueDef* def);
  Status read_quantization(const fbs::Quantization& q, ValueDef* def);
  Status read_region(const fbs::Entry& entry, int64_t number, int depth, EntryDef* def,
                     Span<uint8_t> defined, Span<uint8_t> region_seen, Span<uint32_t> owner,
                     bool closed);
  Status list_regions(const fbs::Node& node, NodeDef* def);
  Status name_by_output(const EntryDef& entry, uint32_t number, NodeDef* def);
  Status check_control(const EntryDef& entry, const NodeDef& node);
  const char* name_of(const fbs::Node& node) const;
  Status read_node(const fbs::Node& node, NodeDef* def);
  Status read_attrs(const fbs::Node& node, const OpInfo& info, void* attrs);
  Status check_ports(const EntryDef& entry, Span<const uint32_t> ids, const char* what);
  Status read_buffer(const fbs::Buffer& table, Span<const uint8_t>* bytes,
                     LentBytes** source = nullptr);
  Status read_shape(const flatbuffers::Vector<int64_t>* dims, DType dtype, Shape* shape,
                    size_t* bytes);
  Status need_feature(uint64_t feature, const char* what);

  Program& p_;
  const LoadOptions& options_;
  Ledger own_ledger_;
  Ledger& ledger_;
  bool check_segments_ = false;
  FileHeader header_ = {};
  const fbs::Program* root_ = nullptr;
  size_t table_bytes_ = 0;  // of the table as it is read
  const uint8_t* segments_ = nullptr;
  Span<const uint8_t> decoded_;  // of a compact file: what segments marked so lie in
};

}  // namespace wick
