#include "runtime/program/reader.h"

#include <cstdio>

#include "runtime/core/sha256.h"
#include "runtime/core/string_ref.h"
#include "runtime/ops/custom_op.h"

namespace wick {
namespace {

constexpr uint32_t kMaxDepth = 16;  // of the flatbuffer's tables
// bounds the verifier's time on tables that share children
constexpr uint32_t kMaxTables = 4000000;
constexpr uint32_t kMaxForms = 64;    // packed forms of a constant: every step that reads it looks
constexpr uint32_t kMaxNamed = 4096;  // entry points, custom ops: compared each with each

bool valid_dtype(uint8_t t) { return t > 0 && t < kDTypeCount; }

}  // namespace

Status ProgramReader::need_feature(uint64_t feature, const char* what) {
  if ((header_.required_features & feature) != 0) return {};
  return error(Code::kInvalidProgram,
               "the file uses %s but does not declare it in required_features", what);
}

Status ProgramReader::read_header(Span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(FileHeader)) {
    return error(Code::kInvalidProgram, "not a .wick file: %zu bytes, the header alone has 64",
                 bytes.size());
  }
  memcpy(&header_, bytes.data(), sizeof(header_));
  const FileHeader& h = header_;
  if (memcmp(h.magic, kFileMagic, sizeof(kFileMagic)) != 0) {
    return Status(Code::kInvalidProgram,
                  "not a .wick file: the first 8 bytes are not its signature");
  }
  if (h.version == 0 || h.version > kFileVersion) {
    return error(Code::kUnsupported, "the file has format version %u, this build reads up to %u",
                 h.version, kFileVersion);
  }
  if (uint64_t unknown = h.required_features & ~kKnownFeatures; unknown != 0) {
    return error(Code::kUnsupported, "the file needs features this build lacks (mask 0x%llx)",
                 static_cast<unsigned long long>(unknown));
  }
  if (h.file_bytes != bytes.size()) {
    return error(Code::kInvalidProgram,
                 "the file has %zu bytes, its header says %llu: cut or mixed up", bytes.size(),
                 static_cast<unsigned long long>(h.file_bytes));
  }
  auto inside = [&](uint64_t offset, uint64_t size) {
    return offset >= sizeof(FileHeader) && offset <= h.file_bytes &&
           size <= h.file_bytes - offset && offset % kSegmentAlignment == 0;
  };
  if (h.header_bytes != sizeof(FileHeader) || !inside(h.table_offset, h.table_bytes) ||
      h.table_bytes < 16 || h.table_bytes >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return Status(Code::kInvalidProgram, "the header's place of the table is not sound");
  }
  if (((h.required_features & kFeatureLent) != 0) != !options_.lent.empty()) {
    return Status(Code::kInvalidProgram,
                  options_.lent.empty() ? "its weights are not in the file, and nobody lent them"
                                        : "weights are lent to a file that has its own");
  }
  if (h.segments_bytes != 0 && !inside(h.segments_offset, h.segments_bytes)) {
    return Status(Code::kInvalidProgram, "the header's place of the segments is not sound");
  }
  return {};
}

Status ProgramReader::read(Span<const uint8_t> bytes) {
  WICK_TRY(read_header(bytes));
  const uint8_t* table = bytes.data() + header_.table_offset;
  flatbuffers::Verifier verifier(table, static_cast<size_t>(header_.table_bytes), kMaxDepth,
                                 kMaxTables);
  if (!fbs::VerifyProgramBuffer(verifier)) {
    return Status(Code::kInvalidProgram, "the table is not a sound flatbuffer");
  }
  root_ = fbs::GetProgram(table);
  segments_ = header_.segments_bytes != 0 ? bytes.data() + header_.segments_offset : nullptr;
  p_.features_ = header_.required_features;
  WICK_TRY(refuse_unknown_ops());
  WICK_TRY(read_symbols());
  WICK_TRY(read_segments());
  WICK_TRY(read_constants());
  WICK_TRY(read_states());
  WICK_TRY(read_custom_ops());
  WICK_TRY(read_texts());

  if (count(root_->entries()) == 0)
    return Status(Code::kInvalidProgram, "the file has no entry point");
  if (count(root_->entries()) > kMaxNamed) {
    return error(Code::kInvalidProgram, "%u entry points, at most %u", count(root_->entries()),
                 kMaxNamed);
  }
  WICK_ASSIGN(auto entries, p_.arena_.array<EntryDef>(count(root_->entries())));
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const fbs::Entry& entry = *root_->entries()->Get(i);
    WICK_TRY(annotate(read_entry(entry, &entries[i]), "entry %u (%.40s): ", i, text(entry.name())));
    for (uint32_t j = 0; j < i; ++j) {
      if (strcmp(entries[j].name, entries[i].name) == 0) {
        return error(Code::kInvalidProgram, "two entry points are named %.40s", entries[i].name);
      }
    }
  }
  p_.entries_ = entries;
  return {};
}

