// Warnings: which shapes of a loss are suspicious; each line warns once.
#include <gtest/gtest.h>

#include "trainer/explain/warn.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

TEST(Warn, LossOfColumnAndRow) {
  CollectWarnings collected;
  Tensor y = ones({8}), t = ones({8, 1});
#line 100 "train.cpp"
  Tensor loss = mse_loss(y, t);
#line 17 "warn_test.cc"
  ASSERT_EQ(collected.warnings().size(), 1U);
  EXPECT_EQ(collected.warnings()[0].code, "silent-broadcast");
  EXPECT_EQ(collected.warnings()[0].text,
            "[mse_loss] input [8] and target [8,1] differ and are broadcast to [8,8]: each of 8 "
            "inputs is compared with each of 8 targets. (Rule: shapes are aligned at their last "
            "dimension; a missing or 1-sized dimension is repeated.) Give both one shape: "
            "target.reshape({8}) (train.cpp:100)");
}

TEST(Warn, OneSideRepeated) {
  CollectWarnings collected;
  mse_loss(ones({4, 3}), ones({3}));
  ASSERT_EQ(collected.warnings().size(), 1U);
  EXPECT_NE(collected.text().find("the target is repeated"), std::string::npos);
  EXPECT_NE(collected.text().find("expand({4, 3}) the smaller one"), std::string::npos);
}

TEST(Warn, EqualShapesAndConstantsAreFine) {
  CollectWarnings collected;
  mse_loss(ones({4, 3}), ones({4, 3}));
  mse_loss(ones({4, 3}), ones({}));
  EXPECT_EQ(collected.text(), "");
}

TEST(Warn, ShapesThatDoNotFitAreAnErrorOnly) {
  CollectWarnings collected;
  EXPECT_THROW(mse_loss(ones({4, 3}), ones({5})), Error);
  EXPECT_EQ(collected.text(), "");
}

TEST(Warn, OnceALine) {
  CollectWarnings collected;
  for (int i = 0; i < 5; ++i) mse_loss(ones({2}), ones({2, 1}));
  mse_loss(ones({2}), ones({2, 1}));
  EXPECT_EQ(collected.warnings().size(), 2U);
}

TEST(Warn, TheFormerHandlerComesBack) {
  CollectWarnings outer;
  {
    CollectWarnings inner;
    warn("kind", "op", "text");
    EXPECT_EQ(inner.warnings().size(), 1U);
  }
  EXPECT_EQ(outer.warnings().size(), 0U);
  warn("kind", "op", "text");
  EXPECT_EQ(outer.warnings().size(), 1U);
}

}  // namespace
}  // namespace wick
