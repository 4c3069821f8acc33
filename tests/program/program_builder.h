// Writes .wick files for the tests with the generated flatbuffers code, so that it can write wrong
// files, too.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/allocator.h"
#include "runtime/core/sha256.h"
#include "runtime/ops/op_info.h"
#include "runtime/program/layout.h"
#include "runtime/program/program_generated.h"

namespace wick::test {

struct AlignedFree {
  size_t bytes;
  void operator()(uint8_t* p) const { default_allocator().deallocate(p, bytes, kSegmentAlignment); }
};
using AlignedBytes = std::unique_ptr<uint8_t, AlignedFree>;

// A copy that a loader reads in place.
inline AlignedBytes aligned_copy(Span<const uint8_t> bytes) {
  auto* p = static_cast<uint8_t*>(default_allocator().allocate(bytes.size(), kSegmentAlignment));
  if (!bytes.empty()) memcpy(p, bytes.data(), bytes.size());
  return {p, AlignedFree{bytes.size()}};
}

// A file of a finished table and a segment.
inline std::vector<uint8_t> file_of(const flatbuffers::FlatBufferBuilder& b,
                                    Span<const uint8_t> segment, uint64_t features = 0) {
  FileHeader h = {};
  memcpy(h.magic, kFileMagic, sizeof(kFileMagic));
  h.version = kFileVersion;
  h.header_bytes = sizeof(FileHeader);
  h.required_features = features;
  h.table_offset = sizeof(FileHeader);
  h.table_bytes = b.GetSize();
  h.segments_offset = align_up(h.table_offset + h.table_bytes, kSegmentAlignment);
  h.segments_bytes = segment.size();
  h.file_bytes = h.segments_offset + h.segments_bytes;
  std::vector<uint8_t> file(h.file_bytes);
  memcpy(file.data(), &h, sizeof(h));
  memcpy(file.data() + h.table_offset, b.GetBufferPointer(), h.table_bytes);
  if (!segment.empty()) memcpy(file.data() + h.segments_offset, segment.data(), segment.size());
  return file;
}

// The file with the digest of all of it, as the exporter writes it.
inline std::vector<uint8_t> with_digest(const std::vector<uint8_t>& plain) {
  std::vector<uint8_t> file = plain;
  FileDigest digest = {};
  memcpy(digest.magic, kDigestMagic, sizeof(kDigestMagic));
  const auto* begin = reinterpret_cast<const uint8_t*>(&digest);
  file.insert(file.begin() + sizeof(FileHeader), begin, begin + sizeof(digest));
  FileHeader h;
  memcpy(&h, file.data(), sizeof(h));
  h.table_offset += sizeof(digest);
  h.segments_offset += sizeof(digest);
  h.file_bytes += sizeof(digest);
  memcpy(file.data(), &h, sizeof(h));
  Sha256 sha;
  sha.update(Span<const uint8_t>(file).subspan(0, kDigestAt));
  sha.update(Span<const uint8_t>(file).subspan(kDigestAt + kDigestBytes));
  sha.finish(file.data() + kDigestAt);
  return file;
}

constexpr int64_t kSym = -1000;  // dims below: kSym - k is symbol k

class ProgramBuilder {
 public:
  // Symbol k is written as kSym - k in dims.
  void symbol(const char* name, int64_t min = 0, int64_t max = INT64_MAX) {
    symbols_.push_back(fbs::CreateSymbol(b_, b_.CreateString(name), min, max));
  }
  uint32_t value(const char* name, DType dtype, const std::vector<int64_t>& dims,
                 uint32_t constant = kNoIndex, uint32_t state = kNoIndex,
                 flatbuffers::Offset<fbs::Quantization> quant = 0, bool unranked = false) {
    auto name_offset = b_.CreateString(name);
    auto dims_offset = b_.CreateVectorOfStructs(dims_of(dims));
    fbs::ValueBuilder v(b_);
    v.add_name(name_offset);
    v.add_dtype(static_cast<uint8_t>(dtype));
    v.add_dims(dims_offset);
    v.add_constant(constant);
    v.add_state(state);
    v.add_unranked(unranked);
    if (quant.o != 0) v.add_quantization(quant);
    values_.push_back(v.Finish());
    return static_cast<uint32_t>(values_.size() - 1);
  }
  // Adds a value that the other functions cannot express.
  uint32_t add_value(flatbuffers::Offset<fbs::Value> v) {
    values_.push_back(v);
    return static_cast<uint32_t>(values_.size() - 1);
  }
  // A sequence or an optional.
  uint32_t packed(const char* name, fbs::ValueKind kind, DType element, bool unranked = true) {
    auto name_offset = b_.CreateString(name);
    fbs::ValueBuilder v(b_);
    v.add_name(name_offset);
    v.add_kind(kind);
    v.add_dtype(static_cast<uint8_t>(element));
    v.add_unranked(unranked);
    values_.push_back(v.Finish());
    return static_cast<uint32_t>(values_.size() - 1);
  }
  // Adds the bytes to the segment and a value for them.
  template <class T>
  uint32_t constant(const char* name, const std::vector<int64_t>& dims,
                    const std::vector<T>& data) {
    return value(name, dtype_of<T>, dims, constant_only(name, dims, data));
  }
  template <class T>
  uint32_t constant_only(const char* name, const std::vector<int64_t>& dims,
                         const std::vector<T>& data, uint32_t packed_layout = 0,
                         DType dtype = dtype_of<T>, int forms = 1) {
    auto raw = buffer(data.data(), data.size() * sizeof(T), 0);
    std::vector<flatbuffers::Offset<fbs::Buffer>> packed;
    for (int i = 0; packed_layout != 0 && i < forms; ++i)
      packed.push_back(buffer(data.data(), data.size() * sizeof(T), packed_layout));
    constants_.push_back(fbs::CreateConstant(b_, b_.CreateString(name), static_cast<uint8_t>(dtype),
                                             b_.CreateVector(dims), raw, b_.CreateVector(packed)));
    return static_cast<uint32_t>(constants_.size() - 1);
  }
  uint32_t state(const char* name, DType dtype, const std::vector<int64_t>& dims, uint32_t init) {
    bool symbols = false;
    for (int64_t d : dims) symbols = symbols || d <= kSym;
    const auto sizes = symbols ? dims_of(dims) : std::vector<fbs::Dim>{};
    states_.push_back(fbs::CreateState(b_, b_.CreateString(name), static_cast<uint8_t>(dtype),
                                       b_.CreateVector(symbols ? std::vector<int64_t>{} : dims),
                                       init, b_.CreateVectorOfStructs(sizes)));
    return static_cast<uint32_t>(states_.size() - 1);
  }
  void state_update(uint32_t state, uint32_t value) { updates_.emplace_back(state, value); }