// All of them in one message: who converts a model wants the whole list.
Status ProgramReader::refuse_unknown_ops() {
  char list[400];
  size_t at = 0, found = 0;
  list[0] = '\0';
  auto add = [&](const fbs::Node& node, const char* why) {
    for (size_t k = 0; k < at;) {  // each once
      unsigned id = 0;
      if (sscanf(list + k, "%u", &id) == 1 && id == node.op()) return;
      const char* comma = strchr(list + k, ',');
      if (comma == nullptr) break;
      k = static_cast<size_t>(comma - list) + 1;
    }
    ++found;
    if (at + 64 < sizeof(list)) {
      at += static_cast<size_t>(
          snprintf(list + at, sizeof(list) - at, "%s%u (%s)", at == 0 ? "" : ", ", node.op(), why));
    }
  };
  for (uint32_t e = 0; e < count(root_->entries()); ++e) {
    const auto* regions = root_->entries()->Get(e)->regions();
    for (uint32_t r = 0; r < count(regions); ++r) {
      const auto* nodes = regions->Get(r)->nodes();
      for (uint32_t n = 0; n < count(nodes); ++n) {
        const fbs::Node& node = *nodes->Get(n);
        if (node.op() >= kFirstCustomOp) {
          if (node.op() - uint32_t{kFirstCustomOp} >= count(root_->custom_ops()))
            add(node, "custom, undeclared");
          continue;
        }
        const OpInfo* info = find_op(static_cast<OpId>(node.op()));
        if (info == nullptr) {
          add(node, "unknown");
        } else if (info->role == OpRole::kTrain) {
          add(node, "a training op");
        } else if (node.version() != 1) {
          add(node, "of a newer version");
        }
      }
    }
  }
  if (found == 0) return {};
  return error(Code::kUnsupported, "%zu ops of the file cannot run in this build: %s", found, list);
}

Status ProgramReader::read_symbols() {
  WICK_ASSIGN(auto symbols, p_.arena_.array<SymbolDef>(count(root_->symbols())));
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const fbs::Symbol& s = *root_->symbols()->Get(i);
    symbols[i] = {text(s.name()), s.min(), s.max()};
    if (s.min() < 0 || s.max() < s.min()) {
      return error(Code::kInvalidProgram, "symbol %u (%.40s): its bounds are %lld to %lld", i,
                   symbols[i].name, static_cast<long long>(s.min()),
                   static_cast<long long>(s.max()));
    }
  }
  p_.symbols_ = symbols;
  return {};
}

Status ProgramReader::check_digest(uint32_t i, Span<const uint8_t> bytes) {
  const fbs::Segment& s = *root_->segments()->Get(i);
  if (count(s.sha256()) != 0 && count(s.sha256()) != 32) {
    return error(Code::kInvalidProgram, "segment %u: a sha256 has 32 bytes, not %u", i,
                 count(s.sha256()));
  }
  if (!options_.verify_digests || count(s.sha256()) != 32) return {};
  Sha256 sha;
  uint8_t digest[32];
  if (!bytes.empty()) sha.update(bytes);
  sha.finish(digest);
  if (memcmp(digest, s.sha256()->data(), 32) == 0) return {};
  return error(Code::kInvalidProgram, "segment %u: its bytes do not have the sha256 in the file",
               i);
}

