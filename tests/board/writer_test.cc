// Event files, read back by a reader of the tests' own.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <ctime>
#include <limits>

#include "tests/board/event_reader.h"
#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "trainer/board/event_file.h"
#include "trainer/board/summary_writer.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/image_grid.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

using board::SummaryWriter;
using test::contents;
using test::error_of;
using test::event_files;
using test::events_of;
using test::Fields;
using test::records_of;
using test::series;
using test::value_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Board : public test::Folder {};

Tensor noise(const SizeList& shape) {
  Generator g{3, 0};
  return rand(shape, DType::kF32, g);
}

TEST(Crc32c, IsTheStandards) {
  // RFC 3720, B.4.
  EXPECT_EQ(board::crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(board::crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  EXPECT_EQ(board::crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(board::crc32c("", 0), 0u);
}

TEST_F(Board, FilesAreNamedAndBeginAsTensorBoardExpects) {
  SummaryWriter writer(path("a/b")), other(path("a/b"), {.suffix = ".mine"});
  const std::vector<std::string> files = event_files(path("a/b"));
  ASSERT_EQ(files.size(), 2u);
  for (const std::string& file : files) {
    EXPECT_THAT(file.substr(path("a/b").size() + 1),
                MatchesRegex("events\\.out\\.tfevents\\.[0-9]{10,}\\..+\\." +
                             std::to_string(getpid()) + "\\.[0-9]+(\\.mine)?"));
    // At once, so that a folder shows before anything was added.
    const Fields first(records_of(contents(file)).at(0));
    EXPECT_EQ(first.text(3), "brain.Event:2");
    EXPECT_NEAR(first.real(1), static_cast<double>(std::time(nullptr)), 100);
  }
  EXPECT_TRUE(other.path().ends_with(".mine"));
}

TEST_F(Board, Scalars) {
  SummaryWriter writer(folder_);
  writer.add_scalar("loss/train", 0.1, 1);
  writer.add_scalar("loss/train", -2.5e-30, int64_t{1} << 40);
  writer.add_scalar("loss/train", std::numeric_limits<double>::infinity(), -1);
  writer.add_scalar("größe", 3, 0);
  writer.close();
  const std::vector<Fields> events = events_of(folder_);
  EXPECT_EQ(
      series(events, "loss/train"),
      (std::map<int64_t, float>{
          {-1, std::numeric_limits<float>::infinity()}, {1, 0.1f}, {int64_t{1} << 40, -2.5e-30f}}));
  EXPECT_EQ(series(events, "größe"), (std::map<int64_t, float>{{0, 3.0f}}));
}

TEST_F(Board, SeveralScalarsHaveFoldersOfTheirOwn) {
  SummaryWriter writer(folder_);
  for (int64_t step : {1, 2}) {
    writer.add_scalars("run/loss", {{"train", step * 0.5}, {"val", step * 2.0}}, step);
  }
  writer.flush();
  EXPECT_EQ(series(events_of(path("run_loss_train")), "run/loss"),
            (std::map<int64_t, float>{{1, 0.5f}, {2, 1.0f}}));
  EXPECT_EQ(series(events_of(path("run_loss_val")), "run/loss"),
            (std::map<int64_t, float>{{1, 2.0f}, {2, 4.0f}}));
}

TEST_F(Board, HistogramsHaveTorchsBuckets) {
  const Tensor values = tensor({-3.0f, 0.0f, 0.0f, 1e-13f, 0.5f, 0.5f, 2e21f});
  SummaryWriter writer(folder_);
  writer.add_histogram("h", values, 4);
  writer.add_histogram("one", ones({2, 3}, DType::kI32), 5);
  const float nan = std::nanf("");
  writer.add_histogram("nan", tensor({nan, 1.0f, nan}), 6);
  writer.close();
  const std::vector<Fields> events = events_of(folder_);
  const Fields h = value_of(events.at(0)).message(5);
  EXPECT_EQ(events[0].integer(2), 4);
  EXPECT_EQ(h.real(1), -3);
  EXPECT_EQ(h.real(2), double{2e21f});
  EXPECT_EQ(h.real(3), 7);
  EXPECT_EQ(h.real(4), -3 + double{1e-13f} + 1 + double{2e21f});
  EXPECT_EQ(h.real(5), 9 + 0.5 + double{2e21f} * double{2e21f});
  const std::vector<double> limits = h.reals(6), counts = h.reals(7);
  ASSERT_EQ(limits.size(), counts.size());
  // One bucket without anything, then each value in the bucket whose upper limit is the first
  // above.
  std::vector<double> want(limits.size());
  for (double x : {-3.0, 0.0, 0.0, double{1e-13f}, 0.5, 0.5}) {
    ++want[static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), x) - limits.begin())];
  }
  ++want.back();  // beyond the last limit
  EXPECT_EQ(counts, want);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[1], 1);
  EXPECT_LE(limits[0], -3);
  EXPECT_GT(limits[1], -3);
  for (size_t i = 1; i < limits.size(); ++i) {
    EXPECT_LT(limits[i - 1], limits[i]);
    if (limits[i - 1] > 0) {
      EXPECT_NEAR(limits[i] / limits[i - 1], 1.1, 1e-12);
    }
  }
  EXPECT_EQ(*std::upper_bound(limits.begin(), limits.end(), 0.0), 1e-12);
  const Fields one = value_of(events.at(1)).message(5);
  EXPECT_EQ(one.reals(7), (std::vector<double>{0, 6}));
  EXPECT_LE(one.reals(6)[0], 1);
  EXPECT_GT(one.reals(6)[1], 1);
  EXPECT_EQ(value_of(events.at(2)).message(5).real(3), 1);
}

