#include "trainer/data/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "trainer/data/csv_rows.h"
#include "trainer/data/image/image_file.h"

namespace wick::data {
namespace {

std::string trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <class T>
bool parse(const std::string& text, T& value) {
  const char* first = text.data();
  const char* last = first + text.size();
  // from_chars does not accept a plus sign.
  if (text.size() > 1 && *first == '+' && text[1] != '-' && text[1] != '+') ++first;
  auto [end, error] = std::from_chars(first, last, value);
  return error == std::errc() && end == last && first != last;
}
bool parse(const std::string& text, bool& value) {
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  value = lower == "true";
  return value || lower == "false";
}

bool fits(const std::string& text, DType dtype) {
  bool b;
  int64_t i;
  double d;
  switch (dtype) {
    case DType::kBool: return parse(text, b);
    case DType::kI64: return parse(text, i);
    case DType::kF64: return parse(text, d);
    default: return true;
  }
}
std::string quoted(const std::string& text) {
  std::string q(1, '\'');
  q.append(text, 0, 40);
  q.push_back('\'');
  return q;
}
const char* kind_of(DType dtype) {
  return dtype == DType::kBool  ? "bool (true, false)"
         : dtype == DType::kI64 ? "whole number"
                                : "number";
}

DType guess(const std::vector<std::string>& text, const std::vector<bool>& missing) {
  bool any = false, gaps = false;
  bool type_fits[3] = {true, true, true};
  constexpr DType kTypes[3] = {DType::kBool, DType::kI64, DType::kF64};
  for (size_t i = 0; i < text.size(); ++i) {
    if (missing[i]) {
      gaps = true;
      continue;
    }
    any = true;
    for (int t = 0; t < 3; ++t) type_fits[t] = type_fits[t] && fits(text[i], kTypes[t]);
  }
  if (!any) return DType::kF64;  // as pandas does for a column without values
  if (type_fits[0] && !gaps) return DType::kBool;
  if (type_fits[1] && !gaps) return DType::kI64;
  return type_fits[1] || type_fits[2] ? DType::kF64 : DType::kString;
}

}  // namespace

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r') {
    throw Error("[csv] the delimiter cannot be a quote or a line end");
  }
  std::vector<uint8_t> bytes = read_file("csv", path, options.max_file_bytes);
  size_t bom =
      bytes.size() >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0;
  auto rows = parse_csv({bytes.data() + bom, bytes.size() - bom}, path, options.delimiter);
  auto fail = [&](const std::string& text) {
    throw Error("[csv] " + path + ": " + text, Code::kIo);
  };
  if (rows.empty()) fail("no rows");
  CsvTable table;
  table.path_ = path;
  size_t width = rows[0].size(), first = options.header ? 1 : 0;
  for (size_t c = 0; c < width; ++c) {
    table.names_.push_back(options.header ? trimmed(rows[0][c]) : std::to_string(c));
  }
  std::set<std::string> seen;
  for (const std::string& name : table.names_) {
    if (!seen.insert(name).second) fail("two columns are named " + quoted(name));
  }
  for (const auto& [name, dtype] : options.dtypes) {
    if (!seen.contains(name)) fail("no column '" + name + "', whose dtype is given");
    if (dtype != DType::kI64 && dtype != DType::kF64 && dtype != DType::kBool &&
        dtype != DType::kString) {
      fail("column '" + name + "' cannot be " + dtype_name(dtype) +
           ": int64, float64, bool and string are read");
    }
  }
  auto row_name = [&](size_t r) { return "row " + std::to_string(r + 1 - first); };
  for (size_t r = first; r < rows.size(); ++r) {
    if (rows[r].size() != width) {
      fail(row_name(r) + " has " + std::to_string(rows[r].size()) + " fields, the first one " +
           std::to_string(width));
    }
  }
  table.rows_ = static_cast<int64_t>(rows.size() - first);
  table.columns_.resize(width);
  for (size_t c = 0; c < width; ++c) {
    CsvTable::Column& column = table.columns_[c];
    auto given = options.dtypes.find(table.names_[c]);
    std::vector<std::string> plain;  // trimmed, for numbers
    for (size_t r = first; r < rows.size(); ++r) {
      plain.push_back(trimmed(rows[r][c]));
      column.missing.push_back(std::find(options.missing.begin(), options.missing.end(),
                                         plain.back()) != options.missing.end());
      column.text.push_back(std::move(rows[r][c]));
    }
    column.dtype = given != options.dtypes.end() ? given->second : guess(plain, column.missing);
    if (column.dtype == DType::kString) continue;
    for (size_t r = 0; r < plain.size(); ++r) {
      bool gap = column.missing[r];
      if (gap ? column.dtype != DType::kF64 : !fits(plain[r], column.dtype)) {
        fail(row_name(r + first) + ", column " + quoted(table.names_[c]) + ": " +
             (gap ? std::string("a missing value") : quoted(plain[r])) + " is no " +
             kind_of(column.dtype));
      }
      double real = std::numeric_limits<double>::quiet_NaN();
      int64_t whole = 0;
      bool truth = false;
      if (column.dtype == DType::kF64) {
        if (!gap) parse(plain[r], real);
        column.real.push_back(real);
      } else {
        if (column.dtype == DType::kBool) {
          parse(plain[r], truth);
          whole = truth;
        } else {
          parse(plain[r], whole);
        }
        column.whole.push_back(whole);
      }
    }
  }
  return table;
}