  template <class A = NoAttrs>
  void node(OpId op, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out,
            const A& attrs = {}, const char* name = "") {
    node_of(op, AttrFields<A>::kType, &attrs, in, out, name);
  }
  void node_of(OpId op, const AttrType& type, const void* attrs, const std::vector<uint32_t>& in,
               const std::vector<uint32_t>& out, const char* name = "") {
    std::vector<flatbuffers::Offset<fbs::Attr>> list;
    for (const AttrField& f : type.fields) {
      if (!attr_is_default(type, f, attrs)) list.push_back(attr(f, attrs));
    }
    node_raw(static_cast<uint16_t>(op), in, out, list, name);
  }
  // If or Loop whose regions are numbers `first`, `first` + 1 ... (the body is 0, the others count
  // in the order they ended).
  template <class A = NoAttrs>
  void control(OpId op, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out,
               int64_t first, const A& attrs = {}, const char* name = "") {
    std::vector<flatbuffers::Offset<fbs::Attr>> list;
    const AttrType& type = AttrFields<A>::kType;
    for (const AttrField& f : type.fields) {
      if (!attr_is_default(type, f, &attrs)) list.push_back(attr(f, &attrs));
    }
    for (int k = 0; k < region_count(op); ++k) {
      list.push_back(fbs::CreateAttr(b_, static_cast<uint16_t>(kRegionField + k),
                                     fbs::AttrKind::Region, first + k));
    }
    node_raw(static_cast<uint16_t>(op), in, out, list, name);
  }
  void node_raw(uint16_t op, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out,
                const std::vector<flatbuffers::Offset<fbs::Attr>>& attrs, const char* name = "",
                uint16_t version = 1) {
    nodes_.push_back(fbs::CreateNode(b_, op, version, b_.CreateVector(in), b_.CreateVector(out),
                                     b_.CreateVector(attrs), b_.CreateString(name)));
  }
  // Ends the nodes so far as a region; the body must be the last one and becomes region 0.
  void region(const std::vector<uint32_t>& in, const std::vector<uint32_t>& out, bool body = true) {
    auto r =
        fbs::CreateRegion(b_, b_.CreateVector(in), b_.CreateVector(out), b_.CreateVector(nodes_));
    regions_.insert(body ? regions_.begin() : regions_.end(), r);
    nodes_.clear();
  }
  void end_entry(const char* name, bool growing = false) {
    entries_.push_back(fbs::CreateEntry(b_, b_.CreateString(name), b_.CreateVector(values_),
                                        b_.CreateVector(regions_),
                                        b_.CreateVectorOfStructs(updates_), growing));
    values_.clear();
    regions_.clear();
    updates_.clear();
  }
  void entry(const char* name, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
    region(in, out);
    end_entry(name);
  }
  void custom_op(const char* domain, const char* name, uint32_t version = 1) {
    custom_.push_back(
        fbs::CreateCustomOp(b_, b_.CreateString(domain), b_.CreateString(name), version));
  }
  void label(const char* text) { labels_.push_back(b_.CreateString(text)); }
  void metadata(const char* key, const char* text) {
    metadata_.push_back(fbs::CreateKeyValue(b_, b_.CreateString(key), b_.CreateString(text)));
  }
  flatbuffers::FlatBufferBuilder& fb() { return b_; }