Status ProgramReader::read_segments() {
  if (!options_.lent.empty()) {
    bool fit = count(root_->segments()) == options_.lent.size();
    for (uint32_t i = 0; fit && i < options_.lent.size(); ++i) {
      const fbs::Segment& s = *root_->segments()->Get(i);
      fit = s.offset() == 0 && s.bytes() == options_.lent[i].bytes.size() &&
            reinterpret_cast<uintptr_t>(options_.lent[i].bytes.data()) % kSegmentAlignment == 0;
    }
    if (!fit)
      return Status(Code::kInvalidProgram, "the segments lent are not those of the program");
    for (uint32_t i = 0; i < options_.lent.size(); ++i) {
      const LentSegment& lent = options_.lent[i];
      const bool digest = count(root_->segments()->Get(i)->sha256()) != 0;
      if (digest && options_.verify_digests && lent.source != nullptr)
        WICK_TRY(lent.source->fill());
      WICK_TRY(check_digest(i, lent.bytes));
    }
    return {};
  }
  for (uint32_t i = 0; i < count(root_->segments()); ++i) {
    const fbs::Segment& s = *root_->segments()->Get(i);
    if (s.offset() % kSegmentAlignment != 0 || s.offset() > header_.segments_bytes ||
        s.bytes() > header_.segments_bytes - s.offset()) {
      return error(Code::kInvalidProgram, "segment %u lies outside the file or off its alignment",
                   i);
    }
    WICK_TRY(check_digest(
        i, {s.bytes() == 0 ? nullptr : segments_ + s.offset(), static_cast<size_t>(s.bytes())}));
  }
  return {};
}

// `source`: gets what is yet to be filled with the bytes. Who does not take it has them filled.
Status ProgramReader::read_buffer(const fbs::Buffer& table, Span<const uint8_t>* bytes,
                                  LentBytes** source) {
  if (table.segment() >= count(root_->segments())) {
    return error(Code::kInvalidProgram, "there is no segment %u", table.segment());
  }
  const fbs::Segment& s = *root_->segments()->Get(table.segment());
  if (table.offset() % kSegmentAlignment != 0 || table.offset() > s.bytes() ||
      table.bytes() > s.bytes() - table.offset()) {
    return error(Code::kInvalidProgram, "its bytes lie outside segment %u or off the alignment",
                 table.segment());
  }
  const uint8_t* begin = segments_ + s.offset();
  if (!options_.lent.empty()) {
    const LentSegment& lent = options_.lent[table.segment()];
    begin = lent.bytes.data();
    if (lent.source != nullptr) {
      if (source == nullptr || table.bytes() != s.bytes())
        WICK_TRY(lent.source->fill());
      else
        *source = lent.source;
    }
  }
  *bytes = {begin + table.offset(), static_cast<size_t>(table.bytes())};
  return {};
}

Status ProgramReader::read_shape(const flatbuffers::Vector<int64_t>* dims, DType dtype,
                                 Shape* shape, size_t* bytes) {
  if (count(dims) > kMaxRank)
    return error(Code::kInvalidProgram, "rank %u, at most 8", count(dims));
  WICK_TRY(check_aligned(dims));
  for (uint32_t i = 0; i < count(dims); ++i) shape->push_back(dims->Get(i));
  auto size = checked_bytes(*shape, dtype_bits(dtype));
  if (!size.ok()) return error(Code::kInvalidProgram, "%s", size.status().message());
  *bytes = *size;
  return {};
}

// n strings: n + 1 offsets (uint64, the first one 0) into the bytes behind them.
Status ProgramReader::read_strings(Span<const uint8_t> raw, TensorView* view) {
  WICK_TRY(need_feature(kFeatureNonTensor, "strings"));
  const auto n = static_cast<uint64_t>(view->numel());
  const uint64_t most = raw.size() / sizeof(uint64_t);
  if (n >= most) {
    return error(Code::kInvalidProgram, "%llu strings need more than %zu raw bytes",
                 static_cast<unsigned long long>(n), raw.size());
  }
  const auto* offsets = reinterpret_cast<const uint64_t*>(raw.data());
  const auto* text = reinterpret_cast<const char*>(offsets + n + 1);
  const uint64_t size = raw.size() - (n + 1) * sizeof(uint64_t);
  WICK_ASSIGN(auto refs, p_.arena_.array<StringRef>(static_cast<size_t>(n)));
  for (uint64_t i = 0; i < n; ++i) {
    if (offsets[i] > offsets[i + 1] || offsets[i + 1] > size) {
      return error(Code::kInvalidProgram, "string %llu does not lie in the constant's bytes",
                   static_cast<unsigned long long>(i));
    }
    refs[static_cast<size_t>(i)] = {text + offsets[i], offsets[i + 1] - offsets[i]};
  }
  if (offsets[0] != 0 || offsets[n] != size)
    return Status(Code::kInvalidProgram, "the strings do not fill the constant's bytes");
  view->data = refs.data();
  return {};
}

