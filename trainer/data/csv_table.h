// CSV files as tables of columns, each of one type.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// Options of CsvTable.
struct CsvOptions {
  char delimiter = ',';  // between two fields
  bool header = true;    // false: columns are named "0", "1" ...
  // Fields that are missing values, compared exactly; these are pandas' own.
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a"};
  // Columns whose type is given instead of guessed: int64, float64, bool, or kString for text.
  std::map<std::string, DType> dtypes = {};
  int64_t max_file_bytes = int64_t{1} << 30;  // a larger file is an Error
};

// A table of columns, read from a CSV file (RFC 4180).
class CsvTable {
 public:
  // Return the number of rows, and the names of the columns.
  int64_t rows() const { return rows_; }
  const std::vector<std::string>& columns() const { return names_; }
  // Returns int64, float64, bool or kString. The guess: integers are int64, or float64 if values
  // are missing; other numbers are float64; true and false (in any of the usual spellings) bool;
  // anything else is text.
  DType dtype(const std::string& column, Where where = Where::current()) const;

  // Returns [rows] of the column's type; missing values are NaN. For a text column it throws Error.
  Tensor column(const std::string& name, Where where = Where::current()) const;
  // Returns [rows, names] of one type. A missing value is NaN, or an Error for an integer type.
  Tensor columns(const std::vector<std::string>& names, DType dtype = DType::kF32,
                 Where where = Where::current()) const;
  // Returns the fields of a column as the file has them, one for each row. Throws Error for an
  // unknown name.
  const std::vector<std::string>& text(const std::string& name,
                                       Where where = Where::current()) const;
  // Sets `values` to the column's distinct values, sorted, and returns the index of every row's
  // value, int64 [rows]; -1 for missing values.
  Tensor categories(const std::string& name, std::vector<std::string>& values,
                    Where where = Where::current()) const;

 private:
  friend CsvTable read_csv(const std::string& path, const CsvOptions& options);
  struct Column {
    DType dtype = DType::kString;
    std::vector<std::string> text;
    std::vector<bool> missing;
    std::vector<double> real;
    std::vector<int64_t> whole;
  };
  const Column& find(const std::string& name, const Where& where) const;

  std::string path_;
  int64_t rows_ = 0;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
};

// Reads UTF-8 with quoted fields by RFC 4180. Errors name the file, the row (the first one after
// the header is 1; the header is 0) and the column. Needs libcsv.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace wick::data
