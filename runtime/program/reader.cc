#include "runtime/program/reader.h"

#include <algorithm>

#include "runtime/core/string_ref.h"
#include "runtime/ops/custom_op.h"
#include "runtime/program/table_walk.h"

namespace wick {
namespace {

constexpr uint32_t kMaxDepth = 16;    // of the flatbuffer's tables
constexpr uint32_t kMaxForms = 64;    // packed forms of a constant: linear search by every reader
constexpr uint32_t kMaxNamed = 4096;  // entry points, custom ops: linear search by name

bool valid_dtype(uint8_t t) { return t > 0 && t < kDTypeCount; }

}  // namespace

Status ProgramReader::need_feature(uint64_t feature, const char* what) {
  if ((header_.required_features & feature) != 0) return {};
  return error(Code::kInvalidProgram,
               "the file uses %s but does not declare it in required_features", what);
}

Status ProgramReader::read(const FileBytes& bytes) {
  check_segments_ = options_.verify_digests || bytes.check;
  if (check_segments_ && p_.has_digest_) {
    WICK_TRY(check_file_digest(bytes));
    // The file's digest covers the segments. With verify_digests their own digests are compared as
    // well, which finds one that belongs to another file.
    check_segments_ = options_.verify_digests;
  }
  const uint8_t* table = bytes.table;
  table_bytes_ = static_cast<size_t>(header_.table_bytes);
  if (header_.version == kCompactVersion) WICK_TRY(expand(&table));
  WICK_TRY(read_table(table));
  if (header_.segments_bytes != 0)
    segments_ = bytes.rest + (header_.segments_offset - bytes.rest_at);
  WICK_TRY(refuse_unknown_ops());
  WICK_TRY(read_symbols());
  WICK_TRY(read_segments());
  WICK_TRY(read_constants());
  WICK_TRY(read_states());
  WICK_TRY(read_custom_ops());
  WICK_TRY(read_texts());
  return read_entries();
}

// The verifier would check a table once for each path to it, which shared children multiply.
// Without sharing, each table takes 4 bytes plus 4 in the one place that refers to it, which bounds
// their number.
Status ProgramReader::read_table(const uint8_t* table) {
  const size_t size = table_bytes_;
  const auto most = static_cast<flatbuffers::uoffset_t>(size / 8 + 1);
  flatbuffers::Verifier verifier(table, size, kMaxDepth, most);
  if (!fbs::VerifyProgramBuffer(verifier)) {
    return Status(Code::kInvalidProgram,
                  "the table is not a sound flatbuffer, or names tables more than once");
  }
  root_ = fbs::GetProgram(table);
  return TableWalk(table, size, *p_.allocator_, ledger_).walk(*root_);
}

Status ProgramReader::read_entries() {
  const uint32_t n = count(root_->entries());
  if (n == 0) return Status(Code::kInvalidProgram, "the file has no entry point");
  if (n > kMaxNamed)
    return error(Code::kInvalidProgram, "%u entry points, at most %u", n, kMaxNamed);
  WICK_ASSIGN(auto entries, p_.arena_.array<EntryDef>(n));
  Array<Name> names(*p_.allocator_);
  for (uint32_t i = 0; i < n; ++i) {
    const fbs::Entry& entry = *root_->entries()->Get(i);
    WICK_TRY(annotate(read_entry(entry, &entries[i]), "entry %u (%.40s): ", i, text(entry.name())));
    WICK_TRY(names.push_back({entries[i].name}));
  }
  const Name* twice = nullptr;
  WICK_TRY(find_twice(names, &twice));
  if (twice != nullptr)
    return error(Code::kInvalidProgram, "two entry points are named %.40s", twice->first);
  p_.entries_ = entries;
  return {};
}

// Finds duplicates by sorting: comparing all pairs would take quadratic time. The characters
// compared are counted on the ledger.
Status ProgramReader::find_twice(Span<Name> names, const Name** twice) {
  uint64_t looked_at = 0;
  auto compare = [&](const char* a, const char* b) {
    size_t i = 0;
    while (a[i] == b[i] && a[i] != '\0') ++i;
    looked_at += i + 1;
    return static_cast<unsigned char>(a[i]) - static_cast<unsigned char>(b[i]);
  };
  auto order = [&](const Name& a, const Name& b) {
    const int first = compare(a.first, b.first);
    return first != 0 ? first : compare(a.second, b.second);
  };
  // A heap's sort is a fifth of the code of std::sort, which small programs would link for this.
  const auto before = [&](const Name& a, const Name& b) { return order(a, b) < 0; };
  std::make_heap(names.begin(), names.end(), before);
  std::sort_heap(names.begin(), names.end(), before);
  for (size_t i = 1; i < names.size() && *twice == nullptr; ++i) {
    if (order(names[i - 1], names[i]) == 0) *twice = &names[i];
  }
  return ledger_.visit(looked_at);
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
  if (!check_segments_ || count(s.sha256()) != 32) return {};
  WICK_TRY(ledger_.visit(bytes.size()));
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
      fit = !s.decoded() && s.offset() == 0 && s.bytes() == options_.lent[i].bytes.size() &&
            reinterpret_cast<uintptr_t>(options_.lent[i].bytes.data()) % kSegmentAlignment == 0;
    }
    if (!fit)
      return Status(Code::kInvalidProgram, "the segments lent are not those of the program");
    for (uint32_t i = 0; i < options_.lent.size(); ++i) {
      const LentSegment& lent = options_.lent[i];
      const bool digest = count(root_->segments()->Get(i)->sha256()) != 0;
      if (digest && check_segments_ && lent.source != nullptr) WICK_TRY(lent.source->fill());
      WICK_TRY(check_digest(i, lent.bytes));
    }
    return {};
  }
  for (uint32_t i = 0; i < count(root_->segments()); ++i) {
    const fbs::Segment& s = *root_->segments()->Get(i);
    const Span<const uint8_t> area = area_of(s);
    if (s.offset() % kSegmentAlignment != 0 || s.offset() > area.size() ||
        s.bytes() > area.size() - s.offset()) {
      return error(Code::kInvalidProgram, "segment %u lies outside the file or off its alignment",
                   i);
    }
    WICK_TRY(check_digest(
        i, {s.bytes() == 0 ? nullptr : area.data() + s.offset(), static_cast<size_t>(s.bytes())}));
  }
  return {};
}

