// Program: a loaded, checked, immutable model. Weights are read where they are (a copy, the mapped
// file, the caller's buffer); everything else is decoded once into plain structs. Any number of
// sessions may share one, from any threads.
#pragma once

#include <atomic>

#include "runtime/core/arena.h"
#include "runtime/core/lent_bytes.h"
#include "runtime/core/owned.h"
#include "runtime/core/shape.h"
#include "runtime/core/tensor_view.h"
#include "runtime/program/layout.h"

namespace wick {

struct CustomOp;             // runtime/ops/custom_op.h
struct OpInfo;               // runtime/ops/op_info.h
class Ledger;                // runtime/core/ledger.h
enum class OpId : uint16_t;  // runtime/ops/op_id.h

// Where the weights of a file are while its program lives. Whoever maps a file sees it change: one
// that becomes shorter ends the process (LoadOptions::guard makes an error of that), and one that
// is written over in place is NOT noticed, not even with a guard. Replace a model's file by
// renaming a new one over it, as wick does; the old one then stays as it was for who has it mapped.
enum class WeightsIn : uint8_t {
  kAuto = 0,  // up to kCopiedWeights copied; more is mapped where the storage is local, else copied
  kCopy = 1,
  kMap = 2,
};
constexpr uint64_t kCopiedWeights = uint64_t{8} << 20;

// What a load may look at by default: tables, elements and bytes, for each byte of the file.
constexpr uint64_t kVisitsPerByte = 64;

struct LoadOptions {
  Allocator* allocator = nullptr;         // null: default_allocator(); must outlive the program
  uint64_t max_file = uint64_t{1} << 40;  // bytes of the file
  // Bytes of decoded structure; copied weights are not counted. 0: in proportion to the file, which
  // is 16 times its table, twice its weights (texts among them have 16 bytes each) and 1 MiB.
  uint64_t max_ram = 0;
  // Reads every byte, for doubtful storage, and compares the digest of the whole file, or those of
  // its weights where it has no other. So is done without this for files whose weights are copied
  // and are kCopiedWeights at most. A lent segment (below) is compared where the program has a
  // digest of it; lend_program gives none, as its bytes are the lender's memory.
  bool verify_digests = false;
  WeightsIn weights = WeightsIn::kAuto;  // of a file; bytes in memory are read in place
  // A mapped file that becomes shorter, or whose storage fails, makes sessions return kIo instead
  // of ending the process: installs the handler of runtime/program/guard.h for the whole process.
  bool guard = false;
  // The names of the ops that a file may have ("Conv", "my.domain::Swish"), all others being
  // refused; empty: every op. For who loads files of strangers.
  Span<const char* const> ops;
  Ledger* ledger =
      nullptr;  // counts what the load looks at, under its limits; null: kVisitsPerByte
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
  // The structure is copied, so that what was checked stays as it was; of weights see WeightsIn.
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
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t weight_bytes() const;
  // The SHA-256 of all of the file that the file itself has: 32 bytes; empty: it has none.
  Span<const uint8_t> digest() const { return {digest_, has_digest_ ? sizeof(digest_) : 0}; }
  // kIo where a guarded file could not be read any more: zeros stand in the place of weights.
  Status intact() const;

 private:
  friend class ProgramReader;
  friend class ProgramFile;
  static Result<Owned<Program>> make(const LoadOptions& options);
  explicit Program(Allocator& allocator) : allocator_(&allocator), arena_(allocator) {}
  ~Program();

  Allocator* allocator_;
  Arena arena_;
  uint64_t file_bytes_ = 0;
  Span<const uint8_t> mapped_,
      copied_;  // to unmap, to deallocate; what is in neither is the caller's
  uint8_t digest_[32] = {};
  bool has_digest_ = false;
  int guard_ = -1;                 // place in the guard's list
  std::atomic<uint32_t> lost_{0};  // set by the guard

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
