// CSV: columns by name, their types, missing values, quotes, and errors with row and column.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "trainer/data/csv_table.h"

namespace wick {
namespace {

using namespace data;  // NOLINT: a test
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Csv : public test::Folder {
 protected:
  CsvTable read(const std::string& text, const CsvOptions& options = {}) const {
    return read_csv(write("t.csv", text), options);
  }
  std::string refusal(const std::string& text, const CsvOptions& options = {}) const {
    return error_of([&] { read(text, options); });
  }
};

TEST_F(Csv, TypesAreGuessedAsPandasDoes) {
  CsvTable t = read(
      "\xEF\xBB\xBFid,height,age,alive,name\r\n"
      "1,1.5,30,true,Ann\r\n"
      "2,-2e3,,False,\"Bob, \"\"the\"\" B\"\r\n"
      "\r\n"
      "3, NaN ,41,TRUE,\"two\nlines\"\r\n");
  EXPECT_EQ(t.rows(), 3);
  EXPECT_EQ(t.columns(), (std::vector<std::string>{"id", "height", "age", "alive", "name"}));
  EXPECT_EQ(t.dtype("id"), DType::kI64);
  EXPECT_EQ(t.dtype("height"), DType::kF64);
  EXPECT_EQ(t.dtype("age"), DType::kF64);  // whole numbers with a gap
  EXPECT_EQ(t.dtype("alive"), DType::kBool);
  EXPECT_EQ(t.dtype("name"), DType::kString);
  EXPECT_EQ(t.column("id").to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(t.column("alive").to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(t.text("name"), (std::vector<std::string>{"Ann", "Bob, \"the\" B", "two\nlines"}));
  Tensor x = t.columns({"height", "id"});
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
  std::vector<float> v = x.to_vector<float>();
  EXPECT_EQ(v[0], 1.5f);
  EXPECT_EQ(v[2], -2000.0f);
  EXPECT_TRUE(std::isnan(v[4]));
  EXPECT_EQ(v[5], 3.0f);
}

TEST_F(Csv, CategoriesAreSorted) {
  CsvTable t = read("c\nred\nblue\nNA\nred\ngreen\n");
  std::vector<std::string> values;
  EXPECT_EQ(t.categories("c", values).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, -1, 2, 1}));
  EXPECT_EQ(values, (std::vector<std::string>{"blue", "green", "red"}));
}

TEST_F(Csv, OptionsAreKept) {
  CsvOptions o;
  o.delimiter = ';';
  o.header = false;
  o.missing = {"?"};
  o.dtypes["1"] = DType::kString;
  CsvTable t = read("1;2\n?;+3\n", o);
  EXPECT_EQ(t.columns(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(t.text("1")[1], "+3");
  EXPECT_TRUE(std::isnan(t.column("0").to_vector<double>()[1]));
  EXPECT_EQ(read("x\n+3\n-4").column("x").to_vector<int64_t>(), (std::vector<int64_t>{3, -4}));
  EXPECT_EQ(read("x\n9223372036854775807\n").column("x").to_vector<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(read("x\n9223372036854775808\n").dtype("x"), DType::kF64);
  EXPECT_EQ(read("x,y\n").rows(), 0);
}

TEST_F(Csv, LongNamesAreShortened) {
  const std::string name(20000, 'x');
  for (const std::string& text : {name + "," + name + "\n1,2\n", name + "\n1\n"}) {
    const std::string file = write("long.csv", text);
    const std::string said = error_of([&] { read_csv(file).column("y"); });
    EXPECT_THAT(said, HasSubstr("xxx"));
    EXPECT_LT(said.size(), 500u);
  }
}

TEST_F(Csv, ErrorsNameRowAndColumn) {
  EXPECT_THAT(refusal("a,b\n1,2\n3\n"), HasSubstr("t.csv: row 2 has 1 fields, the first one 2"));
  EXPECT_THAT(refusal("a,b\n1,2,3\n"), HasSubstr("row 1 has 3 fields"));
  CsvOptions o;
  o.dtypes["b"] = DType::kI64;
  EXPECT_THAT(refusal("a,b\n1,2\n3,x7\n", o),
              HasSubstr("t.csv: row 2, column 'b': 'x7' is no whole number"));
  EXPECT_THAT(refusal("a,b\n1,\n", o), HasSubstr("row 1, column 'b': a missing value"));
  o.dtypes["z"] = DType::kI64;
  EXPECT_THAT(refusal("a,b\n1,2\n", o), HasSubstr("no column 'z'"));
  EXPECT_THAT(refusal("a,a\n1,2\n"), HasSubstr("two columns are named 'a'"));
  EXPECT_THAT(refusal("a\n\"open\n1\n"),
              HasSubstr("row 1, field 0: a quoted field without an end"));
  EXPECT_THAT(refusal("a,b\n1,x\"y\n"), HasSubstr("row 1, field 1: a quote in the middle"));
  EXPECT_THAT(refusal(""), HasSubstr("no rows"));
  EXPECT_THAT(error_of([&] { read_csv(path("none.csv")); }), HasSubstr("cannot open"));
  CsvTable t = read("a,b,c\n1,x,\n2.5,y,3\n");
  EXPECT_THAT(error_of([&] {
                t.columns({"a", "d"});
              }),
              AllOf(HasSubstr("has no column 'd'; it has a, b, c"), HasSubstr("csv_test.cc:")));
  EXPECT_THAT(error_of([&] { t.column("b"); }), HasSubstr("row 1, column 'b': 'x' is no number"));
  EXPECT_THAT(error_of([&] { t.columns({"a"}, DType::kI64); }),
              HasSubstr("row 2, column 'a': '2.5' is no whole number"));
  EXPECT_THAT(error_of([&] { t.columns({"c"}, DType::kI64); }),
              HasSubstr("row 1, column 'c': a missing value"));
}

}  // namespace
}  // namespace wick
