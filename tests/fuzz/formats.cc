#include "tests/fuzz/formats.h"

#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "exporter/onnx/onnx.h"
#include "exporter/tflite/tflite.h"
#include "graph/ir/graph.h"
#include "runtime/program/program.h"
#include "tests/fuzz/run_formats.h"
#include "tests/fuzz/scratch.h"
#include "tests/program/attack_wick.h"
#include "tests/support/where.h"
#include "tools/lib/arrays.h"
#include "tools/wick/report_data.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/cifar.h"
#include "trainer/data/csv_table.h"
#include "trainer/data/idx.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/npy.h"
#include "trainer/data/tar.h"
#include "trainer/text/tokenizer.h"
#include "wick/error.h"

namespace wick::fuzz {
std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

namespace {

namespace fs = std::filesystem;

// Files of tests/fuzz/corpus/NAME, and of other tests' folders.
std::vector<std::string> all_in(const std::string& where, const std::vector<std::string>& endings) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(source_dir(where), none)) {
    for (const std::string& e : endings) {
      if (entry.path().string().ends_with(e)) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const fs::path& p : paths) files.push_back(contents(p));
  return files;
}

Span<const uint8_t> as_bytes(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

std::string zipped(const std::string& s) {
  const std::string path = scratch() + "/zipped";
  const gzFile f = gzopen(path.c_str(), "wb");
  gzwrite(f, s.data(), static_cast<unsigned>(s.size()));
  gzclose(f);
  return contents(path);
}

std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                size_t bytes) {
  std::string head =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  head.resize(117, ' ');
  head += '\n';
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(head.size());
  file += '\0';
  return file + head + std::string(bytes, '\1');
}
std::vector<std::string> npys() {
  return {npy("<f4", "False", "(2, 3)", 24), npy("<i8", "True", "(2, 2)", 32),
          npy("|b1", "False", "()", 1), npy("<f2", "False", "(0, 5)", 0)};
}

std::string tar_entry(const std::string& name, const std::string& data) {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  head.replace(100, 7, "0000644");
  char size[13];
  snprintf(size, sizeof(size), "%011zo", data.size());
  head.replace(124, 11, size);
  head.replace(136, 11, "00000000000");
  head[156] = '0';
  head.replace(257, 8,
               std::string("ustar\0"
                           "00",
                           8));
  head.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<uint8_t>(c);
  char check[8];
  snprintf(check, sizeof(check), "%06o", sum);
  head.replace(148, 7, std::string(check, 7));
  std::string body = data;
  body.resize((data.size() + 511) / 512 * 512);
  return head + body;
}

void read_tar(const std::string& bytes) {
  const data::TarDataset set({file_of("a.tar", bytes)}, [](const data::TarSample& sample) {
    for (const auto& field : sample.fields) {
      if (field.first == "cls") (void)sample.number("cls");
    }
    return data::Item{};
  });
  data::Pending item;
  const auto stream = set.open(0);
  while (stream->next(item)) (void)item();
}

void read_csv(const std::string& bytes) {
  const data::CsvTable t = data::read_csv(file_of("a.csv", bytes));
  for (const std::string& name : t.columns()) {
    if (t.dtype(name) == DType::kString) {
      std::vector<std::string> values;
      (void)t.categories(name, values);
    } else {
      (void)t.column(name);
    }
  }
}

std::string safetensors(const std::string& header, size_t bytes) {
  const uint64_t n = header.size();
  std::string file(8, '\0');
  memcpy(file.data(), &n, 8);
  return file + header + std::string(bytes, '\2');
}

const char kGraph[] =
    "graph {\n  input %0 \"x\" float32 [batch, 3]\n  const %1 \"w\" float32 [3, 2] = "
    "0000803f0000004000004040000080400000a0400000c040\n  %2 \"y\" = MatMul(%0, %1)\n  output "
    "%2\n}\n";
std::vector<std::string> graphs() {
  // This is printed by our own code: whatever the text form is, the first seed has it.
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, SymShape{SymDim(2), SymDim(3)});
  const ir::ValueId r = g.emit(OpId::kRelu, NoAttrs{}, {x}, "relu");
  g.add_output("y", g.emit(OpId::kSoftmax, AxisAttrs{1}, {r}, "softmax"));
  return {ir::print(g, true), kGraph};
}

