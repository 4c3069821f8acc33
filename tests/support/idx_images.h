// A made-up labelled image set in four IDX files: 28x28, ten classes that differ in the place of a
// bright band, under noise. It is small enough that a whole training run takes a second.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace wick::test {

inline void write_idx(const std::string& path, std::initializer_list<uint32_t> shape,
                      const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << '\0' << '\0' << '\x08' << static_cast<char>(shape.size());
  for (uint32_t d : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) out << static_cast<char>(d >> shift);
  }
  out << bytes;
}

inline void write_images(const std::string& folder, int train, int test) {
  constexpr uint32_t kSide = 28;
  std::filesystem::create_directories(folder);
  uint32_t state = 12345;
  auto random = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
  for (auto [name, count] : {std::pair{"train", train}, std::pair{"t10k", test}}) {
    std::string pixels, labels;
    for (int i = 0; i < count; ++i) {
      uint32_t label = random() % 10;
      labels += static_cast<char>(label);
      for (uint32_t y = 0; y < kSide; ++y) {
        bool band = y / 3 == label;
        for (uint32_t x = 0; x < kSide; ++x)
          pixels += static_cast<char>(random() / 4 + (band && x < 20 ? 150 : 0));
      }
    }
    auto n = static_cast<uint32_t>(count);
    write_idx(folder + "/" + name + "-images-idx3-ubyte", {n, kSide, kSide}, pixels);
    write_idx(folder + "/" + name + "-labels-idx1-ubyte", {n}, labels);
  }
}

}  // namespace wick::test
