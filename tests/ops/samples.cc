// op_samples: prints the samples of the rows that make_goldens.py answers, one a line as JSON.
#include <cinttypes>
#include <cstdio>

#include "tests/ops/answers.h"

namespace wick::test {
namespace {

void print_text(const std::string& s) {
  std::putchar('"');
  for (const char c : s) {
    if (c == '"' || c == '\\') std::putchar('\\');
    if (static_cast<unsigned char>(c) < 0x20)
      std::printf("\\u%04x", c);
    else
      std::putchar(c);
  }
  std::putchar('"');
}

void print_number(double v) {
  if (std::isnan(v))
    std::printf("NaN");
  else if (std::isinf(v))
    std::printf(v > 0 ? "Infinity" : "-Infinity");
  else if (v == 0)
    std::printf(std::signbit(v) ? "-0.0" : "0");
  else
    std::printf("%.17g", v);
}

// Name and value of each field, in order: nested structs have fields of one name.
void print_attrs(const TestRow& row, const Sample& s) {
  const char* comma = "";
  std::printf("[");
  for (const AttrField& f : find_op(row.op)->attrs->fields) {
    const char* at = static_cast<const char*>(s.attrs.get()) + f.offset;
    std::printf("%s[\"%s\",", comma, f.name);
    comma = ",";
    if (f.kind == AttrKind::kFloat) {
      print_number(*reinterpret_cast<const double*>(at));
    } else if (f.kind == AttrKind::kInt) {
      std::printf("%" PRId64, *reinterpret_cast<const int64_t*>(at));
    } else {
      const auto* list = reinterpret_cast<const int64_t*>(at);
      std::printf("[");
      for (int64_t i = 0; i < list[0]; ++i)
        std::printf(i == 0 ? "%" PRId64 : ",%" PRId64, list[1 + i]);
      std::printf("]");
    }
    std::printf("]");
  }
  std::printf("]");
}

void print_input(const Value& v) {
  const TensorView t = v.view();
  if (!t.present()) {
    std::printf("null");
    return;
  }
  std::printf("{\"dtype\":\"%s\",\"shape\":[", dtype_name(t.dtype));
  for (int d = 0; d < t.rank(); ++d) std::printf(d == 0 ? "%" PRId64 : ",%" PRId64, t.shape[d]);
  std::printf("],\"values\":[");
  for (int64_t i = 0, n = t.numel(); i < n; ++i) {
    if (i > 0) std::putchar(',');
    if (t.dtype == DType::kString)
      print_text(v.string_at(i));
    else if (t.dtype == DType::kI64)
      std::printf("%" PRId64, t.as<int64_t>()[i]);
    else if (t.dtype == DType::kU64)
      std::printf("%" PRIu64, t.as<uint64_t>()[i]);
    else
      print_number(v.at(i));
  }
  std::printf("]}");
}

void print_sample(const TestRow& row, const Sample& s) {
  std::printf("{\"op\":\"%s\",\"name\":", find_op(row.op)->name);
  print_text(s.name);
  std::printf(",\"digest\":\"%s\",\"outputs\":%d,\"attrs\":", sample_digest(row, s).c_str(),
              s.outputs);
  print_attrs(row, s);
  std::printf(",\"inputs\":[");
  const char* comma = "";
  for (const Value& v : make_inputs(s)) {
    std::printf("%s", comma);
    comma = ",";
    print_input(v);
  }
  std::printf("]}\n");
}

}  // namespace
}  // namespace wick::test

int main() {
  using namespace wick::test;
  for (const TestRow* row : all_test_rows()) {
    if (!has_answers(*row)) continue;
    for (const Sample& s : row->samples()) print_sample(*row, s);
  }
}