// `source` receives the LentBytes that are still to be filled; where it is null they are filled
// now.
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
  const uint8_t* begin = area_of(s).data() + s.offset();
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
    return error(Code::kInvalidProgram, "rank %u, at most %d", count(dims), kMaxRank);
  WICK_TRY(check_aligned(dims));
  for (uint32_t i = 0; i < count(dims); ++i) shape->push_back(dims->Get(i));
  auto size = checked_bytes(*shape, dtype_bits(dtype));
  if (!size.ok()) return error(Code::kInvalidProgram, "%s", size.status().message());
  *bytes = *size;
  return {};
}

// The bytes hold n + 1 offsets (uint64, the first one 0) into the text that follows them, for n
// strings. Each offset is read only once, as the bytes may be in a mapped file that changes.
Status ProgramReader::read_strings(Span<const uint8_t> raw, TensorView* view) {
  WICK_TRY(need_feature(kFeatureNonTensor, "strings"));
  const auto n = static_cast<uint64_t>(view->numel());
  const uint64_t most = raw.size() / sizeof(uint64_t);
  if (n >= most) {
    return error(Code::kInvalidProgram, "%llu strings need more than %zu raw bytes",
                 static_cast<unsigned long long>(n), raw.size());
  }
  const volatile uint64_t* offsets = reinterpret_cast<const uint64_t*>(raw.data());
  const uint64_t size = raw.size() - (n + 1) * sizeof(uint64_t);
  const auto* text = reinterpret_cast<const char*>(raw.data()) + (raw.size() - size);
  WICK_TRY(ledger_.visit(n));
  WICK_ASSIGN(auto refs, p_.arena_.array<StringRef>(static_cast<size_t>(n)));
  const uint64_t first = offsets[0];
  uint64_t end = first;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t begin = end;
    end = offsets[i + 1];
    if (begin > end || end > size) {
      return error(Code::kInvalidProgram, "string %llu does not lie in the constant's bytes",
                   static_cast<unsigned long long>(i));
    }
    refs[static_cast<size_t>(i)] = {text + begin, end - begin};
  }
  if (first != 0 || end != size)
    return Status(Code::kInvalidProgram, "the strings do not fill the constant's bytes");
  view->data = refs.data();
  return {};
}

