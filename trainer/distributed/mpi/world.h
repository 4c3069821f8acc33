// The job that this process is one of.
#pragma once

#include <memory>

#include "trainer/distributed/comm/transport.h"

namespace wick::distributed {

// Whether this build has MPI.
bool built_with_mpi();
// Returns the transport of MPI_COMM_WORLD, and starts MPI unless the program did. Without MPI: of a
// job of one process; throws Error if a launcher started several. Called once.
std::unique_ptr<Transport> join_world();
// Returns the transport of a job of one process.
std::unique_ptr<Transport> alone();

}  // namespace wick::distributed