TEST_F(Board, ImagesArePngs) {
  const Tensor color = noise({3, 5, 7}), grey = noise({4, 6});
  SummaryWriter writer(folder_);
  writer.add_image("color", color, 1);
  writer.add_image("grey", grey, 1);
  writer.add_image("bytes", data::to_bytes(color), 1);
  writer.close();
  const std::vector<Fields> events = events_of(folder_);
  auto image = [&](size_t at, int64_t height, int64_t width) {
    const Fields f = value_of(events.at(at)).message(4);
    EXPECT_EQ(f.integer(1), height);
    EXPECT_EQ(f.integer(2), width);
    EXPECT_EQ(f.integer(3), 3);
    const std::string png = f.text(4);
    return data::decode_image({reinterpret_cast<const uint8_t*>(png.data()), png.size()}, "png",
                              {.mode = data::ImageMode::kUnchanged})
        .to_vector<uint8_t>();
  };
  EXPECT_EQ(image(0, 5, 7), data::to_bytes(color).to_vector<uint8_t>());
  EXPECT_EQ(image(1, 4, 6), data::to_bytes(data::make_grid(grey)).to_vector<uint8_t>());
  EXPECT_EQ(image(2, 5, 7), image(0, 5, 7));
}

TEST_F(Board, Texts) {
  SummaryWriter writer(folder_);
  writer.add_text("notes", "# Größe\n\nof *all*", 9);
  writer.add_text("notes", "", 10);
  writer.close();
  const Fields value = value_of(events_of(folder_).at(0));
  EXPECT_EQ(value.text(1), "notes/text_summary");
  EXPECT_EQ(value.message(9).message(1).text(1), "text");
  EXPECT_EQ(value.message(8).integer(1), 7);  // DT_STRING
  EXPECT_EQ(value.message(8).message(2).message(2).integer(1), 1);
  EXPECT_EQ(value.message(8).text(8), "# Größe\n\nof *all*");
}