Status ProgramReader::read_constants() {
  WICK_ASSIGN(auto constants, p_.arena_.array<ConstantDef>(count(root_->constants())));
  uint64_t widened = 0;  // bytes of the constants that are kept in 16 bits
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
      // f32 constants may be read later, when they are packed
      WICK_TRY(read_buffer(*c.raw(), &raw, dtype == DType::kF32 ? &def.source : nullptr));
      const bool strings = dtype == DType::kString;
      const uint32_t form = c.raw()->layout();
      if (form == kStoredF16 || form == kStoredBF16) {
        if (header_.version != kCompactVersion || dtype != DType::kF32 || raw.size() != bytes / 2)
          return error(Code::kInvalidProgram, "%s %s is not kept in %zu bytes of 16-bit floats",
                       dtype_name(dtype), to_text(shape).text, raw.size());
        // They may share bytes of the file: with addresses of 32 bits the sum would wrap.
        const uint64_t wide = align_up(bytes, kSegmentAlignment);
        if (wide > p_.arena_.limit() || widened > p_.arena_.limit() - wide) {
          return error(Code::kBudgetExceeded,
                       "max_ram: constants of 16 bits become more than the %zu bytes of it",
                       p_.arena_.limit());
        }
        widened += wide;
      } else if ((raw.size() != bytes && !strings) || form != 0) {
        return error(Code::kInvalidProgram,
                     "%s %s takes %zu raw bytes, the file has %zu (layout %u)", dtype_name(dtype),
                     to_text(shape).text, bytes, raw.size(), form);
      }
      if (dtype == DType::kBool) {
        WICK_TRY(ledger_.visit(raw.size()));  // constants may share their bytes
        for (uint8_t b : raw) {
          if (b > 1) return Status(Code::kInvalidProgram, "a bool that is neither 0 nor 1");
        }
      }
      // The view is used as const everywhere: nothing writes through a constant's view.
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
  if (widened != 0) WICK_TRY(widen(constants, static_cast<size_t>(widened)));
  p_.constants_ = constants;
  return {};
}

Status ProgramReader::read_states() {
  if (count(root_->states()) != 0) WICK_TRY(need_feature(kFeatureState, "state buffers"));
  WICK_ASSIGN(auto states, p_.arena_.array<StateDef>(count(root_->states())));
  for (uint32_t i = 0; i < states.size(); ++i) {
    const fbs::State& s = *root_->states()->Get(i);
    states[i].name = text(s.name());
    WICK_TRY(annotate(read_state(s, &states[i]), "state %u (%.40s): ", i, states[i].name));
  }
  p_.states_ = states;
  return {};
}

Status ProgramReader::read_state(const fbs::State& s, StateDef* def) {
  def->init = s.init();
  if (!valid_dtype(s.dtype()) || s.dtype() == static_cast<uint8_t>(DType::kString))
    return error(Code::kInvalidProgram, "dtype %u", s.dtype());
  def->dtype = static_cast<DType>(s.dtype());
  Shape shape;
  if (count(s.sizes()) != 0) {
    if (count(s.dims()) != 0) return Status(Code::kInvalidProgram, "its sizes are given twice");
    WICK_TRY(read_dims(s.sizes(), def->dtype, &def->dims));
    for (const DimDef& d : def->dims) shape.push_back(d.symbol < 0 ? d.value : -1);
  } else {
    size_t bytes = 0;
    WICK_TRY(read_shape(s.dims(), def->dtype, &shape, &bytes));
    WICK_ASSIGN(auto dims, p_.arena_.array<DimDef>(static_cast<size_t>(shape.rank())));
    for (int d = 0; d < shape.rank(); ++d) dims[static_cast<size_t>(d)].value = shape[d];
    def->dims = dims;
  }
  if (def->init == kNoIndex) return {};
  if (def->init >= p_.constants_.size() || p_.constants_[def->init].view.dtype != def->dtype ||
      !(p_.constants_[def->init].view.shape == shape))
    return Status(Code::kInvalidProgram, "its initial value does not fit");
  return {};
}

// Matches the file's names with the ops given. A newer op can read what an older one wrote, as
// attributes are only appended; the reverse is refused.
Status ProgramReader::read_custom_ops() {
  if (count(root_->custom_ops()) == 0) return {};
  WICK_TRY(need_feature(kFeatureCustomOps, "custom ops"));
  if (count(root_->custom_ops()) > kMaxNamed) {
    return error(Code::kInvalidProgram, "%u custom ops, at most %u", count(root_->custom_ops()),
                 kMaxNamed);
  }
  WICK_TRY(check_custom_ops(options_.custom_ops));
  WICK_TRY(ledger_.visit(count(root_->custom_ops()) * options_.custom_ops.size()));
  WICK_ASSIGN(auto defs, p_.arena_.array<CustomOpDef>(count(root_->custom_ops())));
  Array<Name> names(*p_.allocator_);
  for (uint32_t i = 0; i < defs.size(); ++i) {
    const fbs::CustomOp& from = *root_->custom_ops()->Get(i);
    CustomOpDef& def = defs[i];
    def.domain = text(from.domain());
    def.name = text(from.name());
    def.version = from.version();
    CustomOpName full = custom_op_name(def.domain, def.name);
    WICK_TRY(names.push_back({def.domain, def.name}));
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
  const Name* twice = nullptr;
  WICK_TRY(find_twice(names, &twice));
  if (twice != nullptr) {
    return error(Code::kInvalidProgram, "custom op %s is listed twice",
                 custom_op_name(twice->first, twice->second).text);
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