const CsvTable::Column& CsvTable::find(const std::string& name, const Where& where) const {
  std::string known;
  for (size_t c = 0; c < names_.size(); ++c) {
    if (names_[c] == name) return columns_[c];
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + names_[c].substr(0, 40);
  }
  throw_error("csv", path_ + " has no column " + quoted(name) + "; it has " + known, where,
              Code::kNotFound);
}

DType CsvTable::dtype(const std::string& column, Where where) const {
  return find(column, where).dtype;
}

const std::vector<std::string>& CsvTable::text(const std::string& name, Where where) const {
  return find(name, where).text;
}

Tensor CsvTable::column(const std::string& name, Where where) const {
  DType dtype = find(name, where).dtype;
  if (dtype == DType::kString) dtype = DType::kF64;  // leads to an error that says what is wrong
  return columns({name}, dtype, where).reshape({rows_});
}

Tensor CsvTable::columns(const std::vector<std::string>& names, DType dtype, Where where) const {
  auto width = static_cast<int64_t>(names.size());
  bool real = dtype == DType::kF32 || dtype == DType::kF64;
  Tensor values = empty({rows_, width}, real ? DType::kF64 : DType::kI64);
  for (int64_t c = 0; c < width; ++c) {
    const Column& column = find(names[static_cast<size_t>(c)], where);
    auto refuse = [&](int64_t row, const std::string& what) {
      throw_error("csv",
                  path_ + ": row " + std::to_string(row + 1) + ", column '" +
                      names[static_cast<size_t>(c)] + "': " + what,
                  where, Code::kTypeMismatch);
    };
    for (int64_t r = 0; r < rows_; ++r) {
      auto at = static_cast<size_t>(r);
      if (column.dtype == DType::kString) {
        double value;
        bool number = column.missing[at] || parse(trimmed(column.text[at]), value);
        if (!number) refuse(r, quoted(column.text[at]) + " is no number");
        if (r + 1 == rows_) refuse(0, "the column is text; categories() numbers it");
        continue;
      }
      double x =
          column.dtype == DType::kF64 ? column.real[at] : static_cast<double>(column.whole[at]);
      if (real) {
        static_cast<double*>(values.raw().data)[r * width + c] = x;
        continue;
      }
      int64_t whole = 0;
      if (column.dtype != DType::kF64) {
        whole = column.whole[at];
      } else if (std::isnan(x)) {
        refuse(r, "a missing value is no whole number");
      } else if (x != std::floor(x) || std::fabs(x) > 9e15) {
        refuse(r, quoted(trimmed(column.text[at])) + " is no whole number");
      } else {
        whole = static_cast<int64_t>(x);
      }
      static_cast<int64_t*>(values.raw().data)[r * width + c] = whole;
    }
  }
  return values.to(dtype, where);
}

Tensor CsvTable::categories(const std::string& name, std::vector<std::string>& values,
                            Where where) const {
  const Column& column = find(name, where);
  std::set<std::string> sorted;
  for (size_t r = 0; r < column.text.size(); ++r) {
    if (!column.missing[r]) sorted.insert(column.text[r]);
  }
  values.assign(sorted.begin(), sorted.end());
  std::vector<int64_t> codes;
  for (size_t r = 0; r < column.text.size(); ++r) {
    auto at = std::lower_bound(values.begin(), values.end(), column.text[r]);
    codes.push_back(column.missing[r] ? -1 : at - values.begin());
  }
  return tensor(codes, where);
}

}  // namespace wick::data
