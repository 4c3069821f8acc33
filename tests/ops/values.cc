#include "tests/ops/values.h"
#include "runtime/kernels/prepared.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "runtime/core/string_ref.h"
#include "runtime/kernels/copy.h"
#include "runtime/ops/rule.h"

namespace wick::test {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

struct AlignedDelete {
  void operator()(char* p) const { std::free(p); }
};

// A sample's name gives its numbers, the same on every machine: this is libstdc++'s std::hash for a
// size_t of 64 bits (MurmurHash64A).
uint64_t hash_of(const std::string& text) {
  constexpr uint64_t kMul = 0xc6a4a7935bd1e995;
  auto mixed = [](uint64_t v) { return v ^ (v >> 47); };
  const char* at = text.data();
  size_t left = text.size();
  uint64_t hash = 0xc70f6907 ^ (left * kMul), word = 0;
  for (; left >= 8; at += 8, left -= 8) {
    memcpy(&word, at, 8);
    hash = (hash ^ mixed(word * kMul) * kMul) * kMul;
  }
  if (left != 0) {
    word = 0;
    memcpy(&word, at, left);
    hash = (hash ^ word) * kMul;
  }
  return mixed(mixed(hash) * kMul);
}

}  // namespace

Value::Value(DType dtype, const Shape& shape, size_t offset_bytes) {
  TensorView v(nullptr, dtype, shape);
  // Wide elements move by a whole one: that much alignment kernels are promised.
  while (offset_bytes > 0 && offset_bytes * 8 < static_cast<size_t>(dtype_bits(dtype)))
    offset_bytes *= 2;
  size_t bytes = (v.nbytes() + offset_bytes + 127) / 64 * 64;
  auto* p = static_cast<char*>(std::aligned_alloc(64, bytes));
  std::memset(p, 0xA5, bytes);  // makes elements that a kernel forgets to write visible
  bytes_ = std::shared_ptr<char[]>(p, AlignedDelete());
  v.data = p + offset_bytes;
  view_ = v;
}

std::string Value::string_at(int64_t i) const {
  const StringRef& s = view_.as<StringRef>()[i];
  return s.size == 0 ? std::string() : std::string(s.data, s.size);
}

void Value::set_string(int64_t i, const std::string& s) {
  auto kept = std::make_shared<std::string>(s);
  view_.as<StringRef>()[i] = {kept->data(), kept->size()};
  kept_.push_back(kept);
}

void Value::set_view(const TensorView& view, std::shared_ptr<void> keep) {
  view_ = view;
  kept_.push_back(std::move(keep));
}

double Value::at(int64_t i) const {
  if (view_.dtype == DType::kString)  // a number that tells texts apart
    return static_cast<double>(hash_of(string_at(i)) >> 11);
  const void* p = view_.data;
  switch (view_.dtype) {
    case DType::kF32: return static_cast<const float*>(p)[i];
    case DType::kF64: return static_cast<const double*>(p)[i];
    case DType::kI64: return static_cast<double>(static_cast<const int64_t*>(p)[i]);
    case DType::kI32: return static_cast<const int32_t*>(p)[i];
    case DType::kI16: return static_cast<const int16_t*>(p)[i];
    case DType::kI8: return static_cast<const int8_t*>(p)[i];
    case DType::kSequence:
    case DType::kOptional:
    case DType::kOptionalSequence:
    case DType::kU8: return static_cast<const uint8_t*>(p)[i];
    case DType::kBool: return static_cast<const uint8_t*>(p)[i];
    case DType::kF16: return static_cast<float>(static_cast<const Half*>(p)[i]);
    case DType::kBF16: return static_cast<float>(static_cast<const BFloat16*>(p)[i]);
    case DType::kU16: return static_cast<const uint16_t*>(p)[i];
    case DType::kU32: return static_cast<const uint32_t*>(p)[i];
    case DType::kU64: return static_cast<double>(static_cast<const uint64_t*>(p)[i]);
    default: return is_small(view_.dtype) ? narrow_at(view_.dtype, p, i) : 0;
  }
}

