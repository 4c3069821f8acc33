// Requests and answers of KServe's protocol, without a server: what is read, to the bit, and what
// each mistake is told.
#include "tools/serve/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "runtime/core/half.h"
#include "tests/support/error_of.h"
#include "tools/serve/options.h"
#include "tools/serve/tensors.h"

namespace wick::serve {
namespace {

using test::error_of;
using ::testing::HasSubstr;

Ports one_input(DType dtype, std::vector<int64_t> dims = {-1, 2}) {
  return {{{"x", dtype, false, dims}}, {{"y", dtype, false, dims}, {"z", dtype, false, dims}}};
}

InferRequest read(const Ports& ports, const std::string& body,
                  std::optional<size_t> json = std::nullopt) {
  return read_infer(ports, body, json, {.bytes = 1 << 20, .values = 1000});
}

std::string said(const std::string& body, std::optional<size_t> json = std::nullopt) {
  const Ports ports = one_input(DType::kF32);
  return error_of([&] { read(ports, body, json); });
}

// A request with this input, and more keys.
std::string with(const std::string& input, const std::string& more = "") {
  return R"({"inputs":[)" + input + "]" + more + "}";
}
std::string x(const std::string& rest) {
  return R"({"name":"x","shape":[1,2],"datatype":"FP32",)" + rest + "}";
}

TEST(ServeProtocol, ReadsListsFlatAndNested) {
  const Ports ports = one_input(DType::kF32);
  for (const char* data : {"[1.5,-2]", "[[1.5,-2]]"}) {
    const InferRequest r = read(
        ports, with(x(std::string("\"data\":") + data), R"(,"id":"a","parameters":{"timeout":9})"));
    ASSERT_EQ(r.inputs.size(), 1U);
    EXPECT_EQ(r.inputs[0].shape(), (Shape{1, 2}));
    EXPECT_EQ(r.inputs[0].as<float>()[0], 1.5F);
    EXPECT_EQ(r.inputs[0].as<float>()[1], -2.0F);
    EXPECT_EQ(r.id, "a");
    EXPECT_EQ(r.timeout_us, 9U);
    ASSERT_EQ(r.outputs.size(), 2U);
    EXPECT_FALSE(r.outputs[0].binary);
  }
}

TEST(ServeProtocol, ReadsBinaryBehindTheJson) {
  const std::string json =
      with(x(R"("parameters":{"binary_data_size":8})"),
           R"(,"outputs":[{"name":"z","parameters":{"binary_data":true}},{"name":"y"}])");
  const float values[] = {1, -0.0F};
  const std::string body = json + std::string(reinterpret_cast<const char*>(values), 8);
  const InferRequest r = read(one_input(DType::kF32), body, json.size());
  EXPECT_EQ(memcmp(r.inputs[0].data(), values, 8), 0);
  ASSERT_EQ(r.outputs.size(), 2U);
  EXPECT_EQ(r.outputs[0].port, 1U);
  EXPECT_TRUE(r.outputs[0].binary);
  EXPECT_FALSE(r.outputs[1].binary);
  const InferAnswer a = write_infer("m", one_input(DType::kF32), r, {r.inputs[0], r.inputs[0]});
  ASSERT_TRUE(a.json_bytes.has_value());
  EXPECT_EQ(a.body.substr(*a.json_bytes), body.substr(json.size()));
  EXPECT_EQ(
      a.body.substr(0, *a.json_bytes),
      R"({"model_name":"m","model_version":"1","outputs":[{"name":"z","datatype":"FP32","shape":)"
      R"([1,2],"parameters":{"binary_data_size":8}},{"name":"y","datatype":"FP32","shape":[1,2],)"
      R"("data":[1.0,-0.0]}]})");
}

TEST(ServeProtocol, SaysWhatIsWrongAndWhere) {
  const std::string good = R"("data":[1,2])";
  const std::pair<std::string, const char*> kWrong[] = {
      {"", "request: parse error"},
      {"[]", "request: the document is a list of 0 values; it must be an object"},
      {"{}", "request: inputs is missing"},
      {with(""), "input 'x' is missing"},
      {with(x(good) + "," + x(good)), "input 'x' is given twice"},
      {with(R"({"name":"q","shape":[1,2],"datatype":"FP32","data":[1,2]})"),
       "the model has no input 'q'; it has 'x'"},
      {with(R"({"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]})"),
       "input 'x': the model takes shape [-1,2], the request has [1,3]"},
      {with(R"({"name":"x","shape":[2],"datatype":"FP32","data":[1,2]})"),
       "input 'x': the model takes shape [-1,2], the request has [2]"},
      {with(R"({"name":"x","shape":[-1,2],"datatype":"FP32","data":[1,2]})"),
       "request: inputs[0].shape[0] is -1; it must be a whole number from 0"},
      {with(R"({"name":"x","shape":[1,2],"datatype":"INT64","data":[1,2]})"),
       "input 'x': the model takes FP32, the request has INT64"},
      {with(x(R"("data":[1])")), "input 'x': data has 1 values, its shape [1,2] needs 2"},
      {with(x(R"("data":[[1],[2]])")),
       "input 'x': data has a list of 2 values where its shape [1,2] says 1"},
      {with(x(R"("data":[[1,"2"]])")), "input 'x': data has \"2\", which is no FP32"},
      {with(x(R"("data":[1,1e39])")), "input 'x': data has 1e+39, which is no FP32"},
      {with(x(R"("data":3)")), "input 'x': data is 3; it must be a list"},
      {with(x(R"("datb":[1,2])")), "request: inputs[0].data is missing"},
      {with(x(R"("parameters":[])")), "request: inputs[0].parameters is a list of 0 values"},
      {with(x(good), R"(,"outputs":[{"name":"w"}])"),
       "the model has no output 'w'; it has 'y', 'z'"},
      {with(x(good), R"(,"outputs":[{"name":"y"},{"name":"y"}])"), "output 'y' is asked for twice"},
      {with(x(good), R"(,"outputs":[{"name":"y","parameters":{"classification":3}}])"),
       "output 'y': this server has no classification"},
      {with(x(good), R"(,"parameters":{"sequence_id":4})"), "keeps no sequences"},
      {with(x(good), R"(,"id":7)"), "request: id is 7; it must be a text"},
      {with(R"({"name":"x","shape":[4000000000,4000000000],"datatype":"FP32","data":[1]})"),
       "the model takes shape [-1,2]"},
      {with(R"({"name":"x","shape":[4000000000000000000,2],"datatype":"FP32","data":[1]})"),
       "data has 1 values, its shape [4000000000000000000,2] needs 8000000000000000000"},
  };
  for (const auto& [body, text] : kWrong) EXPECT_THAT(said(body), HasSubstr(text)) << body;
}

