// Indexing beyond values (which tests/functions/index.cc compares with PyTorch): texts of errors,
// which results are views and which are copies, writes through indices, duplicates, aliasing.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using namespace wick::indexing;  // NOLINT: Slice, None, Ellipsis

std::string text_of(const std::function<void()>& f) {
  std::string all = test::error_of(f);
  return all.substr(0, all.find(" (indexing_test.cc"));
}

TEST(Indexing, OutOfBoundsNamesIndexDimensionAndSize) {
  Tensor x = zeros({3, 4});
  EXPECT_EQ(text_of([&] { x.index({5}); }),
            "[index] index 5 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(text_of([&] {
              x.index({0, -5});
            }),
            "[index] index -5 is out of bounds for dimension 1 with size 4");
  EXPECT_EQ(text_of([&] {
              x.index({Slice(), tensor<int64_t>({0, 4})});
            }),
            "[index] index 4 is out of bounds for dimension 1 with size 4");
  EXPECT_EQ(text_of([&] { x.index_put_({tensor<int64_t>({-4})}, 1); }),
            "[index_put_] index -4 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(text_of([&] { index_select(x, 1, tensor<int64_t>({7})); }),
            "[index_select] index 7 is out of bounds for dimension 1 with size 4");
  EXPECT_EQ(text_of([&] { gather(x, 0, tensor<int64_t>({{3}})); }),
            "[gather] index 3 is out of bounds for dimension 0 with size 3");
}

TEST(Indexing, ErrorsNameTheLineAndWhatToDo) {
  Tensor x = zeros({3, 4});
  EXPECT_NE(test::error_of([&] { x.index({5}); }).find("indexing_test.cc:"), std::string::npos);
  EXPECT_NE(test::error_of([&] { x[5]; }).find("indexing_test.cc:"), std::string::npos);
  EXPECT_EQ(text_of([&] { x.index({zeros({2})}); }),
            "[index] index tensors must be int64, int32, uint8 or bool, got float32: call "
            ".to(DType::kI64)");
  EXPECT_EQ(text_of([&] { x.index({zeros({4}, DType::kBool)}); }),
            "[index] the shape of the mask [4] at dimension 0 does not match the shape of the "
            "indexed tensor [3,4] at dimension 0");
  EXPECT_EQ(text_of([&] {
              x.index({0, 0, 0});
            }),
            "[index] too many indices (3) for a tensor of dimension 2, [3,4]");
  EXPECT_EQ(text_of([&] {
              x.index({Ellipsis, "..."});
            }),
            "[index] an index can have one Ellipsis only");
  EXPECT_EQ(text_of([&] { x.index({Slice(None, None, -1)}); }),
            "[index] the step of a slice must be positive, got -1: flip() reverses a dimension");
  EXPECT_EQ(text_of([&] {
              x.index({tensor<int64_t>({0, 1}), tensor<int64_t>({0, 1, 2})});
            }),
            "[index] index tensors of shapes [2] and [3] do not broadcast together");
  EXPECT_EQ(text_of([&] {
              x.at({Slice(), 1}) = ones({4});
            }),
            "[index_put_] a value of shape [4] does not broadcast to the indexed shape [3]");
  EXPECT_EQ(text_of([&] { arange(3).at({0}) /= 2; }),
            "[index_put_] result type float32 can't be cast to the desired output type int64");
}

TEST(Indexing, BasicIndicesAreViewsAdvancedOnesCopies) {
  Tensor x = arange(12).reshape({3, 4});
  Tensor row = x[1], block = x.index({Slice(0, 2), Slice(None, None, 2)});
  EXPECT_EQ(&row.storage(), &x.storage());
  EXPECT_EQ(&block.storage(), &x.storage());
  EXPECT_NE(&x.index({tensor<int64_t>({1})}).storage(), &x.storage());
  x.at({1, 2}) = 100;
  EXPECT_EQ(row[2].item_int(), 100);
  block.fill_(-1);
  EXPECT_EQ((x[{0, 2}].item_int()), -1);
  EXPECT_EQ((x[{1, 1}].item_int()), 5);
}

TEST(Indexing, WritesThroughPlacesReachTheTensor) {
  Tensor x = zeros({3, 4}, DType::kF64);
  x[0] = 1;
  x[1] = x[0];
  x[{2, Slice(1, 3)}] = {5, 6};
  x.at({Slice(), 0}) += 10;
  x[1][3] -= 4;
  x.at({tensor<int64_t>({0, 2}), tensor<int64_t>({3, 3})}) = tensor({7., 8.}, DType::kF64);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{11, 1, 1, 7, 11, 1, 1, -3, 10, 5, 6, 8}));
  Tensor t = x.at({0});
  EXPECT_EQ(t.to_vector<double>(), (std::vector<double>{11, 1, 1, 7}));
}

TEST(Indexing, DuplicatesAddUpOnlyWhenAccumulated) {
  Tensor twice = tensor<int64_t>({1, 1, 0});
  Tensor x = zeros({3}, DType::kF64);
  x.at({twice}) += 1;
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 1, 0}));
  x.index_put_({twice}, tensor({1., 2., 4.}, DType::kF64), true);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{5, 4, 0}));
  x.index_put_({twice}, tensor({1., 2., 4.}, DType::kF64));  // the last wins
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{4, 2, 0}));
}

TEST(Indexing, ValuesAndIndicesMayLieInTheTensorItself) {
  Tensor x = arange(4);
  x.index_put_({x}, flip(x, {0}));
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{3, 2, 1, 0}));
  Tensor y = arange(4);
  y.at({Slice(1, 4)}) = y.index({Slice(0, 3)});
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 1, 2}));
  Tensor z = arange(4);
  z.at({tensor<int64_t>({1, 2, 3})}) = z.index({Slice(0, 3)});
  EXPECT_EQ(z.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 1, 2}));
}

TEST(Indexing, AFailedWriteLeavesTheTensorAlone) {
  Tensor x = arange(6).reshape({3, 2});
  uint32_t version = x.version();
  EXPECT_NE(test::error_of([&] { x.index_put_({tensor<int64_t>({0, 3})}, 9); }), "no error");
  EXPECT_NE(test::error_of([&] { x.index_put_({Slice()}, zeros({3, 3})); }), "no error");
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(x.version(), version);
}

TEST(Indexing, WritesRaiseTheVersion) {
  Tensor x = zeros({3, 2});
  uint32_t version = x.version();
  x.index_put_({tensor<int64_t>({0})}, 1);
  EXPECT_GT(x.version(), version);
}

TEST(Indexing, EmbeddingGivesThePaddingRowNoGradient) {
  Tensor w = ones({4, 2}, DType::kF64);
  w.requires_grad_();
  embedding(tensor<int64_t>({3, 0, 3, 0}), w, 3).sum().backward();
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{2, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(text_of([&] { embedding(tensor<int64_t>({4}), w); }),
            "[embedding] index 4 at [0] is out of range for a weight of 4 rows");
}

}  // namespace
}  // namespace wick
