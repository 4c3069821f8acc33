#include "exporter/onnx/checker.h"

#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>

#include "wick/error.h"

namespace wick::onnx {

void check(const std::string& bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    throw Error("ONNX checker: the written model cannot be read back", Code::kInternal);
  try {
    ::onnx::checker::check_model(model);
  } catch (const std::exception& e) {
    throw Error(std::string("ONNX checker: ") + e.what(), Code::kInternal);
  }
}

std::vector<SchemaChanges> schema_changes(int newest) {
  std::map<std::string, SchemaChanges> found;
  for (const ::onnx::OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() || schema.since_version() > newest) continue;
    SchemaChanges& op = found[schema.Name()];
    op.name = schema.Name();
    if (schema.Deprecated()) {
      op.deprecated = schema.since_version();
    } else {
      op.changes.push_back(schema.since_version());
    }
  }
  std::vector<SchemaChanges> list;
  for (auto& [name, op] : found) {
    std::sort(op.changes.begin(), op.changes.end());
    list.push_back(std::move(op));
  }
  return list;
}

}  // namespace wick::onnx