TEST(ServeProtocol, BinarySizesAreCheckedBeforeMemoryIsTaken) {
  const std::string json = with(x(R"("parameters":{"binary_data_size":8})"));
  const std::string more = with(x(R"("data":[1,2],"parameters":{"binary_data_size":8})"));
  const std::string huge = with(
      R"({"name":"x","shape":[1152921504606846976,2],"datatype":"FP32","parameters":{"binary_data_size":8}})");
  const std::string negative = with(x(R"("parameters":{"binary_data_size":-8})"));
  const std::string eight(8, '\0');
  EXPECT_THAT(said(json, json.size()), HasSubstr("binary_data_size is 8, and 0 bytes are left"));
  EXPECT_THAT(said(json + "1234567", json.size()), HasSubstr("7 bytes are left"));
  EXPECT_THAT(said(json + eight + "9", json.size()), HasSubstr("1 bytes of the body belong to no"));
  EXPECT_THAT(said(json, json.size() + 1), HasSubstr("Inference-Header-Content-Length is"));
  EXPECT_THAT(said(more + eight, more.size()), HasSubstr("both data and binary_data_size"));
  EXPECT_THAT(said(huge + eight, huge.size()), HasSubstr("8 bytes of binary data, its shape"));
  EXPECT_THAT(said(negative + eight, negative.size()), HasSubstr("it must be a whole number"));
  EXPECT_THAT(said("[" + json, 1), HasSubstr("parse error"));
}

template <class T>
std::vector<T> telling();
template <>
std::vector<float> telling() {
  return {0.0F, -0.0F, 1.0F, 0.1F, -3.4028235e38F, 1e-45F, 16777216.0F, 1.0F / 3};
}
template <>
std::vector<double> telling() {
  return {0.0, -0.0, 0.1, 1.7976931348623157e308, 5e-324, 9007199254740993.0};
}

template <class T>
void round_trip(const std::vector<T>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  HostTensor t(dtype_of<T>, shape);
  for (size_t i = 0; i < values.size(); ++i) t.as<T>()[i] = values[i];
  std::string json, bytes;
  append_json("t", t, &json);
  append_bytes(t, &bytes);
  const HostTensor a = tensor_of_json("t", t.dtype(), shape, nlohmann::json::parse(json));
  const HostTensor b = tensor_of_bytes("t", t.dtype(), shape, bytes);
  EXPECT_EQ(memcmp(a.data(), t.data(), t.nbytes()), 0) << json;
  EXPECT_EQ(memcmp(b.data(), t.data(), t.nbytes()), 0) << json;
}

