#include "trainer/distributed/comm/fingerprint.h"

#include "wick/error.h"

namespace wick::distributed {
namespace {

uint32_t hash(const std::string& text) {  // FNV-1a
  uint32_t h = 2166136261;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 16777619;
  return h;
}

bool point_to_point(Kind kind) { return kind == Kind::kSend || kind == Kind::kReceive; }

}  // namespace

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::kBarrier: return "barrier";
    case Kind::kAllReduce: return "all_reduce";
    case Kind::kReduceScatter: return "reduce_scatter";
    case Kind::kAllGather: return "all_gather";
    case Kind::kBroadcast: return "broadcast";
    case Kind::kAllToAll: return "all_to_all";
    case Kind::kSend: return "send";
    case Kind::kReceive: return "receive";
  }
  return "unknown";
}

std::string Call::text() const {
  std::string s = to_text(kind);
  if (dtype != DType::kNone)
    s += std::string(" ") + dtype_name(dtype) + "[" + std::to_string(count) + "]";
  if (reduces()) s += std::string(" ") + to_text(op);
  if (kind == Kind::kBroadcast) s += " from " + std::to_string(peer);
  if (kind == Kind::kSend) s += " to " + std::to_string(peer);
  if (kind == Kind::kReceive) s += " from " + std::to_string(peer);
  if (!name.empty()) s += " '" + name + "'";
  return s + " (" + wick::to_text(where) + ")";
}

Fingerprint fingerprint_of(const Call& call, uint32_t sequence) {
  Fingerprint f;
  f.sequence = sequence;
  f.kind = static_cast<uint8_t>(point_to_point(call.kind) ? Kind::kSend : call.kind);
  f.dtype = static_cast<uint8_t>(call.dtype);
  if (call.reduces()) f.detail = static_cast<uint16_t>(call.op);
  if (call.kind == Kind::kBroadcast) f.detail = static_cast<uint16_t>(call.peer);
  const auto count = static_cast<uint64_t>(call.count);
  f.count = static_cast<uint32_t>(count ^ (count >> 32) * 0x9E3779B9);
  if (!call.name.empty()) {
    f.site = hash(call.name);
  } else if (!point_to_point(call.kind)) {
    f.site = hash(wick::to_text(call.where));
  }
  return f;
}

std::string difference(const Fingerprint& mine, const Fingerprint& theirs) {
  if (mine.sequence != theirs.sequence) return "order";
  if (mine.kind != theirs.kind) return "kind";
  if (mine.dtype != theirs.dtype) return "dtype";
  if (mine.count != theirs.count) return "size";
  if (mine.detail != theirs.detail) return "function or root";
  return mine.site != theirs.site ? "name or line" : "";
}

std::string outline(const Fingerprint& f) {
  std::string s = to_text(static_cast<Kind>(f.kind));
  if (f.dtype != 0) s += std::string(" ") + dtype_name(static_cast<DType>(f.dtype));
  return s;
}

}  // namespace wick::distributed
