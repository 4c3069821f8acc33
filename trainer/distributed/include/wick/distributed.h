// Training by several processes: groups of ranks, collectives, DataParallel. Names are
// torch.distributed's where it has the same thing.
// Example (examples/ddp_mlp/main.cc):
//
//   distributed::Group world = distributed::init();
//   distributed::DataParallel ddp(net, world, {.shards = 8});
//   for (distributed::Batch& batch : loader) {
//     for (distributed::Part& part : ddp.parts(batch)) {
//       ddp.backward(cross_entropy(ddp(part.x), part.y), part);
//     }
//     loss = ddp.finish();
//     optimizer.step();
//   }
//
// Everything throws wick::Error.
#pragma once

#include "trainer/distributed/group.h"
#include "trainer/distributed/hang_report.h"
#include "trainer/distributed/pace.h"
#include "trainer/distributed/parallel/checkpoint.h"
#include "trainer/distributed/parallel/data_parallel.h"
#include "trainer/distributed/parallel/fully_shard.h"
#include "trainer/distributed/parallel/loader.h"
#include "trainer/distributed/parallel/sync_batch_norm.h"
#include "trainer/distributed/pipeline/pipeline.h"
#include "trainer/distributed/pipeline/stage.h"
#include "trainer/distributed/plan/parallel_plan.h"
#include "trainer/distributed/rank_trace.h"
#include "trainer/distributed/split/tensor_parallel.h"