template <class T>
std::vector<T> ends() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}};
}

TEST(ServeProtocol, EveryTypeComesBackToTheBit) {
  round_trip(telling<float>());
  round_trip(telling<double>());
  round_trip<Half>({Half(0.1F), Half(-0.0F), Half(65504), Half(6e-8F)});
  round_trip<BFloat16>({BFloat16(0.1F), BFloat16(-0.0F), BFloat16(3.38e38F)});
  round_trip(ends<int8_t>());
  round_trip(ends<int16_t>());
  round_trip(ends<int32_t>());
  round_trip(ends<int64_t>());
  round_trip(ends<uint8_t>());
  round_trip(ends<uint16_t>());
  round_trip(ends<uint32_t>());
  round_trip(ends<uint64_t>());
  HostTensor yes(DType::kBool, {2});
  yes.as<bool>()[1] = true;
  std::string json;
  append_json("t", yes, &json);
  EXPECT_EQ(json, "[false,true]");
  const HostTensor words = HostTensor::strings({2}, {"", "a\"\xc3\xa4"});
  std::string bytes;
  json.clear();
  append_json("t", words, &json);
  append_bytes(words, &bytes);
  EXPECT_EQ(bytes, std::string("\0\0\0\0\4\0\0\0a\"\xc3\xa4", 12));
  for (const HostTensor& back :
       {tensor_of_json("t", DType::kString, {2}, nlohmann::json::parse(json)),
        tensor_of_bytes("t", DType::kString, {2}, bytes)})
    EXPECT_EQ(back.string_at(1), "a\"\xc3\xa4");
}

TEST(ServeProtocol, ValuesOutOfATypesRangeAreRefused) {
  const auto json = [](DType dtype, const char* text) {
    return error_of([&] { tensor_of_json("t", dtype, {1}, nlohmann::json::parse(text)); });
  };
  EXPECT_EQ(json(DType::kI8, "[-129]"), "t: data has -129, which is no INT8");
  EXPECT_EQ(json(DType::kI8, "[128]"), "t: data has 128, which is no INT8");
  EXPECT_EQ(json(DType::kU8, "[-1]"), "t: data has -1, which is no UINT8");
  EXPECT_EQ(json(DType::kI64, "[9223372036854775808]"),
            "t: data has 9223372036854775808, which is no INT64");
  EXPECT_EQ(json(DType::kI32, "[1.0]"), "t: data has 1.0, which is no INT32");
  EXPECT_EQ(json(DType::kF16, "[65519]"), "no error");
  EXPECT_EQ(json(DType::kF32, "[3.4028235e38]"), "no error");
  EXPECT_EQ(json(DType::kBF16, "[3.4e38]"), "t: data has 3.4e+38, which is no BF16");
  EXPECT_EQ(json(DType::kBool, "[1]"), "t: data has 1, which is no BOOL");
  EXPECT_EQ(json(DType::kF16, "[65520]"), "t: data has 65520, which is no FP16");
  EXPECT_EQ(error_of([] { tensor_of_json("t", DType::kF32, {}, nlohmann::json::parse("[[1]]")); }),
            "t: data has lists, its shape [] is one value");
  EXPECT_EQ(error_of([] { tensor_of_bytes("t", DType::kBool, {1}, "\2"); }),
            "t: a BOOL is the byte 0 or 1, not 2");
  EXPECT_EQ(error_of([] {
              tensor_of_bytes("t", DType::kString, {1},
                              std::string("\xff\xff\xff\xff"
                                          "a",
                                          5));
            }),
            "t: its bytes end within string 0 of 1");
  EXPECT_EQ(
      error_of([] { tensor_of_bytes("t", DType::kString, {1}, std::string("\0\0\0\0a", 5)); }),
      "t: 1 byte are left behind its 1 strings");
  EXPECT_THAT(error_of([] { tensor_of_bytes("t", DType::kString, {int64_t{1} << 40}, ""); }),
              HasSubstr("at most 1048576 are read"));
}

TEST(ServeProtocol, WhatJsonCannotHoldIsRefused) {
  HostTensor t(DType::kF32, {2});
  t.as<float>()[1] = std::nanf("");
  std::string json;
  EXPECT_EQ(error_of([&] { append_json("output 'y'", t, &json); }),
            "output 'y': element 1 is NaN, which JSON cannot hold: ask for binary data");
  EXPECT_THAT(error_of([&] { append_json("o", HostTensor::strings({1}, {"\xff"}), &json); }),
              HasSubstr("a string is no UTF-8"));
}

}  // namespace
}  // namespace wick::serve
