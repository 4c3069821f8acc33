// A table: 178 Italian wines, thirteen measured columns, three growers (UCI; a file of
// scikit-learn). The scales of the columns differ by a factor of a thousand: proline is near 1000,
// hue near 1; so each is normalized to mean 0 and deviation 1, with the statistics of the training
// rows. The twin omits that.
#include <unistd.h>

#include <filesystem>

#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

// The file's first line is not a header: it has the number of rows and columns, and the classes. So
// it is replaced by a header, and the growers get names.
data::CsvTable read_wines(const std::string& path, const std::vector<std::string>& columns) {
  std::istringstream lines(milestone::read_text(path));
  std::string line, table;
  for (const std::string& c : columns) table += c + ",";
  table += "grower\n";
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const size_t comma = line.rfind(',');
    table += line.substr(0, comma) + ",grower " + line.substr(comma + 1) + "\n";
  }
  std::string file = (std::filesystem::temp_directory_path() / "wick_wines_XXXXXX").string();
  close(mkstemp(file.data()));
  std::ofstream(file) << table;
  data::CsvTable read = data::read_csv(file);
  std::filesystem::remove(file);
  return read;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("tabular", argc, argv, [](const milestone::Options& o) {
    const std::vector<std::string> columns = {
        "alcohol", "malic acid", "ash",           "alkalinity",      "magnesium",
        "phenols", "flavanoids", "other phenols", "proanthocyanins", "intensity",
        "hue",     "dilution",   "proline"};
    const data::CsvTable wines = read_wines(
        o.data.empty() ? milestone::shared_file("sklearn/wine_data.csv") : o.data, columns);
    std::vector<std::string> growers;
    Tensor x = wines.columns(columns), y = wines.categories("grower", growers);

    const Tensor order = randperm(wines.rows());
    const Tensor train = order.slice(0, 0, 118), test = order.slice(0, 118, wines.rows());
    Tensor x_train = index_select(x, 0, train), x_test = index_select(x, 0, test);
    if (!o.broken()) {
      const Tensor middle = mean(x_train, {0}), spread = x_train.std({0});
      x_train = (x_train - middle) / spread, x_test = (x_test - middle) / spread;
    }
    nn::Sequential net(nn::Linear(13, 16), nn::ReLU(),
                       nn::Linear(16, static_cast<int64_t>(growers.size())));
    optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
    for (int epoch = 0; epoch < 100; ++epoch) {
      Tensor loss = cross_entropy(net(x_train), index_select(y, 0, train));
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    NoGrad guard;
    const double right =
        mean(eq(argmax(net(x_test), 1), index_select(y, 0, test)).to(DType::kF32)).item();
    return milestone::Result{{{"accuracy", right, 0.93}}, net.state_dict()};
  });
}
