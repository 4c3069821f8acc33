#include <csv.h>

#include <exception>

#include "trainer/data/csv_rows.h"
#include "wick/error.h"

namespace wick::data {
namespace {

struct Rows {
  std::vector<std::vector<std::string>> done;
  std::vector<std::string> row;
  std::exception_ptr error;  // libcsv is C, so nothing may be thrown through it
};

void on_field(void* text, size_t n, void* to) {
  auto* rows = static_cast<Rows*>(to);
  try {
    rows->row.emplace_back(text == nullptr ? "" : static_cast<const char*>(text), n);
  } catch (...) {
    rows->error = std::current_exception();
  }
}
void on_row(int, void* to) {
  auto* rows = static_cast<Rows*>(to);
  try {
    rows->done.push_back(std::move(rows->row));
  } catch (...) {
    rows->error = std::current_exception();
  }
  rows->row.clear();
}
int no_space(unsigned char) { return 0; }

struct Parser {
  csv_parser p;
  Parser() {
    if (csv_init(&p, CSV_STRICT | CSV_STRICT_FINI) != 0) {
      throw Error("[csv] out of memory", Code::kOutOfMemory);
    }
  }
  ~Parser() { csv_free(&p); }
};

}  // namespace

std::vector<std::vector<std::string>> parse_csv(Span<const uint8_t> bytes, const std::string& name,
                                                char delimiter) {
  Parser parser;
  csv_set_delim(&parser.p, static_cast<unsigned char>(delimiter));
  csv_set_space_func(&parser.p, no_space);  // by RFC 4180 blanks belong to the field
  Rows rows;
  size_t used = csv_parse(&parser.p, bytes.data(), bytes.size(), on_field, on_row, &rows);
  bool open_quote = used == bytes.size() && csv_fini(&parser.p, on_field, on_row, &rows) != 0;
  if (rows.error) std::rethrow_exception(rows.error);
  if (used != bytes.size() || open_quote) {
    throw Error("[csv] " + name + ": row " + std::to_string(rows.done.size()) + ", field " +
                    std::to_string(rows.row.size()) +
                    (open_quote ? ": a quoted field without an end"
                                : ": a quote in the middle of a field (quote the field, and "
                                  "double the quotes in it)"),
                Code::kIo);
  }
  return std::move(rows.done);
}

}  // namespace wick::data
