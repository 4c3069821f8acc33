#include "tests/functions/inputs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/core/half.h"

namespace wick::test {
namespace {

uint64_t fnv(const std::string& text) {
  uint64_t h = 14695981039346656037ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

// Knuth's MMIX constants; the upper 53 bits.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) { next(); }
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

bool is_half(DType t) { return t == DType::kF16 || t == DType::kBF16; }

double held(double v, DType t) {
  auto f = static_cast<float>(v);
  // bfloat16's 8 bits of significand are exact in float16 too, for the magnitudes samples use
  if (is_half(t)) return static_cast<float>(BFloat16(f));
  return is_float(t) ? f : v;
}

double uniform_value(const In& in, DType t, Random& random) {
  for (;;) {
    double v = 0;
    if (is_float(t)) {
      v = held(in.lo + (in.hi - in.lo) * random.next(), t);
    } else {
      double lo = std::ceil(in.lo), hi = std::floor(in.hi);
      if (is_unsigned_int(t)) lo = std::max(lo, 0.0), hi = std::max(hi, 1.0);
      if (t == DType::kBool) lo = 0, hi = 1;
      v = lo + std::floor(random.next() * (hi - lo + 1));
    }
    if (in.away == 0 || t == DType::kBool || std::fabs(v) >= in.away) return v;
  }
}

double given_value(double v, DType t) {
  if (is_float(t)) return std::isfinite(v) ? held(v, t) : v;
  if (t == DType::kBool) return v != 0 ? 1 : 0;
  if (!std::isfinite(v)) return 0;
  return is_unsigned_int(t) ? std::fabs(std::trunc(v)) : std::trunc(v);
}

void store(void* at, DType t, double v) {
  switch (t) {
    case DType::kF64: *static_cast<double*>(at) = v; break;
    case DType::kF32: *static_cast<float*>(at) = static_cast<float>(v); break;
    case DType::kF16: *static_cast<Half*>(at) = Half(static_cast<float>(v)); break;
    case DType::kBF16: *static_cast<BFloat16*>(at) = BFloat16(static_cast<float>(v)); break;
    case DType::kBool: *static_cast<bool*>(at) = v != 0; break;
    case DType::kU8: *static_cast<uint8_t*>(at) = static_cast<uint8_t>(v); break;
    case DType::kI8: *static_cast<int8_t*>(at) = static_cast<int8_t>(v); break;
    case DType::kU16: *static_cast<uint16_t*>(at) = static_cast<uint16_t>(v); break;
    case DType::kI16: *static_cast<int16_t*>(at) = static_cast<int16_t>(v); break;
    case DType::kU32: *static_cast<uint32_t*>(at) = static_cast<uint32_t>(v); break;
    case DType::kI32: *static_cast<int32_t*>(at) = static_cast<int32_t>(v); break;
    case DType::kU64: *static_cast<uint64_t*>(at) = static_cast<uint64_t>(v); break;
    case DType::kI64: *static_cast<int64_t*>(at) = static_cast<int64_t>(v); break;
    default: throw Error("[functions] no such dtype");
  }
}

double load(const void* at, DType t) {
  switch (t) {
    case DType::kF64: return *static_cast<const double*>(at);
    case DType::kF32: return *static_cast<const float*>(at);
    case DType::kF16: return static_cast<float>(*static_cast<const Half*>(at));
    case DType::kBF16: return static_cast<float>(*static_cast<const BFloat16*>(at));
    case DType::kBool: return *static_cast<const bool*>(at) ? 1 : 0;
    case DType::kU8: return *static_cast<const uint8_t*>(at);
    case DType::kI8: return *static_cast<const int8_t*>(at);
    case DType::kU16: return *static_cast<const uint16_t*>(at);
    case DType::kI16: return *static_cast<const int16_t*>(at);
    case DType::kU32: return *static_cast<const uint32_t*>(at);
    case DType::kI32: return *static_cast<const int32_t*>(at);
    case DType::kU64: return static_cast<double>(*static_cast<const uint64_t*>(at));
    case DType::kI64: return static_cast<double>(*static_cast<const int64_t*>(at));
    default: throw Error("[functions] no such dtype");
  }
}

}  // namespace

nlohmann::ordered_json number_as_json(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

double number_of(const nlohmann::ordered_json& j) {
  if (!j.is_string()) return j.get<double>();
  const auto text = j.get<std::string>();
  return text == "nan" ? kNan : text == "inf" ? kInf : -kInf;
}

std::vector<DType> listed(DTypeSet set) {
  std::vector<DType> all;
  for (DType t :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
        DType::kI8, DType::kU8, DType::kBool, DType::kU64, DType::kU32, DType::kU16}) {
    if (has(set, t)) all.push_back(t);
  }
  return all;
}

std::string sample_key(const FunctionRow& row, size_t sample) {
  return row.name + "#" + std::to_string(sample);
}

std::vector<double> input_values(const In& in, DType t, const std::string& key, size_t place) {
  if (in.fixed != DType::kNone) t = in.fixed;
  auto n = static_cast<size_t>(numel(in.shape));
  std::vector<double> v(n);
  Random random(fnv(key + "/" + std::to_string(place)));
  switch (in.kind) {
    case In::Kind::kUniform:
      for (double& e : v) e = uniform_value(in, t, random);
      break;
    case In::Kind::kDistinct: {
      if (n > 128) throw Error("[functions] " + key + ": distinct() has at most 128 elements");
      double middle = is_unsigned_int(t) ? 0 : static_cast<double>(n / 2);
      for (size_t i = 0; i < n; ++i) {
        double whole = static_cast<double>(i) - middle;
        v[i] = is_float(t) ? (whole + 0.5) / 16 : whole;
        if (t == DType::kBool) v[i] = static_cast<double>(i % 2);
      }
      for (size_t i = n; i > 1; --i) {
        std::swap(v[i - 1], v[static_cast<size_t>(random.next() * static_cast<double>(i))]);
      }
      break;
    }
    case In::Kind::kGiven:
      if (in.values.size() != n) throw Error("[functions] " + key + ": values do not fill a shape");
      for (size_t i = 0; i < n; ++i) v[i] = given_value(in.values[i], t);
      break;
  }
  return v;
}

Tensor stored(const std::vector<double>& values, const Shape& shape, DType t) {
  std::vector<uint64_t> bytes(values.size() + 1);  // 8 an element suffice for every dtype
  for (size_t i = 0; i < values.size(); ++i)
    store(reinterpret_cast<char*>(bytes.data()) + i * dtype_size(t), t, values[i]);
  return from_blob(bytes.data(), shape, t);
}

Tensor input_tensor(const In& in, DType t, const std::string& key, size_t place) {
  if (in.fixed != DType::kNone) t = in.fixed;
  return stored(input_values(in, t, key, place), in.shape, t);
}

List input_tensors(const FunctionRow& row, size_t sample, DType t) {
  List in;
  const Sample& s = row.samples[sample];
  for (size_t i = 0; i < s.in.size(); ++i)
    in.push_back(input_tensor(s.in[i], t, sample_key(row, sample), i));
  return in;
}

std::vector<double> elements(const Tensor& t) {
  Tensor c = t.detach().contiguous();
  auto n = static_cast<size_t>(c.raw().numel());
  std::vector<double> v(n);
  const auto* bytes = static_cast<const char*>(c.raw().data);
  for (size_t i = 0; i < n; ++i) v[i] = load(bytes + i * dtype_size(c.dtype()), c.dtype());
  return v;
}

std::vector<std::vector<size_t>> shared_with(const List& inputs, const List& outputs) {
  std::vector<std::vector<size_t>> all(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool some = inputs[i].raw().numel() != 0;
      if (some && &inputs[i].storage() == &outputs[k].storage()) all[k].push_back(i);
    }
  }
  return all;
}

nlohmann::ordered_json describe_sample(const FunctionRow& row, size_t sample) {
  const Sample& s = row.samples[sample];
  std::string key = sample_key(row, sample);
  nlohmann::ordered_json j;
  j["key"] = key;
  j["torch"] = s.torch;
  j["random"] = row.diff.mark == Mark::kRandom;
  j["gradient"] = wants_gradient(row, s);
  for (DType t : listed(dtypes_of(row, s))) j["dtypes"].push_back(dtype_name(t));
  j["inputs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < s.in.size(); ++i) {
    const In& in = s.in[i];
    nlohmann::ordered_json one;
    one["fixed"] = in.fixed == DType::kNone ? "" : dtype_name(in.fixed);
    one["gradient"] = in.grad && in.fixed == DType::kNone;
    one["shape"] = std::vector<int64_t>(in.shape.begin(), in.shape.end());
    // a class of dtypes a list: float, half, signed, unsigned, bool
    for (auto [name, t] : {std::pair{"float", DType::kF64},
                           {"half", DType::kF16},
                           {"signed", DType::kI64},
                           {"unsigned", DType::kU8},
                           {"bool", DType::kBool}}) {
      one[name] = nlohmann::ordered_json::array();
      for (double v : input_values(in, t, key, i)) one[name].push_back(number_as_json(v));
    }
    j["inputs"].push_back(one);
  }
  char digest[17];
  snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(fnv(j.dump())));
  j["digest"] = digest;
  return j;
}

std::string sample_digest(const FunctionRow& row, size_t sample) {
  return describe_sample(row, sample)["digest"].get<std::string>();
}

}  // namespace wick::test