TEST_F(Board, Hyperparameters) {
  SummaryWriter writer(folder_);
  writer.add_hparams({{"lr", 0.5}, {"layers", 3}, {"model", "lenet"}, {"bias", true}},
                     {{"accuracy", 0.75}}, "first");
  const std::vector<Fields> events = events_of(path("first"));
  ASSERT_EQ(events.size(), 4u);
  auto plugin = [&](size_t at) { return value_of(events[at]).message(9).message(1); };
  EXPECT_EQ(value_of(events[0]).text(1), "_hparams_/experiment");
  EXPECT_EQ(plugin(0).text(1), "hparams");
  const Fields experiment = Fields(plugin(0).text(2)).message(2);
  std::map<std::string, int64_t> types;
  for (const auto& info : experiment.list(4)) {
    types[Fields(info.bytes).text(1)] = Fields(info.bytes).integer(4);
  }
  EXPECT_EQ(types,
            (std::map<std::string, int64_t>{{"lr", 3}, {"layers", 3}, {"model", 1}, {"bias", 2}}));
  EXPECT_EQ(experiment.message(5).message(1).text(2), "accuracy");
  std::map<std::string, std::string> values;
  for (const auto& entry : Fields(plugin(1).text(2)).message(3).list(1)) {
    const Fields v = Fields(entry.bytes).message(2);
    values[Fields(entry.bytes).text(1)] = v.has(3)            ? v.text(3)
                                          : v.has(2)          ? std::to_string(v.real(2))
                                          : v.integer(4) != 0 ? "true"
                                                              : "false";
  }
  EXPECT_EQ(values,
            (std::map<std::string, std::string>{
                {"lr", "0.500000"}, {"layers", "3.000000"}, {"model", "lenet"}, {"bias", "true"}}));
  EXPECT_EQ(Fields(plugin(2).text(2)).message(4).integer(1), 1);  // success
  EXPECT_EQ(series(events, "accuracy"), (std::map<int64_t, float>{{0, 0.75f}}));
}

TEST_F(Board, WhatWasFlushedIsThereWhole) {
  SummaryWriter writer(folder_);
  auto count = [&] { return records_of(contents(writer.path())).size(); };
  writer.add_scalar("a", 1, 1);
  EXPECT_EQ(count(), 1u);  // the version
  writer.flush();
  EXPECT_EQ(count(), 2u);
  // Much is written without a flush, whole records alone.
  for (int64_t step = 0; step < 200; ++step) writer.add_text("t", std::string(10000, 'x'), step);
  EXPECT_GT(count(), 100u);
  EXPECT_LT(count(), 202u);
  {
    SummaryWriter eager(path("eager"), {.flush_seconds = 0});
    eager.add_scalar("a", 1, 1);
    EXPECT_EQ(events_of(path("eager")).size(), 1u);
    SummaryWriter dropped(path("dropped"));
    dropped.add_scalar("a", 1, 1);
  }
  EXPECT_EQ(events_of(path("dropped")).size(), 1u);
}

TEST_F(Board, PurgesForWhoGoesOn) {
  SummaryWriter writer(folder_, {.purge_step = 7});
  const std::vector<Fields> events = events_of(folder_);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].integer(2), 7);
  EXPECT_EQ(events[0].message(7).integer(1), 1);  // SessionLog's START
}

