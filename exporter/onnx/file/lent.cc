#include "exporter/onnx/file/lent.h"

#include <fmt/core.h>

#include <algorithm>

#include "exporter/onnx/file/wire.h"
#include "runtime/core/real_text.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr size_t kLeast = 512;                      // smaller tensors are not worth taking out
constexpr uint64_t kLeastStay = uint64_t{1} << 17;  // smaller tensors are copied at once
constexpr int kMaxNesting = 90;
constexpr uint32_t kRawData = 9, kExternal = 13, kLocation = 14;  // of TensorProto
// The external location of a tensor whose data was taken out. No file has such a name, as it begins
// with a zero byte. A file that says this itself gets only at its own bytes, if at any.
const char kPlace[] = "\0lent";
const std::string kLent(kPlace, sizeof(kPlace) - 1);

thread_local LentWeights* weights = nullptr;

// Only large float32 weights stay in their file, since they wait to be packed; everything else is
// read at once.
bool stays(DType dtype, uint64_t bytes) {
  return weights != nullptr && weights->stay && dtype == DType::kF32 && bytes >= kLeastStay;
}

void put_varint(std::string* out, uint64_t n) {
  for (; n > 127; n >>= 7) out->push_back(static_cast<char>((n & 127) | 128));
  out->push_back(static_cast<char>(n));
}

class Stripper {
 public:
  Stripper(ModelBytes& model, std::vector<Piece>* lent) : model_(model), lent_(lent) {}

  // Returns true with the message without its weights in `out`, or false if there are none to take
  // out.
  bool strip(const Piece& message, Kind kind, int depth, std::string* out) {
    if (depth > kMaxNesting) return false;
    if (kind == Kind::kTensor) return strip_tensor(message, out);
    const size_t had = lent_->size();
    uint64_t copied = message.offset;  // everything before this is in `out`
    Wire wire(model_, message);
    std::string child;
    for (Field f; wire.next(&f);) {
      const Kind child_kind = f.bytes ? inside(kind, f.number) : Kind::kOther;
      // A field too small to hold a tensor that is taken out is not searched.
      if (child_kind == Kind::kOther || f.end - f.content < kLeast) continue;
      child.clear();
      if (!strip({f.content, f.end - f.content}, child_kind, depth + 1, &child)) continue;
      model_.append(copied, f.begin, out);
      put_varint(out, uint64_t{f.number} << 3 | 2);
      put_varint(out, child.size());
      out->append(child);
      copied = f.end;
    }
    if (!wire.sound()) lent_->resize(had);
    if (copied == message.offset || !wire.sound()) return false;
    model_.append(copied, message.offset + message.size, out);
    return true;
  }

 private:
  bool strip_tensor(const Piece& message, std::string* out) {
    Field raw = {};
    Wire wire(model_, message);
    for (Field f; wire.next(&f);) {
      if (f.number == kRawData && f.bytes) raw = f;  // the last one counts
    }
    if (!wire.sound() || raw.end == 0) return false;
    const Piece bytes{raw.content, raw.end - raw.content};
    if (bytes.size < kLeast) return false;
    for (Wire look(model_, message); look.next(&raw);) {
      if (raw.number == kLocation) return false;  // its data is external: raw_data is no part of it
    }
    Wire again(model_, message);
    for (Field f; again.next(&f);) {
      if (f.number != kRawData && f.number != kExternal && f.number != kLocation)
        model_.append(f.begin, f.end, out);
    }
    lent_->push_back(bytes);
    TensorProto marked;
    marked.set_data_location(TensorProto::EXTERNAL);
    auto& entry = *marked.add_external_data();
    entry.set_key("location");
    entry.set_value(kLent + std::to_string(lent_->size() - 1));
    out->append(marked.SerializeAsString());
    return true;
  }

  ModelBytes& model_;
  std::vector<Piece>* lent_;
};

}  // namespace

std::string without_weights(ModelBytes& model, std::vector<Piece>* lent) {
  std::string out;
  if (!Stripper(model, lent).strip({0, model.size()}, Kind::kModel, 0, &out)) out.clear();
  return out;
}

LentWeights::LentWeights(ModelBytes& m, const std::vector<Piece>& p, bool s)
    : model(m), pieces(p), stay(s), before_(weights) {
  weights = this;
}
LentWeights::~LentWeights() { weights = before_; }

const Piece* lent_piece(const TensorProto& tensor) {
  // Of a tensor that is given in pieces protobuf keeps the last of each field, so the last marker
  // counts.
  int last = tensor.external_data_size() - 1;
  while (last >= 0 && !tensor.external_data(last).value().starts_with(kLent)) --last;
  if (last < 0) return nullptr;
  const std::string& place = tensor.external_data(last).value();
  size_t index = 0;
  if (!read_integer(std::string_view(place).substr(kLent.size()), &index) || weights == nullptr ||
      index >= weights->pieces.size()) {
    throw Error("ONNX tensor '" + tensor.name() + "': external data needs a relative path",
                Code::kInvalidProgram);
  }
  return &weights->pieces[index];
}

LentWeights::Stays* external_file(const std::string& location, DType dtype, uint64_t bytes) {
  constexpr size_t kMostFiles = 64;  // that one model may hold open; the rest is read at once
  if (!stays(dtype, bytes)) return nullptr;
  auto& files = weights->external;
  return files.size() < kMostFiles || files.contains(location) ? &files[location] : nullptr;
}

HostTensor lent_tensor(const std::string& name, const Piece& piece, DType dtype,
                       const Shape& shape) {
  ModelBytes& model = weights->model;
  const FileRange range{.file_size = model.size(), .offset = piece.offset};
  return read_once(name, range, dtype, shape, piece.size, [&] {
    if (model.file() == nullptr || piece.size < kLeastStay) {
      HostTensor t(dtype, shape);
      model.copy(piece.offset, t.data(), t.nbytes());
      return t;
    }
    HostTensor t = HostTensor::in_file(dtype, shape, model.file(), piece.offset);
    if (!stays(dtype, piece.size)) (void)t.data();
    return t;
  });
}

HostTensor read_once(const std::string& name, const FileRange& range, DType dtype,
                     const Shape& shape, size_t bytes, const std::function<HostTensor()>& read) {
  if (weights == nullptr || weights->ledger == nullptr || bytes == 0) return read();
  const LentWeights::File file{range.device, range.inode};
  // decode() writes into bools, and into elements of less than a byte.
  const bool shared = weights->share && dtype != DType::kBool && dtype_bits(dtype) >= 8;
  const std::tuple key{file, range.offset, bytes, dtype};
  if (shared) {
    const auto known = weights->read_.find(key);
    if (known != weights->read_.end()) return known->second.reshaped(shape);
  }
  uint64_t& taken = weights->taken_[file];
  const uint64_t fresh = range.file_size - std::min(taken, range.file_size);
  if (bytes > fresh && !weights->ledger->take(bytes - fresh).ok()) {
    throw Error(
        fmt::format("ONNX tensor '{}': more is read of its file than the file has bytes ({}), "
                    "since tensors overlap in it, by over {} bytes; "
                    "OnnxReadOptions::max_ram raises it",
                    name, range.file_size, weights->ledger->limits().bytes),
        Code::kBudgetExceeded);
  }
  taken += bytes;
  HostTensor t = read();
  if (shared) weights->read_.emplace(key, t);
  return t;
}

}  // namespace wick::onnx