Status ProgramReader::read_constants() {
  WICK_ASSIGN(auto constants, p_.arena_.array<ConstantDef>(count(root_->constants())));
  for (uint32_t i = 0; i < constants.size(); ++i) {
    const fbs::Constant& c = *root_->constants()->Get(i);
    ConstantDef& def = constants[i];
    def.name = text(c.name());
    auto read_one = [&]() -> Status {
      if (!valid_dtype(c.dtype())) {
        return error(Code::kInvalidProgram, "dtype %u cannot be a constant", c.dtype());
      }
      auto dtype = static_cast<DType>(c.dtype());
      Shape shape;
      size_t bytes = 0;
      WICK_TRY(read_shape(c.dims(), dtype, &shape, &bytes));
      Span<const uint8_t> raw;
      // what may wait until it is packed
      WICK_TRY(read_buffer(*c.raw(), &raw, dtype == DType::kF32 ? &def.source : nullptr));
      const bool strings = dtype == DType::kString;
      if ((raw.size() != bytes && !strings) || c.raw()->layout() != 0) {
        return error(Code::kInvalidProgram,
                     "%s %s takes %zu raw bytes, the file has %zu (layout %u)", dtype_name(dtype),
                     to_text(shape).text, bytes, raw.size(), c.raw()->layout());
      }
      if (dtype == DType::kBool) {
        for (uint8_t b : raw) {
          if (b > 1) return Status(Code::kInvalidProgram, "a bool that is neither 0 nor 1");
        }
      }
      // Const again in every use: nothing writes through a constant's view.
      def.view = TensorView(const_cast<uint8_t*>(raw.data()), dtype, shape);
      if (strings) WICK_TRY(read_strings(raw, &def.view));
      if (count(c.packed()) > kMaxForms) {
        return error(Code::kInvalidProgram, "%u packed forms, at most %u", count(c.packed()),
                     kMaxForms);
      }
      WICK_ASSIGN(auto packed, p_.arena_.array<PackedDef>(count(c.packed())));
      for (uint32_t k = 0; k < packed.size(); ++k) {
        Span<const uint8_t> form;
        WICK_TRY(read_buffer(*c.packed()->Get(k), &form));
        if (c.packed()->Get(k)->layout() == 0)
          return Status(Code::kInvalidProgram, "a packed form without a layout");
        packed[k] = {c.packed()->Get(k)->layout(), form.data(), form.size()};
      }
      def.packed = packed;
      return {};
    };
    WICK_TRY(annotate(read_one(), "constant %u (%.40s): ", i, def.name));
  }
  p_.constants_ = constants;
  return {};
}

Status ProgramReader::read_states() {
  if (count(root_->states()) != 0) WICK_TRY(need_feature(kFeatureState, "state buffers"));
  WICK_ASSIGN(auto states, p_.arena_.array<StateDef>(count(root_->states())));
  for (uint32_t i = 0; i < states.size(); ++i) {
    const fbs::State& s = *root_->states()->Get(i);
    StateDef& def = states[i];
    def.name = text(s.name());
    def.init = s.init();
    if (!valid_dtype(s.dtype()) || s.dtype() == static_cast<uint8_t>(DType::kString)) {
      return error(Code::kInvalidProgram, "state %u (%.40s): dtype %u", i, def.name, s.dtype());
    }
    def.dtype = static_cast<DType>(s.dtype());
    size_t bytes = 0;
    WICK_TRY(annotate(read_shape(s.dims(), def.dtype, &def.shape, &bytes), "state %u (%.40s): ", i,
                      def.name));
    if (def.init == kNoIndex) continue;
    if (def.init >= p_.constants_.size() || p_.constants_[def.init].view.dtype != def.dtype ||
        !(p_.constants_[def.init].view.shape == def.shape)) {
      return error(Code::kInvalidProgram, "state %u (%.40s): its initial value does not fit", i,
                   def.name);
    }
  }
  p_.states_ = states;
  return {};
}

