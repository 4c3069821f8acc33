// The binder's second half: which backend runs which steps, and where values are stored.
#include <cstring>

#include "runtime/exec/homes.h"

namespace wick {

namespace {

Status keep_text(Arena& arena, const char* text, const char** kept) {
  const size_t bytes = strlen(text) + 1;
  WICK_ASSIGN(auto copy, arena.array<char>(bytes));
  memcpy(copy.data(), text, bytes);
  *kept = copy.data();
  return {};
}

bool has_floats(Span<const PlanValue> values, const PlanStep& step) {
  for (Span<const uint32_t> ids : {step.in, step.out}) {
    for (uint32_t v : ids) {
      if (v != kNoIndex && is_float(values[v].dtype)) return true;
    }
  }
  return false;
}

}  // namespace

// The base that place() computes addresses from before compile() has allocated the memory; nobody
// reads through it.
static char* base_of(const StagePlan& plan) {
  if (plan.memory.data != nullptr) return static_cast<char*>(plan.memory.data);
  return reinterpret_cast<char*>(uintptr_t{kAlignment});  // NOLINT: only an address
}

Binder::Types Binder::types_of(const PlanStep& step) const {
  const Types t = types(step.in.size(), step.out.size());
  for (size_t i = 0; i < t.in.size(); ++i) t.in[i] = values_.as_planned(step.in[i]);
  for (size_t i = 0; i < t.out.size(); ++i) {
    t.out[i] = values_.as_planned(step.out[i]);
    t.out[i].data = nullptr;
  }
  return t;
}

// Asks the session's backend which steps it runs, and why not for the others.
Status Binder::ask_backend(StagePlan& plan, const RegionDef& region, Span<uint8_t> taken) {
  if (machine_.backend == nullptr) return {};
  auto steps = plan.steps;
  WICK_ASSIGN(plan.why, plan.arena.array<const char*>(steps.size()));
  size_t takes = 0;
  bool floats_left = false;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].writes_state) {
      floats_left = floats_left || has_floats(values_.planned, steps[s]);
      plan.why[s] = "it writes the state in place, in the host's memory";
      continue;
    }
    const auto [in, out] = types_of(steps[s]);
    const NodeDef& node = *steps[s].node;
    const KernelQuery query{node.op,          node.attrs,  in,      out,
                            machine_.threads, node.custom, nullptr, machine_.edition};
    const Status can = machine_.backend->why_not(query);
    if (can.code() == Code::kDevice) return can;  // the device was lost
    taken[s] = can.ok() ? 1 : 0;
    takes += taken[s];
    // Steps that only the backend can run stay there whatever they cost.
    if (can.ok() && find_kernel(machine_.sets, query) == nullptr && !is_view(node.op)) taken[s] = 2;
    floats_left = floats_left || (!can.ok() && has_floats(values_.planned, steps[s]));
    if (!can.ok()) WICK_TRY(keep_text(plan.arena, can.message(), &plan.why[s]));
  }
  // A program that the device can run as a whole, but for steps on integers, runs there: the user
  // asked for it.
  const bool whole_program =
      plan.first == 0 && plan.end == region.nodes.size() && &region == &values_.entry.regions[0];
  if (whole_program && takes == steps.size()) return {};
  const bool all_floats = whole_program && !floats_left;
  WICK_ASSIGN(Reach reach, reach_of(plan));
  for (size_t s = 0, end = 0; s < steps.size(); s = end + 1) {
    bool must = false;
    for (end = s; end < steps.size() && taken[end] != 0; ++end)
      must = must || taken[end] == 2 || (all_floats && has_floats(values_.planned, steps[end]));
    if (end == s || must) continue;
    PartitionSpec spec;
    WICK_TRY(crossing_values(plan, s, end - s, memory_.temp, reach, &spec));
    const Status pays = machine_.backend->pays(spec);
    if (pays.ok()) continue;
    const char* text = nullptr;
    WICK_TRY(keep_text(plan.arena, pays.message(), &text));
    for (size_t k = s; k < end; ++k) {
      taken[k] = 0;
      plan.why[k] = text;
    }
  }
  return {};
}

