// A build without MPI runs one process, and says so where a launcher started more.
#include <cstdlib>
#include <string>

#include "trainer/distributed/mpi/world.h"
#include "wick/error.h"

namespace wick::distributed {

bool built_with_mpi() { return false; }

std::unique_ptr<Transport> join_world() {
  // Open MPI's, MPICH's and Slurm's number of processes.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const char* size = std::getenv(name);
    if (size == nullptr || atoi(size) <= 1) continue;
    throw Error(std::string("[distributed] this build has no MPI, but ") + name + " is " + size +
                    ": install libopenmpi-dev or libmpich-dev, configure again and rebuild, or "
                    "start one process",
                Code::kUnsupported);
  }
  return alone();
}

}  // namespace wick::distributed
