#include "tools/wick/verify/verify_baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/ir/packed.h"
#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "tools/lib/arrays.h"
#include "tools/lib/std_files.h"
#include "tools/lib/text.h"
#include "tools/lib/verify/rows.h"
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

DType element_of(const HostTensor& t) {
  return is_container(t.dtype()) ? unpack(t).element : DType::kNone;
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
  } else if (element_of(t) == DType::kString) {  // whose bytes are addresses
    for (const HostTensor& e : unpack(t).elements) {
      const std::string one = digest(e);
      hash.update({reinterpret_cast<const uint8_t*>(one.data()), one.size()});
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

// Returns the model's path from the baseline's folder, which is the same in every clone of a
// repository that has both.
std::string place_of_model(const std::string& model, const fs::path& folder) {
  std::string known = shown(model);
  if (known != model) return known;  // standard input
  const auto whole = [](const fs::path& path) {
    std::error_code failed;
    return fs::weakly_canonical(fs::absolute(path, failed), failed);
  };
  const fs::path to = whole(model).lexically_relative(whole(folder));
  const std::string place = to.empty() ? whole(model).generic_string() : to.generic_string();
  return place.starts_with('.') || place.starts_with('/') ? place : "./" + place;
}

// Returns a folder's name that no other text has.
std::string folder_name(const std::string& text) {
  Sha256 hash;
  hash.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  const std::string name = plain(text.substr(text.rfind('/') + 1)).substr(0, 100);
  return name + "-" + std::string(hash.finish_text().text).substr(0, 8);
}

struct Golden {
  const fs::path folder;
  const std::string place;  // of the model
  nlohmann::json digests;

  static std::string entry(const std::string& model, const VerifyRow& r) {
    return model + " | " + r.target + " | " + r.sizes;
  }
  std::string key(const VerifyRow& r) const { return entry(place, r); }
  // Returns the row's entry, or the one of its model's file name.
  nlohmann::json::const_iterator known(const VerifyRow& r) const {
    const auto own = digests.find(key(r));
    return own != digests.end() ? own : digests.find(entry(r.model, r));
  }
  // Returns "; there is one of ../a/model.onnx" for a model of this name elsewhere.
  std::string elsewhere(const VerifyRow& r) const {
    const std::string end = entry("/" + fs::path(place).filename().string(), r);
    for (const auto& [other, unused] : digests.items()) {
      if (other.ends_with(end))
        return "; there is one of " + one_line(other.substr(0, other.find(" | ")));
    }
    return "";
  }
  fs::path arrays(const VerifyRow& r) const {
    return folder / folder_name(place) / folder_name(r.target + " " + r.sizes);
  }
  fs::path inside(const std::string& file) const {
    const fs::path path = fs::path(file).lexically_normal();
    if (path.is_absolute() || *path.begin() == "..")
      throw Error(fmt::format("--baseline: baseline.json names '{}', which is not in its folder",
                              one_line(file)));
    return folder / path;
  }
  void write(const VerifyRow& r) {
    std::vector<std::string> names;
    for (const auto& [name, value] : r.outputs) names.push_back(name);
    const std::vector<std::string> files = file_names(names);
    refuse_link(arrays(r).parent_path().string());
    refuse_link(arrays(r).string());
    make_folder(arrays(r).string());
    nlohmann::json entries = nlohmann::json::object();
    for (size_t i = 0; i < names.size(); ++i) {
      const HostTensor& value = r.outputs[i].second;
      const std::string name = (arrays(r) / files[i]).string();
      refuse_link(name + (is_container(value.dtype()) ? ".pb" : array_suffix(value.dtype())));
      const std::string file = write_value(name, value);
      entries[names[i]] = {{"sha256", digest(value)},
                           {"file", fs::relative(file, folder).string()}};
    }
    digests[key(r)] = std::move(entries);
  }
  VerifyRow compare(const VerifyRow& r) const {
    VerifyRow now;
    now.model = r.model;
    now.target = "baseline, " + r.target;
    now.numerics = "exact";
    now.sizes = r.sizes;
    const auto known = this->known(r);
    if (known == digests.end()) {
      now.verdict = VerifyRow::Verdict::kFailed;
      now.why = "it has no baseline: --update writes one" + elsewhere(r);
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
        const std::string file = inside(golden->at("file").get<std::string>()).string();
        const HostTensor was =
            read_value(file, {name.c_str(), value.dtype(), true, {}, element_of(value)});
        const ir::Apart d = ir::apart(was, value, ir::Promise::kBits, 0);
        if (!d.differs) {
          if (golden->at("sha256") == digest(was)) continue;  // only a NaN's payload differs
          // An --update that was cut off writes arrays whose digests it does not write.
          throw Error(
              fmt::format("--baseline: '{}' is not the array whose SHA-256 baseline.json has: "
                          "one of both was changed; write them again with --update",
                          one_line(file)));
        }
        f.why.clear();
        set_element(&f, was, value, d);
        f.why = (f.why.empty() ? "" : f.why + ": ") +
                (d.comparable ? "the baseline has another value"
                              : "the baseline has another dtype or shape");
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

void apply_baseline(const std::string& folder, const std::string& model, bool update,
                    VerifyReport* report) {
  const fs::path file = fs::path(folder) / "baseline.json";
  Golden golden{folder, place_of_model(model, folder), read(file.string(), update)};
  if (!update && golden.digests.empty())
    throw Error(
        fmt::format("--baseline: {} is not there or empty; --update writes it", file.string()),
        Code::kNotFound);
  if (update) refuse_link(file.string());
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