// Sets the element of a small type to the code that has this value, found by trying all of them.
void Value::set_small(int64_t i, double v) {
  const int bits = dtype_bits(view_.dtype);
  for (int code = 0; code < 1 << bits; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const double value = narrow_at(view_.dtype, &byte, 0);
    if (!(value == v || (std::isnan(value) && std::isnan(v)))) continue;
    if (bits == 8)
      static_cast<uint8_t*>(view_.data)[i] = byte;
    else
      set_packed(view_.data, bits, i, byte);
    return;
  }
  throw std::invalid_argument("no such value");
}

// Converts as the machine does: a value that no int64 has becomes the least one, where C++ leaves
// it undefined.
static int64_t whole(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : INT64_MIN;
}
static uint64_t natural(double v) {
  return v >= 0x1p63 && v < 0x1p64 ? static_cast<uint64_t>(v) : static_cast<uint64_t>(whole(v));
}

void Value::set(int64_t i, double v) {
  void* p = view_.data;
  switch (view_.dtype) {
    case DType::kF32: static_cast<float*>(p)[i] = static_cast<float>(v); break;
    case DType::kF64: static_cast<double*>(p)[i] = v; break;
    case DType::kI64: static_cast<int64_t*>(p)[i] = whole(v); break;
    case DType::kI32: static_cast<int32_t*>(p)[i] = static_cast<int32_t>(whole(v)); break;
    case DType::kI16: static_cast<int16_t*>(p)[i] = static_cast<int16_t>(whole(v)); break;
    case DType::kI8: static_cast<int8_t*>(p)[i] = static_cast<int8_t>(whole(v)); break;
    case DType::kSequence:
    case DType::kOptional:
    case DType::kOptionalSequence:
    // -1 is every bit
    case DType::kU8: static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(whole(v)); break;
    case DType::kBool: static_cast<uint8_t*>(p)[i] = v > 0; break;
    case DType::kF16: static_cast<Half*>(p)[i] = Half(static_cast<float>(v)); break;
    case DType::kBF16: static_cast<BFloat16*>(p)[i] = BFloat16(static_cast<float>(v)); break;
    case DType::kU16: static_cast<uint16_t*>(p)[i] = static_cast<uint16_t>(whole(v)); break;
    case DType::kU32: static_cast<uint32_t*>(p)[i] = static_cast<uint32_t>(whole(v)); break;
    case DType::kU64: static_cast<uint64_t*>(p)[i] = natural(v); break;
    default: set_small(i, v); break;
  }
}

