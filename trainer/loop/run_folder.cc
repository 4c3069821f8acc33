#include "trainer/loop/run_folder.h"

#include <filesystem>

#include "runtime/core/leftovers.h"
#include "trainer/loop/fit_state.h"
#include "trainer/loop/run_report.h"

namespace wick::loop {
namespace {

// Returns the files that a run writes behind its config.json.
std::vector<const char*> run_files() {
  std::vector<const char*> names = {"best.safetensors", "last.safetensors", "metrics.csv"};
  names.insert(names.end(), report_files().begin(), report_files().end());
  return names;
}

// The folder may be a stranger's: through a link in it a run would write wherever that leads.
void refuse_links(const std::string& folder, const Where& where) {
  std::vector<const char*> names = run_files();
  names.push_back("config.json");
  for (const char* name : names) {
    std::error_code error;
    if (!std::filesystem::is_symlink(in_folder(folder, name), error)) continue;
    throw_error("trainer",
                in_folder(folder, name) +
                    " is a symbolic link, through which this run would write: remove it",
                where, Code::kIo);
  }
}

}  // namespace

void hold_folder(const std::string& folder, FileLock* lock, const Where& where) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw_error("trainer", "cannot make the folder " + folder + ": " + error.message(), where,
                Code::kIo);
  }
  refuse_links(folder, where);
  check_status("trainer", lock->take(in_folder(folder, ".wick.lock").c_str(), folder.c_str()),
               where);
  remove_leftovers(folder.c_str());
}

void remove_run(const std::string& folder, const Where& where) {
  for (const char* name : run_files()) {
    std::error_code error;
    std::filesystem::remove(in_folder(folder, name), error);
    if (error) {
      throw_error(
          "trainer",
          "cannot remove the earlier run's " + in_folder(folder, name) + ": " + error.message(),
          where, Code::kIo);
    }
  }
}

}  // namespace wick::loop
