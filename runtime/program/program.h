// Program: a loaded, checked, immutable model. Weights are read in place (in a copy, the mapped
// file or the caller's buffer); everything else is decoded once into plain structs. Any number of
// sessions may share a program, from any threads, and share the weights that they pack.
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
class PackStore;             // runtime/program/pack_store.h
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
// The bytes of weights up to which kAuto copies.
constexpr uint64_t kCopiedWeights = uint64_t{8} << 20;

// The default limit of what a load looks at: tables, elements and bytes, per byte of the file.
constexpr uint64_t kVisitsPerByte = 64;

// Options of Program::load().
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
  Span<const char* const> ops = {};
  Ledger* ledger =
      nullptr;  // counts what the load looks at, under its limits; null: kVisitsPerByte
  // Custom ops that programs may use; they must outlive the program. A missing one is no error
  // before a session is opened.
  Span<const CustomOp* const> custom_ops = {};
  // Keeps packed weights until the program is freed; else they are freed with the last session that
  // uses them. The kernel sets of its sessions must then outlive the program.
  bool keep_packed = false;
  // The segments of a program made in memory, in order, when its weights are lent instead of copied
  // (lend_program in exporter/program).
  Span<const LentSegment> lent = {};
};

// A dimension: `value`, or symbols()[symbol] when symbol >= 0.
struct DimDef {
  int64_t value = 0;
  int32_t symbol = -1;
};

// A symbolic dimension: its name, and the bounds min and max of its extent, both included.
struct SymbolDef {
  const char* name = "";
  int64_t min = 0, max = INT64_MAX;
};

// A packed form of a constant that the file contains.
struct PackedDef {
  uint32_t layout = 0;         // its id
  const void* data = nullptr;  // read only
  size_t bytes = 0;            // at data
};

// A constant of the program.
struct ConstantDef {
  const char* name = "";         // may be ""
  TensorView view;               // read only
  LentBytes* source = nullptr;   // not null: the bytes at view.data are missing until it is filled
  Span<const PackedDef> packed;  // forms in the file
};

// A buffer that keeps its value between runs. Those who run the program hold it (RecurrentState).
struct StateDef {
  // Its name, type and sizes; a symbol's size is that of the inputs, or chosen with the buffer.
  const char* name = "";
  DType dtype = DType::kNone;
  Span<const DimDef> dims;
  uint32_t init = kNoIndex;  // index of a constant; none: zeros
};

// A value is one of these kinds.
enum class ValueKind : uint8_t {
  kTensor = 0,
  kSequence = 1,
  kOptional = 2,
  kMap = 3,
  kOptionalSequence = 4
};

// How a tensor of integers stands for real numbers: real = scale * (q - zero_point).
struct QuantDef {
  Span<const float> scales;         // one, one per index of `axis`, or one per block
  Span<const int64_t> zero_points;  // as many, or none: 0
  int32_t axis = -1;                // -1: one scale for the whole tensor
  uint32_t block = 0;               // elements of the last dim that share a scale; 0: no blocks
};

// A value of an entry point: an input, a constant, a state, or the output of a node.
struct ValueDef {
  const char* name = "";                // may be ""
  ValueKind kind = ValueKind::kTensor;  // a tensor, or what else
  DType dtype = DType::kNone;           // kSequence ... for values that are not tensors
  DType element = DType::kNone;         // of the elements of a sequence or an optional
  // unranked: the rank is free, and there are no dims.
  bool unranked = false;
  Span<const DimDef> dims;
  // The index of the constant or of the state that it is; kNoIndex: none.
  uint32_t constant = kNoIndex;
  uint32_t state = kNoIndex;
  const QuantDef* quant = nullptr;  // null: not quantized
};

// A custom op that the file names, and the implementation given for it.
struct CustomOpDef {
  // Its full name is domain::name.
  const char* domain = "";
  const char* name = "";
  uint32_t version = 1;          // of the op's definition
  const CustomOp* op = nullptr;  // null: not given
  const OpInfo* info = nullptr;  // null when op is null
};

// A node: an op on values.
struct NodeDef {
  OpId op{};                         // OpId::kNone
  const OpInfo* info = nullptr;      // null: a custom op that was not given
  const CustomOp* custom = nullptr;  // not null: that custom op
  const void* attrs = nullptr;       // the op's struct
  Span<const uint32_t> inputs;       // value ids; kNoIndex: absent
  Span<const uint32_t> outputs;      // value ids
  const char* name = "";             // "features.0.conv"; may be ""
  Span<const uint32_t> regions;      // of a control node: indices in EntryDef::regions
};

