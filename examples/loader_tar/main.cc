// WebDataset: samples are streamed from .tar.gz files, by two ranks and with workers, and nothing
// is unpacked. The tar files are made here with the tar command.
#include <wick/trainer.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

using namespace wick;
namespace fs = std::filesystem;

static fs::path folder;

static std::string make_shard(int shard) {
  fs::path work = folder / "work";
  fs::create_directories(work);
  std::string names;
  for (int i = 0; i < 20; ++i) {
    int number = shard * 20 + i;
    std::string key = "sample" + std::to_string(number);
    std::ofstream(work / (key + ".cls")) << number << "\n";
    Tensor x = full({8}, number);
    data::write_npy((work / (key + ".x.npy")).string(), x.raw());
    names += " " + key + ".cls " + key + ".x.npy";
  }
  std::string tar = (folder / ("shard" + std::to_string(shard) + ".tar.gz")).string();
  std::string command = "tar -C " + work.string() + " -czf " + tar + names;
  if (std::system(command.c_str()) != 0) throw Error("tar failed");
  fs::remove_all(work);
  return tar;
}

int main() {
  std::string pattern = (fs::temp_directory_path() / "wick_tar_XXXXXX").string();
  folder = mkdtemp(pattern.data());
  auto stream = std::make_shared<data::TarDataset>(
      std::vector<std::string>{make_shard(0), make_shard(1), make_shard(2)},
      [](const data::TarSample& sample) {  // on the workers
        data::HostArray x = data::parse_npy(sample.field("x.npy"), sample.name("x.npy"));
        return data::Item{from_blob(x.bytes.data(), x.shape, x.dtype),
                          full({}, sample.number("cls"), DType::kI64)};
      });
  auto shuffled = std::make_shared<data::ShuffleBuffer>(stream, 16, /*seed=*/5);
  std::multiset<int64_t> seen;
  bool pairs = true;
  for (int rank = 0; rank < 2; ++rank) {
    data::DataLoader loader(shuffled, {.batch_size = 8, .workers = 3, .rank = rank, .world = 2});
    int64_t batches = 0;
    for (data::Batch& batch : loader) {
      ++batches;
      std::vector<float> x = batch[0].select(1, 0).to_vector<float>();
      std::vector<int64_t> label = batch[1].to_vector<int64_t>();
      for (size_t i = 0; i < label.size(); ++i) {
        pairs = pairs && x[i] == static_cast<float>(label[i]);
        seen.insert(label[i]);
      }
    }
    std::printf("rank %d: %lld batches\n", rank, static_cast<long long>(batches));
  }
  std::set<int64_t> distinct(seen.begin(), seen.end());
  std::printf("samples: %zu, different: %zu\n", seen.size(), distinct.size());
  std::printf("every label with its array: %s\n", pairs ? "yes" : "no");
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) files += entry.exists();
  std::printf("files in the folder: %zu\n", files);
  fs::remove_all(folder);
}
