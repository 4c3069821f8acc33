// Program: a loaded, checked, immutable model. Weights are read in place from the mapped file or
// the caller's buffer; everything else is decoded once into plain structs. Any number of sessions
// may share one, from any threads.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/core/lent_bytes.h"
#include "runtime/core/owned.h"
#include "runtime/core/shape.h"
#include "runtime/core/tensor_view.h"
#include "runtime/program/layout.h"

namespace wick {

struct CustomOp;             // runtime/ops/custom_op.h
struct OpInfo;               // runtime/ops/op_info.h
enum class OpId : uint16_t;  // runtime/ops/op_id.h

struct LoadOptions {
  Allocator* allocator = nullptr;         // null: default_allocator(); must outlive the program
  uint64_t max_file = uint64_t{1} << 40;  // bytes of the file
  uint64_t max_ram = uint64_t{1} << 33;   // bytes of decoded structure (weights are not copied)
  // Reads every weight, for doubtful storage. A lent segment (below) is compared where the program
  // has a digest of it; lend_program gives none, as its bytes are the lender's memory.
  bool verify_digests = false;
  // Users' own ops that programs may name; must outlive the program. One that is not given is no
  // error before a session is opened.
  Span<const CustomOp* const> custom_ops;
  // The segments of a program made in memory whose weights stay where they are (lend_program in
  // exporter/program), in order.
  Span<const LentSegment> lent;
};

// A dimension: `value`, or symbols()[symbol] when symbol >= 0.
struct DimDef {
  int64_t value = 0;
  int32_t symbol = -1;
};

struct SymbolDef {
  const char* name = "";
  int64_t min = 0, max = INT64_MAX;
};

struct PackedDef {
  uint32_t layout = 0;
  const void* data = nullptr;
  size_t bytes = 0;
};

struct ConstantDef {
  const char* name = "";
  TensorView view;              // read only
  LentBytes* source = nullptr;  // not null: nothing is at view.data before it was filled
  Span<const PackedDef> packed;
};

struct StateDef {
  const char* name = "";
  DType dtype = DType::kNone;
  Shape shape;
  uint32_t init = kNoIndex;  // constant; none: zeros
};

enum class ValueKind : uint8_t {
  kTensor = 0,
  kSequence = 1,
  kOptional = 2,
  kMap = 3,
  kOptionalSequence = 4
};

struct QuantDef {
  Span<const float> scales;
  Span<const int64_t> zero_points;
  int32_t axis = -1;
  uint32_t block = 0;
};

struct ValueDef {
  const char* name = "";
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kNone;    // kSequence ... for what is no tensor
  DType element = DType::kNone;  // of a sequence or an optional: of its elements
  bool unranked = false;
  Span<const DimDef> dims;
  uint32_t constant = kNoIndex;
  uint32_t state = kNoIndex;
  const QuantDef* quant = nullptr;
};

// A custom op the file names, and the one given for it.
struct CustomOpDef {
  const char* domain = "";
  const char* name = "";
  uint32_t version = 1;
  const CustomOp* op = nullptr;  // null: not given
  const OpInfo* info = nullptr;  // null with it
};

struct NodeDef {
  OpId op{};                     // OpId::kNone
  const OpInfo* info = nullptr;  // null: a custom op that was not given
  const CustomOp* custom = nullptr;
  const void* attrs = nullptr;  // the op's struct
  Span<const uint32_t> inputs;  // value ids; kNoIndex: absent
  Span<const uint32_t> outputs;
  const char* name = "";
  Span<const uint32_t> regions;  // of a control node: indices in EntryDef::regions
};

struct RegionDef {
  Span<const uint32_t> inputs, outputs;
  Span<const NodeDef> nodes;
};

struct StateUpdateDef {
  uint32_t state, value;
};

struct EntryDef {
  const char* name = "";
  Span<const ValueDef> values;
  Span<const RegionDef> regions;  // [0]: the body
  Span<const StateUpdateDef> state_updates;
  bool growing = false;

  const RegionDef& body() const { return regions[0]; }
};

struct KeyValueDef {
  const char* key = "";
  const char* value = "";
};

enum class NumericsClass : uint8_t { kExact = 0, kReassociates = 1, kApproximates = 2 };

struct ProvenanceDef {
  const char* wick_version = "";
  const char* source = "";
  Span<const uint8_t> weights_sha256;  // empty or 32 bytes
  uint64_t seed = 0;
  NumericsClass numerics = NumericsClass::kExact;
};

class Program {
 public:
  // Maps the file. It must not change while the program lives.
  static Result<Owned<Program>> load(const char* path, const LoadOptions& options = {});
  // Reads in place: the bytes must outlive the program, 64-byte aligned (else they are copied
  // once).
  static Result<Owned<Program>> load(Span<const uint8_t> bytes, const LoadOptions& options = {});
  static void destroy(Program* program);

  Span<const EntryDef> entries() const { return entries_; }
  const EntryDef* find_entry(const char* name) const;  // null: none
  Span<const SymbolDef> symbols() const { return symbols_; }
  Span<const ConstantDef> constants() const { return constants_; }
  Span<const StateDef> states() const { return states_; }
  Span<const CustomOpDef> custom_ops() const { return custom_ops_; }  // by id - kFirstCustomOp
  Span<const char* const> labels() const { return labels_; }
  Span<const KeyValueDef> metadata() const { return metadata_; }
  const char* find_metadata(const char* key) const;  // null: none
  const ProvenanceDef& provenance() const { return provenance_; }
  uint64_t features() const { return features_; }
  uint64_t file_bytes() const { return bytes_.size(); }
  uint64_t weight_bytes() const;

 private:
  friend class ProgramReader;
  explicit Program(Allocator& allocator, uint64_t max_ram)
      : allocator_(&allocator),
        arena_(allocator, max_ram < SIZE_MAX ? static_cast<size_t>(max_ram) : SIZE_MAX) {}
  ~Program();

  Allocator* allocator_;
  Arena arena_;
  Span<const uint8_t> bytes_;
  bool mapped_ = false, copied_ = false;  // how bytes_ are held: munmap / deallocate / the caller's

  Span<const EntryDef> entries_;
  Span<const SymbolDef> symbols_;
  Span<const ConstantDef> constants_;
  Span<const StateDef> states_;
  Span<const CustomOpDef> custom_ops_;
  Span<const char* const> labels_;
  Span<const KeyValueDef> metadata_;
  ProvenanceDef provenance_;
  uint64_t features_ = 0;
};

}  // namespace wick