// Names against the ops given. The newer op reads what an older one wrote, as attributes are only
// appended; not the other way round.
Status ProgramReader::read_custom_ops() {
  if (count(root_->custom_ops()) == 0) return {};
  WICK_TRY(need_feature(kFeatureCustomOps, "custom ops"));
  if (count(root_->custom_ops()) > kMaxNamed) {
    return error(Code::kInvalidProgram, "%u custom ops, at most %u", count(root_->custom_ops()),
                 kMaxNamed);
  }
  WICK_TRY(check_custom_ops(options_.custom_ops));
  WICK_ASSIGN(auto defs, p_.arena_.array<CustomOpDef>(count(root_->custom_ops())));
  for (uint32_t i = 0; i < defs.size(); ++i) {
    const fbs::CustomOp& from = *root_->custom_ops()->Get(i);
    CustomOpDef& def = defs[i];
    def.domain = text(from.domain());
    def.name = text(from.name());
    def.version = from.version();
    CustomOpName full = custom_op_name(def.domain, def.name);
    for (uint32_t k = 0; k < i; ++k) {
      if (strcmp(defs[k].domain, def.domain) == 0 && strcmp(defs[k].name, def.name) == 0)
        return error(Code::kInvalidProgram, "custom op %s is listed twice", full.text);
    }
    for (const CustomOp* op : options_.custom_ops) {
      if (strcmp(op->domain, def.domain) == 0 && strcmp(op->name, def.name) == 0) def.op = op;
    }
    if (def.op == nullptr) continue;
    if (def.version > def.op->version) {
      return error(Code::kUnsupported,
                   "the file was made with version %u of %s, the op given is version %u: a newer "
                   "library is needed",
                   def.version, full.text, def.op->version);
    }
    size_t length = strlen(full.text) + 1;
    WICK_ASSIGN(void* name, p_.arena_.allocate(length, 1));
    memcpy(name, full.text, length);
    WICK_ASSIGN(auto info, p_.arena_.array<OpInfo>(1));
    info[0] = info_of(*def.op, static_cast<OpId>(kFirstCustomOp + i), static_cast<char*>(name));
    def.info = &info[0];
  }
  p_.custom_ops_ = defs;
  return {};
}

Status ProgramReader::read_texts() {
  WICK_ASSIGN(auto labels, p_.arena_.array<const char*>(count(root_->labels())));
  for (uint32_t i = 0; i < labels.size(); ++i) labels[i] = text(root_->labels()->Get(i));
  p_.labels_ = {labels.data(), labels.size()};
  WICK_ASSIGN(auto metadata, p_.arena_.array<KeyValueDef>(count(root_->metadata())));
  for (uint32_t i = 0; i < metadata.size(); ++i) {
    metadata[i] = {text(root_->metadata()->Get(i)->key()),
                   text(root_->metadata()->Get(i)->value())};
  }
  p_.metadata_ = metadata;
  if (const fbs::Provenance* from = root_->provenance(); from != nullptr) {
    ProvenanceDef& to = p_.provenance_;
    to.wick_version = text(from->wick_version());
    to.source = text(from->source());
    to.seed = from->seed();
    if (count(from->weights_sha256()) != 0 && count(from->weights_sha256()) != 32) {
      return Status(Code::kInvalidProgram, "provenance: a sha256 has 32 bytes");
    }
    if (from->weights_sha256() != nullptr) {
      to.weights_sha256 = {from->weights_sha256()->data(), from->weights_sha256()->size()};
    }
    if (from->numerics() > fbs::Numerics::MAX)
      return Status(Code::kInvalidProgram, "provenance: unknown numerics");
    to.numerics = static_cast<NumericsClass>(from->numerics());
  }
  return {};
}

}  // namespace wick
