// CastString: numbers to text and back. Floats are written as the shortest text that reads back as
// the same number of their dtype: plain from 1e-4 to below 1e16, else with an exponent; NaN, INF,
// -INF.
#include <charconv>
#include <cmath>

#include "runtime/kernels/reference/strings.h"
#include "runtime/kernels/reference/widest.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

struct Text {
  char bytes[48];
  size_t size = 0;

  void add(char c) { bytes[size++] = c; }
  void add(const char* s, size_t n) {
    memcpy(bytes + size, s, n);
    size += n;
  }
};

bool stores(DType t) { return t == DType::kBool || is_float(t) || is_int(t) || is_small(t); }

// Stores n <= kWidestBlock values of `block` to elements of `to` from `first` on.
void store(const WidestBlock& block, Widen::Kind kind, int64_t n, const TensorView& to,
           int64_t first, const CastAttrs& attrs) {
  if (is_small(to.dtype)) return find_narrow_small(to.dtype)(block, kind, n, to.data, first, attrs);
  char* at = to.as<char>() + first * static_cast<int64_t>(dtype_size(to.dtype));
  find_narrow(kind, to.dtype)(block.bytes, 1, n, at);
}

// Returns whether the double `v` is converted to `number` in `dtype`.
bool reads_back(DType dtype, double v, double number) {
  WidestBlock block;
  block.as<double>()[0] = v;
  alignas(8) char element[8];
  store(block, Widen::Kind::kReal, 1, TensorView(element, dtype, Shape{1}), 0, CastAttrs{});
  find_widen(dtype).loop(element, 0, 1, 1, &block);
  return block.as<double>()[0] == number;
}

// Formats "-1.25e-07", with as many digits as needed.
Text shortest(double v, DType dtype) {
  Text t;
  auto keep = [&](std::to_chars_result r) { t.size = static_cast<size_t>(r.ptr - t.bytes); };
  char* end = t.bytes + sizeof(t.bytes);
  if (dtype == DType::kF64) {
    keep(std::to_chars(t.bytes, end, v, std::chars_format::scientific));
  } else if (dtype == DType::kF32) {
    keep(std::to_chars(t.bytes, end, static_cast<float>(v), std::chars_format::scientific));
  } else {
    for (int digits = 0; digits < 17; ++digits) {
      keep(std::to_chars(t.bytes, end, v, std::chars_format::scientific, digits));
      double back = 0;
      std::from_chars(t.bytes, t.bytes + t.size, back);
      if (reads_back(dtype, back, v)) break;
    }
  }
  return t;
}

Text print_real(double v, DType dtype) {
  Text t;
  if (std::isnan(v)) return t.add("NaN", 3), t;
  if (std::signbit(v)) t.add('-');
  if (std::isinf(v)) return t.add("INF", 3), t;
  const Text raw = shortest(std::fabs(v), dtype);
  char digits[24];
  int count = 0, exponent = 0;
  size_t at = 0;
  for (; at < raw.size && raw.bytes[at] != 'e'; ++at) {
    if (raw.bytes[at] != '.') digits[count++] = raw.bytes[at];
  }
  const size_t sign = raw.bytes[at + 1] == '+' ? 2 : 1;
  std::from_chars(raw.bytes + at + sign, raw.bytes + raw.size, exponent);
  while (count > 1 && digits[count - 1] == '0') --count;
  if (exponent < -4 || exponent >= 16) {
    t.add(digits[0]);
    if (count > 1) t.add('.');
    t.add(digits + 1, static_cast<size_t>(count - 1));
    t.add(raw.bytes + at, raw.size - at);
    return t;
  }
  if (exponent < 0) t.add("0.", 2);
  for (int i = -1; i > exponent; --i) t.add('0');
  const int whole = exponent < 0 ? 0 : exponent + 1;  // digits before the point
  for (int i = 0; i < count || i < whole; ++i) {
    if (i == whole && whole > 0) t.add('.');
    t.add(i < count ? digits[i] : '0');
  }
  if (whole >= count) t.add(".0", 2);
  return t;
}

Text print_number(const WidestBlock& block, Widen::Kind kind, int64_t i, DType dtype) {
  if (kind == Widen::Kind::kReal) return print_real(block.as<double>()[i], dtype);
  Text t;
  char* end = t.bytes + sizeof(t.bytes);
  if (dtype == DType::kBool) {
    block.as<int64_t>()[i] != 0 ? t.add("True", 4) : t.add("False", 5);
  } else if (kind == Widen::Kind::kSigned) {
    t.size = static_cast<size_t>(std::to_chars(t.bytes, end, block.as<int64_t>()[i]).ptr - t.bytes);
  } else {
    t.size =
        static_cast<size_t>(std::to_chars(t.bytes, end, block.as<uint64_t>()[i]).ptr - t.bytes);
  }
  return t;
}

Status run_print(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const DType from = in[0].dtype;
  const Widen widen = find_widen(from);
  auto* y = out[0].as<StringRef>();
  const int64_t n = in[0].numel();
  WidestBlock block;
  Poll poll;
  for (int64_t first = 0; first < n; first += kWidestBlock) {
    if (poll(64 * kWidestBlock)) return {};
    const int64_t count = n - first < kWidestBlock ? n - first : kWidestBlock;
    widen.loop(in[0].data, first, 1, count, &block);
    for (int64_t i = 0; i < count; ++i) {
      const Text t = print_number(block, widen.kind, i, from);
      WICK_ASSIGN(void* room, string_room(ctx, t.size));
      memcpy(room, t.bytes, t.size);
      y[first + i] = {static_cast<const char*>(room), t.size};
    }
  }
  return {};
}