Result<Binder::Reach> Binder::reach_of(const StagePlan& plan) {
  Reach reach;
  WICK_ASSIGN(reach.last_reader, memory_.temp.array<uint32_t>(values_.size()));
  WICK_ASSIGN(reach.seen, memory_.temp.array<uint32_t>(values_.size()));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (uint32_t v : plan.steps[s].in) {
      if (v != kNoIndex && reach.last_reader[v] != kNoIndex)
        reach.last_reader[v] = static_cast<uint32_t>(s);
    }
    for (uint32_t v : plan.steps[s].out) {
      if (values_.last_use[v] >= plan.end) reach.last_reader[v] = kNoIndex;
    }
  }
  return reach;
}

// Lists the values that enter these steps from outside and those that are read outside of them.
Status Binder::crossing_values(const StagePlan& plan, size_t first, size_t count, Arena& arena,
                               Reach& reach, PartitionSpec* spec) const {
  spec->values = values_.planned;
  spec->steps = plan.steps.subspan(first, count);
  Span<uint32_t> lists[2];  // counted before they are filled
  for (int round = 0;; ++round) {
    size_t ins = 0, outs = 0;
    const uint32_t seen = ++reach.stamp;
    for (const PlanStep& step : spec->steps) {
      for (uint32_t v : step.in) {
        if (v == kNoIndex || values_[v].data != nullptr || reach.seen[v] == seen) continue;
        reach.seen[v] = seen;
        if (round == 1) lists[0][ins] = v;
        ++ins;
      }
      for (uint32_t v : step.out) {
        reach.seen[v] = seen;
        if (reach.last_reader[v] < first + count) continue;
        if (round == 1) lists[1][outs] = v;
        ++outs;
      }
    }
    if (round == 1) break;
    WICK_ASSIGN(lists[0], arena.array<uint32_t>(ins));
    WICK_ASSIGN(lists[1], arena.array<uint32_t>(outs));
  }
  spec->inputs = lists[0];
  spec->outputs = lists[1];
  return {};
}

// Marks aliases and cuts the steps into partitions; one error lists every step that nobody can run.
Status Binder::choose_backends(StagePlan& plan, const RegionDef& region) {
  auto& partitions = plan.partitions;
  auto steps = plan.steps;
  WICK_ASSIGN(partitions, plan.arena.array<BoundPartition>(steps.size()));
  WICK_ASSIGN(auto taken, memory_.temp.array<uint8_t>(steps.size()));
  WICK_TRY(ask_backend(plan, region, taken));
  size_t cuts = 0, missing = 0, at = 0;
  char list[400];
  list[0] = '\0';
  for (size_t s = 0; s < steps.size(); ++s) {
    PlanStep& step = steps[s];
    const auto [in, out] = types_of(step);
    Status why;
    KernelQuery query{step.node->op, step.node->attrs, in,
                      out,           machine_.threads, step.node->custom,
                      nullptr,       machine_.edition, &why};
    Backend* who = &machine_.cpu;
    if (taken[s] != 0) {
      who = machine_.backend;
    } else if (is_view(step.node->op) && values_[step.in[0]].data == nullptr) {
      step.alias = true;
    } else if (step.row = find_kernel(machine_.sets, query); step.row == nullptr) {
      ++missing;
      if (at + 120 < sizeof(list)) {
        at += part_of_text(list + at, sizeof(list) - at, "%s%s of %s (node %.40s)",
                           at == 0 ? "" : ", ", step.node->info->name,
                           in.empty() ? "no input" : dtype_name(in[0].dtype), step.node->name);
        if (!why.ok()) at += part_of_text(list + at, sizeof(list) - at, ": %.120s", why.message());
      }
    } else if ((step.row->flags & kInPlace) == 0) {
      step.writes_state = false;  // its result is copied to the state after the run
    }
    if (cuts == 0 || partitions[cuts - 1].backend != who) {
      partitions[cuts].backend = who;
      partitions[cuts++].first = static_cast<uint32_t>(s);
    }
    ++partitions[cuts - 1].count;
  }
  partitions = partitions.subspan(0, cuts);
  if (missing == 0) return {};
  return error(Code::kUnsupported, "%zu steps have no kernel: %s%s", missing, list,
               why_missing(machine_.sets));
}

