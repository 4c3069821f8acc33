// Returns what a command prints, errors included.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace wick::test {

// "" and a failed expectation where it cannot be started or exits with anything but 0.
inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr) << command;
  if (pipe == nullptr) return text;
  char line[512];
  while (fgets(line, sizeof(line), pipe) != nullptr) text += line;
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

}  // namespace wick::test
