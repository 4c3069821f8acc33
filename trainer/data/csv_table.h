// CSV files as columns of one type each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;  // false: columns are named "0", "1" ...
  // Fields that are missing values: pandas' own, exactly so.
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a"};
  // Columns whose type is not guessed: int64, float64, bool, or kString for text.
  std::map<std::string, DType> dtypes = {};
  int64_t max_file_bytes = int64_t{1} << 30;
};

class CsvTable {
 public:
  int64_t rows() const { return rows_; }
  const std::vector<std::string>& columns() const { return names_; }
  // int64, float64, bool or kString. Guessed: whole numbers are int64, or float64 where values are
  // missing; other numbers float64; true and false (any of the usual spellings) bool; else text.
  DType dtype(const std::string& column, Where where = Where::current()) const;

  // [rows], of the column's type; missing values are NaN. Of text: an Error that says so.
  Tensor column(const std::string& name, Where where = Where::current()) const;
  // [rows, names], all of one type. A missing value is NaN, in an integer type an Error.
  Tensor columns(const std::vector<std::string>& names, DType dtype = DType::kF32,
                 Where where = Where::current()) const;
  const std::vector<std::string>& text(const std::string& name,
                                       Where where = Where::current()) const;
  // The column's different values, sorted, and for every row its place among them, int64 [rows];
  // -1 where it is missing.
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

// UTF-8, quoted fields as RFC 4180 has them. Errors name the file, the row (the first below the
// header is 1; 0 is the header) and the column. Needs libcsv.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace wick::data