// Live ranges are counted in steps. A device partition may access host memory at any time of its
// run, so there a range covers the whole partition.
Status Binder::find_homes(const StagePlan& plan, Homes& homes) {
  using Home = Homes::Home;
  const size_t n = values_.size();
  WICK_ASSIGN(homes.parent, memory_.temp.array<uint32_t>(n));
  WICK_ASSIGN(homes.home, memory_.temp.array<Home>(n));
  WICK_ASSIGN(homes.ranges, memory_.temp.array<BufferRequest>(n));
  WICK_ASSIGN(homes.within, memory_.temp.array<size_t>(n));
  WICK_ASSIGN(homes.written, memory_.temp.array<int32_t>(n));
  for (uint32_t v = 0; v < n; ++v) homes.parent[v] = v;
  WICK_ASSIGN(auto maker, memory_.temp.array<uint32_t>(n));  // of the partition that makes it, + 1
  for (uint32_t p = 0; p < plan.partitions.size(); ++p) {
    const BoundPartition& part = plan.partitions[p];
    bool host = part.backend->in_host_memory();
    for (uint32_t s = part.first; s < part.first + part.count; ++s) {
      const PlanStep& step = plan.steps[s];
      auto first = static_cast<int32_t>(host ? s : part.first);
      auto last = static_cast<int32_t>(host ? s : part.first + part.count - 1);
      for (uint32_t v : step.in) {
        if (v == kNoIndex || values_[v].data != nullptr) continue;
        homes.use(v, last);
        if (maker[v] == 0) {
          homes.home[v] = Home::kInput;
        } else if (homes.home[v] == Home::kNowhere && maker[v] != p + 1) {
          // A device makes it and another partition reads it: it needs host memory.
          homes.home[v] = Home::kBuffer;
        }
      }
      for (uint32_t v : step.out) {
        maker[v] = p + 1;
        homes.home[v] = host ? Home::kBuffer : Home::kNowhere;
        homes.ranges[v] = {0, first, last};
        homes.written[v] = last;
      }
      if (step.alias || step.writes_state) homes.parent[step.out[0]] = homes.root(step.in[0]);
    }
  }
  for (const PlanStep& step : plan.steps) {  // values that are read after this stage
    for (uint32_t v : step.out) {
      if (values_.last_use[v] < plan.end) continue;
      homes.use(v, static_cast<int32_t>(plan.steps.size()));
      Home& home = homes.home[homes.root(v)];
      if (home == Home::kNowhere) home = Home::kBuffer;
    }
  }
  return {};
}

// Runs steps in place: output 0 reuses input 0's buffer if this step is the last reader and reads
// it only once.
void Binder::take_over(const StagePlan& plan, Homes& homes) const {
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.row == nullptr || (step.row->flags & kInPlace) == 0 || step.in.empty() ||
        step.in[0] == kNoIndex)
      continue;
    const PlanValue &x = values_[step.in[0]], &y = values_[step.out[0]];
    if (x.data != nullptr || x.dtype != y.dtype || x.shape != y.shape || x.block != y.block)
      continue;
    uint32_t from = homes.root(step.in[0]), to = homes.root(step.out[0]);
    bool once = true;
    for (size_t i = 1; i < step.in.size(); ++i) {
      once = once && (step.in[i] == kNoIndex || homes.root(step.in[i]) != from);
    }
    if (!once || homes.home[from] != Homes::Home::kBuffer ||
        homes.ranges[from].last != static_cast<int32_t>(s))
      continue;
    homes.put(to, from, 0);
  }
}

