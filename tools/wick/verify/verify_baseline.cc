#include "tools/wick/verify/verify_baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "tools/lib/arrays.h"
#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

std::string plain(const std::string& text) {
  std::string name;
  for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name;
}

// The digest covers dtype, shape and bytes.
std::string digest(const HostTensor& t) {
  const std::string type = fmt::format("{} {}\n", dtype_name(t.dtype()), to_text(t.shape()).text);
  Sha256 hash;
  hash.update({reinterpret_cast<const uint8_t*>(type.data()), type.size()});
  if (t.dtype() == DType::kString) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      const std::string s = t.string_at(i) + '\0';
      hash.update({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
    }
  } else {
    hash.update({static_cast<const uint8_t*>(t.data()), t.nbytes()});
  }
  uint8_t sum[32];
  hash.finish(sum);
  std::string text;
  for (uint8_t b : sum) text += fmt::format("{:02x}", b);
  return text;
}

// A damaged file counts as empty if it is about to be written.
nlohmann::json read(const std::string& path, bool update) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return nlohmann::json::object();
  std::string text;
  check_status(read_regular_file(path.c_str(), &text));
  try {
    nlohmann::json digests = read_json(text, path);
    if (!digests.is_object()) throw JsonError(path + ": it is no object");
    return digests;
  } catch (const JsonError& e) {
    if (update) return nlohmann::json::object();
    throw Error(fmt::format("--baseline {}; write it again with --update", e.what()));
  }
}

struct Golden {
  const fs::path folder;
  nlohmann::json digests;

  std::string key(const VerifyRow& r) const { return r.model + " | " + r.target + " | " + r.sizes; }
  fs::path array(const VerifyRow& r, const std::string& output) const {
    return folder / plain(r.model) / plain(r.target + " " + r.sizes) / plain(output);
  }
  fs::path inside(const std::string& file) const {
    const fs::path path = fs::path(file).lexically_normal();
    if (path.is_absolute() || *path.begin() == "..")
      throw Error(fmt::format("--baseline: baseline.json names '{}', which is not in its folder",
                              one_line(file)));
    return folder / path;
  }
  void write(const VerifyRow& r) {
    for (const auto& [name, value] : r.outputs) {
      fs::create_directories(array(r, name).parent_path());
      const std::string file = write_value(array(r, name).string(), value);
      digests[key(r)][name] = {{"sha256", digest(value)},
                               {"file", fs::relative(file, folder).string()}};
    }
  }
  VerifyRow compare(const VerifyRow& r) const {
    VerifyRow now;
    now.model = r.model;
    now.target = "baseline, " + r.target;
    now.numerics = "exact";
    now.sizes = r.sizes;
    const auto known = digests.find(key(r));
    if (known == digests.end()) {
      now.verdict = VerifyRow::Verdict::kFailed;
      now.why = "it has no baseline: --update writes one";
      return now;
    }
    for (const auto& [name, value] : r.outputs) {
      ++now.values;
      const auto golden = known->find(name);
      if (golden != known->end() && golden->at("sha256") == digest(value)) continue;
      FirstDifference f;
      f.value = name;
      f.node = "output";
      f.type = fmt::format("{} {}", dtype_name(value.dtype()), to_text(value.shape()).text);
      f.why = "it is not in the baseline";
      if (golden != known->end()) {
        const HostTensor was = read_array(inside(golden->at("file").get<std::string>()).string());
        const ir::Apart d = ir::apart(was, value, ir::Promise::kBits, 0);
        if (!d.differs) continue;  // only a NaN's payload differs
        f.element = d.element;
        f.expected = d.made;
        f.got = d.given;
        f.why = d.comparable ? "" : "the baseline has another dtype or shape";
      }
      now.verdict = VerifyRow::Verdict::kDiffers;
      now.first = f;
      break;
    }
    for (const auto& [name, golden] : known->items()) {
      const bool there = std::any_of(r.outputs.begin(), r.outputs.end(),
                                     [&](const auto& o) { return o.first == name; });
      if (there || now.first) continue;
      now.verdict = VerifyRow::Verdict::kDiffers;
      now.first = FirstDifference{};
      now.first->node = "output";
      now.first->value = name;
      now.first->why = "the baseline has it, the model no longer";
    }
    return now;
  }
};

}  // namespace

void apply_baseline(const std::string& folder, bool update, VerifyReport* report) {
  const fs::path file = fs::path(folder) / "baseline.json";
  Golden golden{folder, read(file.string(), update)};
  if (!update && golden.digests.empty())
    throw Error(
        fmt::format("--baseline: {} is not there or empty; --update writes it", file.string()),
        Code::kNotFound);
  std::vector<VerifyRow> added;
  for (const VerifyRow& r : report->rows) {
    if (r.outputs.empty()) continue;
    if (update) {
      golden.write(r);
    } else {
      try {
        added.push_back(golden.compare(r));
      } catch (const nlohmann::json::exception&) {
        throw Error(fmt::format("--baseline: {} is not as --update writes it", file.string()));
      }
    }
  }
  report->rows.insert(report->rows.end(), added.begin(), added.end());
  if (update) write_text(file.string(), golden.digests.dump(2) + "\n");
}

}  // namespace wick::tool