// Its nodes in order of execution, and the ids of the values that they read from outside (inputs)
// and that others read (outputs).
struct RegionDef {
  Span<const uint32_t> inputs, outputs;
  Span<const NodeDef> nodes;
};

// After a run, buffer `state` gets the contents of `value`.
struct StateUpdateDef {
  uint32_t state, value;
};

// An entry point: a graph that a session runs.
struct EntryDef {
  const char* name = "";                     // unique in the program
  Span<const ValueDef> values;               // by id
  Span<const RegionDef> regions;             // [0]: the body
  Span<const StateUpdateDef> state_updates;  // after each run
  bool growing = false;  // some sizes depend on data without a bound: runs may allocate

  // Returns the region that a run executes.
  const RegionDef& body() const { return regions[0]; }
};

// An entry of the metadata, `key` and `value`.
struct KeyValueDef {
  const char* key = "";
  const char* value = "";
};

// The strongest promise that is left: bits equal those of the graph as written, sums may be in
// another order, or functions are approximated.
enum class NumericsClass : uint8_t { kExact = 0, kReassociates = 1, kApproximates = 2 };

// Where a program comes from.
struct ProvenanceDef {
  const char* wick_version = "";                   // that wrote it
  const char* source = "";                         // "trainer", or the imported file's name
  Span<const uint8_t> weights_sha256;              // empty or 32 bytes
  uint64_t seed = 0;                               // of the training run, if it was given
  NumericsClass numerics = NumericsClass::kExact;  // the strongest promise left after the passes
};

// What the packed weights of a program take. They are in its allocator's memory, once for all of
// its sessions.
struct PackedTotals {
  size_t bytes = 0;       // held now
  size_t forms = 0;       // number of packed forms that are ready now
  uint64_t packings = 0;  // how often a form was packed since the program was loaded
};

// A loaded .wick file: checked, and constant. Any number of sessions and threads may use it at
// once; it must outlive its sessions.
class Program {
 public:
  // Loads a file. The structure is copied, so that it stays as it was checked; for weights see
  // WeightsIn.
  static Result<Owned<Program>> load(const char* path, const LoadOptions& options = {});
  // Loads from memory and reads in place: the bytes must outlive the program and be 64-byte aligned
  // (else they are copied once).
  static Result<Owned<Program>> load(Span<const uint8_t> bytes, const LoadOptions& options = {});
  // Frees the program; Owned does it.
  static void destroy(Program* program);

  // Return the parts of the program; they live as long as it does.
  Span<const EntryDef> entries() const { return entries_; }
  const EntryDef* find_entry(const char* name) const;  // null: none
  Span<const SymbolDef> symbols() const { return symbols_; }
  Span<const ConstantDef> constants() const { return constants_; }
  Span<const StateDef> states() const { return states_; }
  Span<const CustomOpDef> custom_ops() const { return custom_ops_; }  // by id - kFirstCustomOp
  // Return the names of the classes, in the order of the classifier's last output dim, and the
  // metadata.
  Span<const char* const> labels() const { return labels_; }
  Span<const KeyValueDef> metadata() const { return metadata_; }
  const char* find_metadata(const char* key) const;  // null: none
  // Return where it comes from, its feature bits, and the bytes of the file and of its weights.
  const ProvenanceDef& provenance() const { return provenance_; }
  uint64_t features() const { return features_; }
  Edition edition() const { return edition_of(features_); }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t weight_bytes() const;
  // Returns the SHA-256 of the whole file that the file itself contains: 32 bytes; empty: it has
  // none.
  Span<const uint8_t> digest() const { return {digest_, has_digest_ ? sizeof(digest_) : 0}; }
  // Returns what the weights take that its sessions have packed. May be called at any time.
  PackedTotals packed() const;
  // Returns kIo where a guarded file could no longer be read, so that some weights read as zeros.
  Status intact() const;
  // The same by what was noticed before, without a look at the file.
  Status intact_so_far() const;

 private:
  friend class ProgramReader;
  friend class ProgramFile;
  friend class PackStore;
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
  PackStore* packs_ = nullptr;
  int guard_ = -1;                         // place in the guard's list
  mutable std::atomic<uint32_t> lost_{0};  // set by the guard, and where the file is too short

  Span<const EntryDef> entries_;
  Span<const SymbolDef> symbols_;
  Span<const ConstantDef> constants_;
  Span<const StateDef> states_;
  Span<const CustomOpDef> custom_ops_;
  Span<const char* const> labels_;
  Span<const KeyValueDef> metadata_;
  ProvenanceDef provenance_;
  uint64_t features_ = 0;
  int file_ = -1;  // the mapped file's descriptor, if it is guarded
};

}  // namespace wick
