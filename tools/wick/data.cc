// wick data: what a set of labelled images holds, and some of it as an array that wick run reads.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "trainer/data/image/images.h"
#include "trainer/data/npy.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct DataCommand {
  std::string data, split = "test", out;
  int64_t first = 0, count = 1;
  bool json = false;
};

void run_data(const DataCommand& c) {
  const data::ImageData set = data::open_images(c.data);
  const data::ImageDataset& part = c.split == "train" ? *set.train : *set.test;
  nlohmann::json document = {{"data", set.name},           {"folder", set.folder},
                             {"train", set.train->size()}, {"test", set.test->size()},
                             {"height", set.height},       {"width", set.width},
                             {"classes", set.classes}};
  if (c.out.empty()) {
    if (c.json) return print_json(document);
    fmt::print("{} in {}: {} images to train on, {} to test, {} x {} bytes each\nclasses: {}\n",
               set.name, set.folder, set.train->size(), set.test->size(), set.height, set.width,
               fmt::join(set.classes, ", "));
    return;
  }
  if (c.first >= part.size() || c.count > part.size() - c.first) {
    wrong_usage("--image", fmt::format("the {} images of {} are {}, asked for {} from {} on",
                                       c.split, set.name, part.size(), c.count, c.first));
  }
  // The format that models of wick export take: bytes, with the batch first.
  const data::HostArray& images = part.images();
  const size_t item = static_cast<size_t>(set.height) * static_cast<size_t>(set.width);
  std::vector<uint8_t> bytes(images.bytes.data() + static_cast<size_t>(c.first) * item,
                             images.bytes.data() + static_cast<size_t>(c.first + c.count) * item);
  const TensorView view(bytes.data(), DType::kU8, {c.count, 1, set.height, set.width});
  data::write_npy(c.out, view);
  std::vector<std::string> labels;
  for (int64_t i = c.first; i < c.first + c.count; ++i)
    labels.push_back(set.classes[part.labels().bytes[static_cast<size_t>(i)]]);
  if (c.json) {
    document.update({{"file", c.out}, {"split", c.split}, {"image", c.first}, {"labels", labels}});
    return print_json(document);
  }
  if (labels.size() > 10) labels.resize(10), labels.emplace_back("...");
  const std::string which = c.count == 1
                                ? fmt::format("image {}", c.first)
                                : fmt::format("images {} to {}", c.first, c.first + c.count - 1);
  fmt::print("{}: uint8[{},1,{},{}], {} {} of {}: {}\n", c.out, c.count, set.height, set.width,
             c.split, which, set.name, fmt::join(labels, ", "));
}

}  // namespace

void add_data(CommandLine& app) {
  auto c = std::make_shared<DataCommand>();
  Command command = app.add_command("data", "A set of labelled images, or some as an array");
  command.add_option("data", c->data, "fashion-mnist, mnist, tinydigits, or a folder of IDX files")
      .required();
  const Option out =
      command.add_option("-o,--out", c->out, "write images to this .npy file; -: standard output");
  out.writes_file(".npy");
  command.add_option("--image", c->first, "the first of them").at_least(0).needs(out);
  command.add_option("--count", c->count, "how many").at_least(1).needs(out);
  command.add_option("--split", c->split, "test or train").one_of({"test", "train"}).needs(out);
  command.add_flag("--json", c->json, "print it as JSON");
  command.footer("Example:\n  wick data fashion-mnist --image 0 -o image.npy");
  command.callback([c] { run_data(*c); });
}

}  // namespace wick::tool