std::vector<Value> make_inputs(const Sample& sample, DType as, size_t offset_bytes) {
  std::vector<Value> values;
  uint64_t seed = hash_of(sample.name);
  for (size_t k = 0; k < sample.in.size(); ++k) {
    const Input& spec = sample.in[k];
    if (spec.dtype == DType::kNone) {
      values.emplace_back();
      continue;
    }
    Value v(spec.dtype == DType::kF32 ? as : spec.dtype, spec.shape, offset_bytes);
    if (spec.dtype == DType::kString) {
      for (int64_t i = 0, n = v.view().numel(); i < n; ++i)
        v.set_string(i, spec.strings.empty()
                            ? std::to_string(mix(seed + static_cast<uint64_t>(i)) % 9)
                            : spec.strings.at(static_cast<size_t>(i)));
      values.push_back(v);
      continue;
    }
    for (int64_t i = 0, n = v.view().numel(); i < n; ++i) {
      double u =
          static_cast<double>(mix(seed + k * 1000003 + static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
      double x = spec.lo + u * (spec.hi - spec.lo);
      if (!spec.values.empty()) x = spec.values[static_cast<size_t>(i)];
      // every dtype of one sample holds the same numbers: f32 values in f64 too
      if (spec.dtype == DType::kF32) x = static_cast<float>(x);
      if (spec.values.empty() &&
          (is_int(spec.dtype) || spec.dtype == DType::kBool || is_small(spec.dtype)))
        x = std::floor(x);
      v.set(i, x);
    }
    values.push_back(v);
  }
  return values;
}

std::vector<TensorView> views(const std::vector<Value>& values) {
  std::vector<TensorView> out;
  for (const Value& v : values) out.push_back(v.view());
  return out;
}

Status run_op(OpId op, const void* attrs, const std::vector<Value>& in, int outputs,
              Span<const KernelSet* const> sets, ThreadPool* pool, std::vector<Value>* out,
              std::string* kernel, size_t offset_bytes, Edition edition) {
  std::vector<ValueInfo<int64_t>> infos, outs(static_cast<size_t>(outputs));
  std::vector<std::vector<int64_t>> elements(in.size());
  for (size_t k = 0; k < in.size(); ++k) {
    TensorView v = in[k].view();
    ValueInfo<int64_t> info{v.dtype, v.shape, nullptr, 0};
    if (is_container(v.dtype)) {
      info.elements = static_cast<const int64_t*>(v.data);
      info.element_count = v.numel() / 8;
    }
    if (v.present() && is_int(v.dtype) && v.numel() <= 64) {
      for (int64_t i = 0; i < v.numel(); ++i) elements[k].push_back(whole(in[k].at(i)));
      elements[k].push_back(0);  // never an empty (null) array
      info.elements = elements[k].data();
      info.element_count = v.numel();
    }
    if (v.present() && holds_reals(op, k, v.dtype, v.rank()) && v.numel() <= 64) {
      for (int64_t i = 0; i < v.numel(); ++i)
        elements[k].push_back(real_bits_at(v.dtype, v.data, i));
      elements[k].push_back(0);
      info.elements = elements[k].data();
      info.element_count = v.numel();
    }
    infos.push_back(info);
  }
  RuleCtx<int64_t> rule{op, attrs, infos, outs};
  WICK_TRY(infer_shapes(rule));
  out->clear();
  for (auto& o : outs) out->emplace_back(o.dtype, o.shape, offset_bytes);
  auto in_views = views(in), out_views = views(*out);
  KernelQuery query{op, attrs, in_views, out_views, pool == nullptr ? 1 : pool->threads()};
  query.edition = edition;
  PreparedKernel prepared;
  WICK_TRY(prepared.prepare(sets, query));
  if (kernel != nullptr) *kernel = prepared.row().name;
  std::unique_ptr<char, void (*)(void*)> scratch(
      static_cast<char*>(std::aligned_alloc(64, (prepared.scratch_bytes() + 127) / 64 * 64)),
      std::free);
  auto strings = std::make_shared<Arena>(default_allocator());
  WICK_TRY(prepared.run({pool, scratch.get(), strings.get()}, op, in_views, out_views, attrs));
  // what outputs refer to: strings of the inputs, or made now
  auto keep = std::make_shared<std::pair<std::shared_ptr<Arena>, std::vector<Value>>>(strings, in);
  for (size_t k = 0; k < out->size(); ++k) (*out)[k].set_view(out_views[k], keep);
  return {};
}

std::string bits_differ(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || !(a.shape == b.shape)) {
    return fmt::format("{}{} vs {}{}", dtype_name(a.dtype), to_text(a.shape).text,
                       dtype_name(b.dtype), to_text(b.shape).text);
  }
  if (a.dtype == DType::kString) {
    for (int64_t i = 0, n = a.numel(); i < n; ++i)
      if (!(a.as<StringRef>()[i] == b.as<StringRef>()[i]))
        return fmt::format("string {} differs", i);
    return "";
  }
  if (dtype_bits(a.dtype) < 8)
    return std::memcmp(a.data, b.data, a.nbytes()) == 0 ? "" : "packed elements differ";
  size_t size = dtype_size(a.dtype);
  const char *pa = static_cast<const char*>(a.data), *pb = static_cast<const char*>(b.data);
  for (int64_t i = 0, n = a.numel(); i < n; ++i, pa += size, pb += size) {
    if (std::memcmp(pa, pb, size) == 0) continue;
    double x = 0, y = 0;
    if (a.dtype == DType::kF32) {
      x = *reinterpret_cast<const float*>(pa);
      y = *reinterpret_cast<const float*>(pb);
    } else if (a.dtype == DType::kF64) {
      x = *reinterpret_cast<const double*>(pa);
      y = *reinterpret_cast<const double*>(pb);
    } else if (a.dtype == DType::kF16) {
      x = static_cast<float>(*reinterpret_cast<const Half*>(pa));
      y = static_cast<float>(*reinterpret_cast<const Half*>(pb));
    } else if (a.dtype == DType::kBF16) {
      x = static_cast<float>(*reinterpret_cast<const BFloat16*>(pa));
      y = static_cast<float>(*reinterpret_cast<const BFloat16*>(pb));
    }
    if (std::isnan(x) && std::isnan(y)) continue;
    return fmt::format("element {} of {}: {:a} vs {:a}", i, n, x, y);
  }
  return "";
}

}  // namespace wick::test