void read_graph(const std::string& bytes) {
  const ir::Graph g = ir::parse_graph(bytes);
  (void)ir::parse_graph(ir::print(g, true));
}

void read_run(const std::string& bytes) {
  // One file stands for the three that a run's folder holds.
  static const std::string run = [] {
    const std::string path = scratch() + "/run";
    fs::create_directory(path);
    return path;
  }();
  for (const char* name : {"config.json", "metrics.json", "evaluation.json"})
    std::ofstream(run + "/" + name, std::ios::binary) << bytes;
  (void)tool::report_data(run).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_wick(const std::string& bytes) {
  auto copy = test::aligned_copy(as_bytes(bytes));
  LoadOptions options;
  options.max_ram = 16 << 20;
  auto program = Program::load(Span<const uint8_t>(copy.get(), bytes.size()), options);
  if (!program.ok()) throw Error(program.status().message());
}

void read_strings(const std::string& bytes) { (void)tool::read_array(file_of("a.json", bytes)); }

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

const std::vector<std::string> kJson = {"{",       "}",       "[",       "]",   "\"",    ":",
                                        ",",       "null",    "true",    "-1",  "1e999", "[[",
                                        "{\"a\":", "\\u0000", "\\ud800", "\xFF"};
std::vector<Format> joined(std::vector<Format> list, const std::vector<Format>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}
std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

std::string file_of(const std::string& name, const std::string& bytes) {
  const std::string path = scratch() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

Span<const Format> formats() {
  static const std::vector<Format> all = joined(
      {
          {"image",
           [] {
             return all_in("/tests/data/goldens", {".png", ".jpg"});
           },
           {"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "\xFF\xD8", "\xFF\xC0", "\xFF\xC2",
            "\xFF\xDA", "\xFF\xC4", "\xFF\xDB", "\xFF\xD9"},
           [](const std::string& b) { (void)data::decode_image(as_bytes(b), "x"); }},
          {"npy",
           npys,
           {"'descr'", "'<f8'", "'|b1'", "'<U4'", "'O'", "fortran_order", "True", "(", ",)",
            "1, 1, ", "'shape'", "{", "}"},
           [](const std::string& b) { (void)data::parse_npy(as_bytes(b), "x"); }},
          {"npz",
           [] { return all_in("/tests/data/goldens", {".npz"}); },
           {"PK\3\4", "PK\1\2", "PK\5\6", "a.npy", "../a.npy"},
           [](const std::string& b) { (void)data::read_npz(file_of("a.npz", b)); }},
          {"csv",
           [] {
             return std::vector<std::string>{"a,b,c\n1,2.5,x\n3,nan,\"y, z\"\n",
                                             "\xEF\xBB\xBF"
                                             "t;f\ntrue,false\nTrue,NA\n",
                                             "n\n9223372036854775807\n-1\n"};
           },
           {"\"", "\"\"", "\r\n", ",", "\n", "NA", "1e400", "true", "\xFF", "\xEF\xBB\xBF"},
           read_csv},
          {"tar",
           [] {
             const std::string plain = tar_entry("a/0001.cls", "3") +
                                       tar_entry("a/0001.txt", "text") +
                                       tar_entry("a/0002.cls", "-7") + std::string(1024, '\0');
             return std::vector<std::string>{plain, zipped(plain)};
           },
           {"ustar", "00000000017", "77777777777", "../", "a/0001.cls", "\x80"},
           read_tar},
          {"idx",
           [] {
             const std::string plain = std::string("\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\2", 16) +
                                       std::string("\1\2\3\4\5\6\7\7", 8);
             const std::string labels =
                 std::string("\0\0\x0D\x01\0\0\0\2", 8) + std::string(8, '\1');
             return std::vector<std::string>{plain, labels, zipped(plain)};
           },
           {std::string("\0\0\x08\x01", 4), std::string("\0\0\x0E\x02", 4), "\xFF\xFF\xFF\xFF"},
           [](const std::string& b) { (void)data::read_idx(file_of("a.idx", b)); }},
          {"cifar",
           [] { return std::vector<std::string>{std::string(3073, '\3')}; },
           {},
           [](const std::string& b) {
             (void)data::read_cifar({file_of("a.bin", b)}, data::Cifar::k10)->size();
           }},
          {"safetensors",
           [] {
             return std::vector<std::string>{
                 safetensors(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"I64","shape":[],"data_offsets":[16,24]},)"
                             R"("__metadata__":{"epoch":"3"}})",
                             24),
                 safetensors(R"({"h":{"dtype":"BF16","shape":[0,7],"data_offsets":[0,0]}})", 0)};
           },
           with(kJson, {"\"dtype\"", "\"F8_E4M3\"", "\"BOOL\"", "\"shape\"", "\"data_offsets\"",
                        "__metadata__", "[0,0]"}),
           [](const std::string& b) { (void)load_safetensors(file_of("a.safetensors", b)); }},
          {"tokenizer",
           [] {
             return std::vector<std::string>{
                 R"({"type":"bpe","version":1,"merges":[[97,98],[256,99],[257,257]]})"};
           },
           with(kJson, {"\"merges\"", "\"type\"", "[256,256],", "\"bpe\""}),
           [](const std::string& b) {
             const text::BPETokenizer t = text::BPETokenizer::from_json(b);
             (void)t.decode(t.encode("abcabc \xFF abc"));
           }},
          {"graph",
           graphs,
           {"input",    "const",    "output", "%0", "%1", "float32", "int64",  "[",
            "]",        "(",        ")",      "=",  "If", "Loop",    "MatMul", "2147483648",
            "sequence", "unranked", "\"",     "{",  "}",  "axis=",   "->"},
           read_graph},
          {"onnx",
           [] { return all_in("/tests/fuzz/corpus/onnx", {".onnx"}); },
           {"\x0A", "\x12", "\x22", "Relu", "MatMul", "If", "Loop", "\xFF\xFF\xFF\xFF\x7F",
            "\x08\x07"},
           [](const std::string& b) {
             std::vector<std::string> warnings;
             OnnxReadOptions options;
             options.warnings = &warnings;
             (void)import_onnx_bytes(as_bytes(b), "", options);
           }},
          {"tflite",
           [] { return all_in("/tests/exporter/tflite", {".tflite"}); },
           {"TFL3", std::string("\0\0\0\0", 4), std::string("\1\0\0\0", 4), "\xFF\xFF\xFF\xFF",
            "\xFF\xFF\xFF\x7F", std::string("\0\0\x80\x3F", 4), std::string("\4\0\4\0", 4)},
           [](const std::string& b) {
             (void)import_tflite_bytes(as_bytes(b), {.lower_qdq = true});
           }},
          {"tensor_pb",
           [] { return all_in("/tests/fuzz/corpus/tensor_pb", {".pb"}); },
           {"\x08", "\x10", "\x4A", "\x22", "\xFF\xFF\xFF\xFF\x7F"},
           [](const std::string& b) { (void)read_onnx_data(b, DType::kF32, DType::kF32, "x"); }},
          {"strings",
           [] {
             return std::vector<std::string>{R"(["a",["b"]])", R"([["a","b"],["c","d"]])",
                                             R"({"shape":[2,1],"strings":["a","b"]})"};
           },
           with(kJson, {"\"shape\"", "\"strings\"", "[\"a\"],"}), read_strings},
          {"run",
           [] {
             return std::vector<std::string>{
                 R"({"model":"mlp","data":"images","epochs":2,"batch":64,"lr":0.1,"seed":1,)"
                 R"("classes":["a","b"],"confusion":[[1,2],[3,4]],"accuracy":0.5,)"
                 R"("history":[{"epoch":1,"train_loss":0.5,"val_loss":0.25,"val_accuracy":0.75}]})"};
           },
           with(kJson, {"\"history\"", "\"confusion\"", "\"classes\"", "\"epoch\"", "[[", "]]"}),
           read_run},
          {"wick",
           [] { return std::vector<std::string>{text_of(test::every_feature())}; },
           {"WICKPRG\n", "main", std::string("\0\0\0\0", 4)},
           read_wick},
      },
      run_formats());
  return all;
}

}  // namespace wick::fuzz
