// Replaces archive.cc if libarchive is not installed.
#include "trainer/data/archive.h"
#include "wick/error.h"

namespace wick::data {

std::unique_ptr<ArchiveReader> open_archive(const std::string& reader, const std::string& path,
                                            ArchiveKind) {
  throw Error("[" + reader + "] " + path +
                  ": Wick was built without libarchive: install libarchive-dev and build again",
              Code::kUnsupported);
}

}  // namespace wick::data