  // added to the offsets of the buffers that follow: to lie about where they are
  uint64_t shift = 0;
  Edition edition = kNewestEdition;

  std::vector<uint8_t> finish(uint64_t features = 0) {
    uint8_t digest[32];
    Sha256 sha;
    sha.update(segment_);
    sha.finish(digest);
    auto segment = fbs::CreateSegment(b_, 0, segment_.size(), b_.CreateVector(digest, 32));
    auto provenance =
        fbs::CreateProvenance(b_, b_.CreateString("0.1.0"), b_.CreateVector(digest, 32), 7,
                              fbs::Numerics::Exact, b_.CreateString("test"));
    auto root = fbs::CreateProgram(
        b_, b_.CreateVector(symbols_), b_.CreateVector(&segment, 1), b_.CreateVector(constants_),
        b_.CreateVector(states_), b_.CreateVector(entries_), b_.CreateVector(custom_),
        b_.CreateVector(labels_), b_.CreateVector(metadata_), provenance);
    fbs::FinishProgramBuffer(b_, root);
    return file_of(b_, segment_, features | edition_feature(edition));
  }

 private:
  static std::vector<fbs::Dim> dims_of(const std::vector<int64_t>& dims) {
    std::vector<fbs::Dim> list;
    for (int64_t d : dims)
      list.emplace_back(d <= kSym ? 0 : d, d <= kSym ? static_cast<uint32_t>(kSym - d + 1) : 0, 0);
    return list;
  }
  flatbuffers::Offset<fbs::Buffer> buffer(const void* data, size_t bytes, uint32_t layout) {
    segment_.resize(align_up(segment_.size(), kSegmentAlignment));
    size_t at = segment_.size();
    segment_.resize(at + bytes);
    if (bytes != 0) memcpy(segment_.data() + at, data, bytes);
    return fbs::CreateBuffer(b_, 0, at + shift, bytes, layout);
  }
  flatbuffers::Offset<fbs::Attr> attr(const AttrField& f, const void* attrs) {
    const char* at = static_cast<const char*>(attrs) + f.offset;
    auto kind = static_cast<fbs::AttrKind>(f.kind);
    int64_t i = 0;
    double d = 0;
    if (f.kind == AttrKind::kInt) memcpy(&i, at, 8);
    if (f.kind == AttrKind::kFloat) memcpy(&d, at, 8);
    if (!is_list(f.kind)) return fbs::CreateAttr(b_, f.id, kind, i, d);
    auto list = attr_ints(f, attrs);
    return fbs::CreateAttr(b_, f.id, kind, 0, 0, b_.CreateVector(list.data(), list.size()));
  }

  flatbuffers::FlatBufferBuilder b_;
  std::vector<flatbuffers::Offset<fbs::Symbol>> symbols_;
  std::vector<flatbuffers::Offset<fbs::Constant>> constants_;
  std::vector<flatbuffers::Offset<fbs::State>> states_;
  std::vector<flatbuffers::Offset<fbs::Value>> values_;
  std::vector<flatbuffers::Offset<fbs::Node>> nodes_;
  std::vector<flatbuffers::Offset<fbs::Region>> regions_;
  std::vector<flatbuffers::Offset<fbs::Entry>> entries_;
  std::vector<flatbuffers::Offset<fbs::CustomOp>> custom_;
  std::vector<flatbuffers::Offset<flatbuffers::String>> labels_;
  std::vector<flatbuffers::Offset<fbs::KeyValue>> metadata_;
  std::vector<fbs::StateUpdate> updates_;
  std::vector<uint8_t> segment_;
};

}  // namespace wick::test
