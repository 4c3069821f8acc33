// Program: a loaded, checked, immutable model. Weights are read in place (in a copy, the mapped
// file or the caller's buffer); everything else is decoded once into plain structs. Any number of
// sessions may share a program, from any threads.
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

// The place of a file's weights while its program lives. A mapped file can change under the
// program: if it becomes shorter the process ends (LoadOptions::guard makes that an error), and if
// it is overwritten in place this is NOT noticed, not even with a guard. Replace a model's file by
// renaming a new one over it, as wick does; processes that have the old file mapped then keep it
// unchanged.
enum class WeightsIn : uint8_t {
  kAuto = 0,  // up to kCopiedWeights copied; more is mapped where the storage is local, else copied
  kCopy = 1,
  kMap = 2,
};
constexpr uint64_t kCopiedWeights = uint64_t{8} << 20;

// The default limit of what a load looks at: tables, elements and bytes, per byte of the file.
constexpr uint64_t kVisitsPerByte = 64;

struct LoadOptions {
  Allocator* allocator = nullptr;         // null: default_allocator(); must outlive the program
  uint64_t max_file = uint64_t{1} << 40;  // limit on the file's bytes
  // Limit on the bytes of decoded structure; copied weights are not counted. 0: proportional to the
  // file, namely 16 times its table, plus twice its weights (string elements take 16 bytes each),
  // plus 1 MiB.
  uint64_t max_ram = 0;
  // For storage that may be faulty: reads every byte and checks the digest of the whole file, or
  // those of its weights where it has no other. Files whose weights are copied and have
  // kCopiedWeights bytes at most are always checked. A lent segment (below) is checked where the
  // program has a digest of it; lend_program gives none, as the bytes are in the lender's memory.
  bool verify_digests = false;
  WeightsIn weights = WeightsIn::kAuto;  // for a file; bytes in memory are read in place
  // When a mapped file becomes shorter, or its storage fails, sessions return kIo instead of ending
  // the process. This installs the handler of runtime/program/guard.h for the whole process.
  bool guard = false;
  // The names of the ops that a file may use ("Conv", "my.domain::Swish"); a file with any other op
  // is refused. Empty: every op is allowed. Use it when you load files from untrusted sources.
  Span<const char* const> ops;
  Ledger* ledger =
      nullptr;  // counts what the load looks at, under its limits; null: kVisitsPerByte
  // Custom ops that programs may use; they must outlive the program. A missing one is no error
  // before a session is opened.
  Span<const CustomOp* const> custom_ops;
  // The segments of a program made in memory, in order, when its weights are lent instead of copied
  // (lend_program in exporter/program).
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
  LentBytes* source = nullptr;  // not null: the bytes at view.data are missing until it is filled
  Span<const PackedDef> packed;
};

struct StateDef {
  const char* name = "";
  DType dtype = DType::kNone;
  Shape shape;
  uint32_t init = kNoIndex;  // index of a constant; none: zeros
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
  DType dtype = DType::kNone;    // kSequence ... for values that are not tensors
  DType element = DType::kNone;  // of the elements of a sequence or an optional
  bool unranked = false;
  Span<const DimDef> dims;
  uint32_t constant = kNoIndex;
  uint32_t state = kNoIndex;
  const QuantDef* quant = nullptr;
};

// A custom op that the file names, and the implementation given for it.
struct CustomOpDef {
  const char* domain = "";
  const char* name = "";
  uint32_t version = 1;
  const CustomOp* op = nullptr;  // null: not given
  const OpInfo* info = nullptr;  // null when op is null
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
  // Loads a file. The structure is copied, so that it stays as it was checked; for weights see
  // WeightsIn.
  static Result<Owned<Program>> load(const char* path, const LoadOptions& options = {});
  // Loads from memory and reads in place: the bytes must outlive the program and be 64-byte aligned
  // (else they are copied once).
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
  Edition edition() const { return edition_of(features_); }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t weight_bytes() const;
  // Returns the SHA-256 of the whole file that the file itself contains: 32 bytes; empty: it has
  // none.
  Span<const uint8_t> digest() const { return {digest_, has_digest_ ? sizeof(digest_) : 0}; }
  // Returns kIo where a guarded file could no longer be read, so that some weights read as zeros.
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
      copied_;  // to unmap, to deallocate; other bytes are the caller's
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
