// Training by several processes: groups of ranks, collectives, DataParallel. See
// docs/use/distributed.md.
#pragma once

#include "trainer/distributed/group.h"
#include "trainer/distributed/hang_report.h"
#include "trainer/distributed/parallel/data_parallel.h"
#include "trainer/distributed/parallel/loader.h"
#include "trainer/distributed/parallel/sync_batch_norm.h"
