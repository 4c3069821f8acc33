#include "trainer/profile/range.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/tracer.h"

namespace wick {
namespace {

thread_local Tracer* g_tracer = nullptr;
thread_local ModuleScope* g_module_scope = nullptr;

}  // namespace

void Tracer::on_gradient(const std::vector<Tensor>&, const char*, const std::source_location&) {}
bool Tracer::on_control(const ControlCall&, std::vector<Tensor>*) { return false; }

Tracer* active_tracer() { return g_tracer; }
TracerScope::TracerScope(Tracer* tracer) : saved_(g_tracer) { g_tracer = tracer; }
TracerScope::~TracerScope() { g_tracer = saved_; }

ModuleScope::ModuleScope(const std::string& name) : name_(&name), outer_(g_module_scope) {
  g_module_scope = this;
  if (ranges_heard()) [[unlikely]]
    begin_range(name.c_str(), RangeKind::kModule);
}
ModuleScope::~ModuleScope() {
  if (ranges_heard()) [[unlikely]]
    end_range(name_->c_str(), RangeKind::kModule);
  g_module_scope = outer_;
}

std::string module_path() {
  std::string path;
  for (ModuleScope* s = g_module_scope; s != nullptr; s = s->outer_) {
    if (s->name_->empty()) continue;
    path = path.empty() ? *s->name_ : *s->name_ + "." + path;
  }
  return path;
}

IntrusivePtr<const PathText> module_path_text() {
  if (g_module_scope == nullptr) return {};
  if (!g_module_scope->text_) {
    auto* made = new PathText;
    made->text = module_path();
    g_module_scope->text_ = IntrusivePtr<const PathText>(made);
  }
  return g_module_scope->text_;
}

}  // namespace wick