TEST_F(Board, AFullDiskIsAnErrorThatNamesTheFile) {
  SummaryWriter writer(folder_);
  writer.add_scalar("a", 1, 1);
  writer.flush();
  const std::string before = contents(writer.path());
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = before.size() + 20;  // within a record
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  writer.add_scalar("a", 2, 2);
  const std::string error = error_of([&] { writer.flush(); });
  const std::string again = error_of([&] { writer.close(); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, AllOf(HasSubstr("[tensorboard] cannot write " + writer.path() + ": "),
                           HasSubstr("it keeps the"), HasSubstr("writer_test.cc:")));
  EXPECT_THAT(again, HasSubstr("cannot write"));
  EXPECT_EQ(contents(writer.path()), before);
  // There is room again: nothing was lost.
  writer.add_scalar("a", 3, 3);
  writer.close();
  EXPECT_EQ(series(events_of(folder_), "a"), (std::map<int64_t, float>{{1, 1}, {2, 2}, {3, 3}}));
}

TEST_F(Board, ErrorsSayWhatAndWhere) {
  write("file", "");
  EXPECT_THAT(error_of([&] { SummaryWriter w(path("file/x")); }),
              AllOf(HasSubstr("[tensorboard] cannot make the folder " + path("file/x")),
                    HasSubstr("writer_test.cc:")));
  EXPECT_THAT(error_of([&] { SummaryWriter w(folder_, {.suffix = "a/b"}); }), HasSubstr("a slash"));
  SummaryWriter w(folder_);
  auto refused = [&](const std::function<void()>& f) { return error_of(f); };
  EXPECT_THAT(refused([&] { w.add_scalar("", 1, 1); }),
              AllOf(HasSubstr("[add_scalar] the tag is empty"), HasSubstr("writer_test.cc:")));
  EXPECT_THAT(refused([&] { w.add_scalar("a\xff", 1, 1); }),
              HasSubstr("the tag is no UTF-8 at byte 1, which TensorBoard cannot read: a\\xff"));
  EXPECT_THAT(refused([&] { w.add_text("a", "\xc3(", 1); }),
              HasSubstr("[add_text] the text is no UTF-8"));
  EXPECT_THAT(refused([&] { w.add_histogram("h", zeros({0}), 1); }),
              AllOf(HasSubstr("[add_histogram] h: float32[0] has no elements"),
                    HasSubstr("writer_test.cc:")));
  EXPECT_THAT(refused([&] { w.add_histogram("h", ones({2}) / 0.0, 1); }),
              HasSubstr("has no element that is finite"));
  EXPECT_THAT(refused([&] { w.add_histogram("h", zeros({2}, DType::kBool), 1); }),
              HasSubstr("needs numbers"));
  EXPECT_THAT(
      refused([&] {
        w.add_image("i", ones({1, 3, 2, 2}), 1);
      }),
      AllOf(HasSubstr("[add_image] i: needs an image"), HasSubstr("make_grid makes one of many")));
  EXPECT_THAT(refused([&] { w.add_image("i", ones({5, 2, 2}), 1); }), HasSubstr("C from 1 to 4"));
  EXPECT_THAT(refused([&] { w.add_hparams({}, {}, "a/b"); }), HasSubstr("the run's name"));
  w.close();
  w.close();
  EXPECT_THAT(refused([&] { w.add_scalar("a", 1, 1); }),
              AllOf(HasSubstr(w.path()), HasSubstr("is closed")));
  EXPECT_EQ(events_of(folder_).size(), 0u);
}

// in_tensorboard.py reads this: WICK_BOARD_FOLDER/sample.
TEST_F(Board, WritesASample) {
  const char* given = std::getenv("WICK_BOARD_FOLDER");
  SummaryWriter writer((given != nullptr ? std::string(given) : folder_) + "/sample");
  for (int64_t step = 0; step < 20; ++step) {
    writer.add_scalar("loss/train", 1.0 / static_cast<double>(step + 1), step);
    writer.add_scalars(
        "both", {{"a", static_cast<double>(step)}, {"b", -2.0 * static_cast<double>(step)}}, step);
  }
  writer.add_histogram("weights", arange(-50, 51).to(DType::kF32) / 10.0, 3);
  writer.add_image(
      "grid",
      data::make_grid((arange(2 * 3 * 4 * 5) * 2).reshape({2, 3, 4, 5}).to(DType::kF32) / 255.0),
      4);
  writer.add_text("notes", "**größer**", 5);
  writer.add_hparams({{"lr", 0.5}, {"model", "lenet"}, {"bias", false}}, {{"accuracy", 0.75}},
                     "first");
  writer.close();
}

}  // namespace
}  // namespace wick