Status Binder::place(StagePlan& plan, const RegionDef& region) {
  Homes homes;
  WICK_TRY(find_homes(plan, homes));
  take_over(plan, homes);
  const size_t n = values_.size();
  for (uint32_t v = 0; v < n; ++v) {
    if (homes.parent[v] != v || homes.home[v] != Homes::Home::kBuffer) continue;
    size_t& bytes = homes.ranges[v].bytes;
    bytes = values_[v].view(nullptr).nbytes();
    if (bytes == 0) bytes = 1;  // an empty tensor still has an address
  }
  WICK_ASSIGN(auto offsets, memory_.temp.array<size_t>(n));
  WICK_TRY(plan_memory(homes.ranges, offsets, &plan.planned_bytes, memory_.temp_allocator));
  WICK_TRY(join(plan, homes, offsets));
#ifndef NDEBUG
  WICK_TRY(verify_memory(homes.ranges, offsets, plan.planned_bytes));
#endif
  WICK_ASSIGN(auto used, memory_.temp.array<size_t>(plan.steps.size()));
  WICK_TRY(memory_in_use(homes.ranges, offsets, used, memory_.temp_allocator));
  for (size_t s = 0; s < used.size(); ++s) plan.steps[s].used = used[s];
  // The memory is allocated in compile(), when the size of the kernels' scratch is known; until
  // then addresses are relative to the previous allocation, or to a dummy address.
  WICK_TRY(memory_.allow(plan.memory, plan.planned_bytes));
  char* const base = base_of(plan);
  Array<InputUse> uses(plan.allocator);
  for (const NodeDef& node : region.nodes.subspan(plan.first, plan.end - plan.first)) {
    for (uint32_t v : node.outputs) {
      const PlanValue& value = values_[v];
      values_.views[v] = value.view();
      if (value.data != nullptr) continue;
      uint32_t r = homes.root(v);
      if (homes.home[r] == Homes::Home::kInput) WICK_TRY(uses.push_back({v, r}));
      if (homes.home[r] == Homes::Home::kBuffer)
        values_.views[v].data = base + offsets[r] + homes.place(v);
    }
  }
  plan.input_uses = {uses.data(), uses.size()};  // its memory stays until the arena is cleared
  return {};
}

Status Binder::compile(StagePlan& plan) {
  auto& partitions = plan.partitions;
  auto steps = plan.steps;
  size_t scratch = 0;
  const auto buffers = static_cast<size_t>(align_up(plan.planned_bytes, kAlignment));
  WICK_ASSIGN(Reach reach, reach_of(plan));
  for (uint32_t p = 0; p < partitions.size(); ++p) {
    BoundPartition& part = partitions[p];
    PartitionSpec spec;
    WICK_TRY(crossing_values(plan, part.first, part.count, plan.arena, reach, &spec));
    spec.first_step = plan.first_step + part.first;
    spec.planned_bytes = buffers;
    spec.threads = machine_.threads;
    spec.edition = machine_.edition;
    spec.cache = &machine_.cache;
    spec.pool = machine_.pool;
    spec.traced = machine_.trace != nullptr;
    part.inputs = spec.inputs;
    part.outputs = spec.outputs;
    WICK_ASSIGN(auto compiled, part.backend->compile(spec, plan.allocator));
    part.compiled = compiled.release();
    if (part.compiled->scratch_bytes() > scratch) scratch = part.compiled->scratch_bytes();
  }
  memory_.allocator.set_shared(machine_.cache.bytes());
  if (scratch > SIZE_MAX / 4) {
    return error(Code::kBudgetExceeded, "max_ram: the kernels need %zu bytes to work in", scratch);
  }
  char* const before = base_of(plan);
  WICK_TRY(memory_.grow(plan.memory, buffers + scratch));
  auto* after = static_cast<char*>(plan.memory.data);
  for (const PlanStep& step : steps) {
    for (uint32_t v : step.out) {
      auto* p = static_cast<char*>(values_.views[v].data);
      if (p != nullptr && before != after) values_.views[v].data = after + (p - before);
    }
  }
  return {};
}

}  // namespace wick