// -- reading

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Letters {
  const char *begin, *end;

  explicit Letters(const StringRef& s) : begin(s.data), end(s.data + s.size) {
    while (begin != end && is_blank(*begin)) ++begin;
    while (begin != end && is_blank(end[-1])) --end;
    // from_chars does not accept a plus sign
    if (end - begin > 1 && *begin == '+' && begin[1] != '-') ++begin;
  }
  bool is(const char* lower) const {
    const char* p = begin;
    for (; p != end && *lower != 0; ++p, ++lower) {
      if ((*p | 0x20) != *lower) return false;
    }
    return p == end && *lower == 0;
  }
};

// For a number that is too large or too small: returns whether its first non-zero digit has a
// positive power of ten.
bool is_large(const Letters& s) {
  int64_t power = 0;
  bool point = false, found = false;
  const char* p = s.begin;
  for (; p != s.end && (*p | 0x20) != 'e'; ++p) {
    if (*p == '.') point = true;
    if (*p < '0' || *p > '9') continue;
    found = found || *p != '0';
    if (found && !point) ++power;
    if (!found && point) --power;
  }
  if (p == s.end) return power > 0;
  ++p;
  if (p != s.end && *p == '+') ++p;
  int64_t exponent = 0;
  if (std::from_chars(p, s.end, exponent).ec != std::errc()) return p != s.end && *p != '-';
  return __builtin_add_overflow(power, exponent, &power) ? exponent > 0 : power > 0;
}

template <class T>
bool read_real(const Letters& s, T* v) {
  auto [end, failed] = std::from_chars(s.begin, s.end, *v);
  if (end != s.end || failed == std::errc::invalid_argument || s.begin == s.end) return false;
  if (failed == std::errc::result_out_of_range) {
    *v = is_large(s) ? T(INFINITY) : T(0);
    if (*s.begin == '-') *v = -*v;
  }
  return true;
}

template <class T>
bool read_whole(const Letters& s, T* v) {
  auto [end, failed] = std::from_chars(s.begin, s.end, *v);
  if (end == s.end && failed == std::errc()) return true;
  double real = 0;
  if (!read_real(s, &real)) return false;
  WidestBlock block;
  block.as<double>()[0] = real;
  store(block, Widen::Kind::kReal, 1, TensorView(v, dtype_of<T>, Shape{1}), 0, CastAttrs{});
  return true;
}

Widen::Kind kind_for(DType to) {
  return to == DType::kI64   ? Widen::Kind::kSigned
         : to == DType::kU64 ? Widen::Kind::kUnsigned
                             : Widen::Kind::kReal;
}

bool read_number(const StringRef& text, DType to, WidestBlock* block, int64_t i) {
  const Letters s(text);
  double* real = block->as<double>() + i;
  if (to == DType::kBool && (s.is("true") || s.is("false"))) {
    *real = s.is("true") ? 1 : 0;
    return true;
  }
  if (to == DType::kI64) return read_whole(s, block->as<int64_t>() + i);
  if (to == DType::kU64) return read_whole(s, block->as<uint64_t>() + i);
  if (to != DType::kF32) return read_real(s, real);
  float one = 0;  // rounded only once
  const bool is = read_real(s, &one);
  *real = static_cast<double>(one);
  return is;
}

Status run_read(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const CastAttrs*>(attrs);
  const DType to = out[0].dtype;
  const auto* x = in[0].as<StringRef>();
  const int64_t n = in[0].numel();
  WidestBlock block;
  Poll poll;
  for (int64_t first = 0; first < n; first += kWidestBlock) {
    if (poll(64 * kWidestBlock)) return {};
    const int64_t count = n - first < kWidestBlock ? n - first : kWidestBlock;
    for (int64_t i = 0; i < count; ++i) {
      const StringRef& s = x[first + i];
      if (read_number(s, to, &block, i)) continue;
      return error(Code::kInvalidArgument, "string %lld, \"%.*s\", is no number for %s",
                   static_cast<long long>(first + i), static_cast<int>(s.size < 40 ? s.size : 40),
                   s.size == 0 ? "" : s.data, dtype_name(to));
    }
    store(block, kind_for(to), count, out[0], first, a);
  }
  return {};
}

Status run_copy(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  copy_bytes(out[0].data, in[0].data, in[0].nbytes());
  return {};
}

bool match_print(const KernelQuery& q) {
  return stores(q.in[0].dtype) && q.out[0].dtype == DType::kString;
}
bool match_read(const KernelQuery& q) {
  return q.in[0].dtype == DType::kString && stores(q.out[0].dtype);
}
bool match_copy(const KernelQuery& q) {
  return q.in[0].dtype == DType::kString && q.out[0].dtype == DType::kString;
}

}  // namespace

WICK_REF_ROWS(CastString,
              {"cast_string.to_string.ref", kContiguous, match_print, nullptr, nullptr, run_print},
              {"cast_string.to_number.ref", kContiguous, match_read, nullptr, nullptr, run_read},
              {"cast_string.string.ref", kContiguous, match_copy, nullptr, nullptr, run_copy});
WICK_NO_CPU_ROWS(CastString);

}  // namespace wick
