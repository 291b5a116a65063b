import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI

import numpy as np
import atexit
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("mpi-stencil")


@_dft.log
def exchange(comm, field):
    rank, size = comm.Get_rank(), comm.Get_size()
    comm.Sendrecv(field[1:2], dest=(rank - 1) % size, recvbuf=field[-1:], source=(rank + 1) % size)


@_dft.log
def write(comm, field, path):
    handle = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    handle.Write_at_all(comm.Get_rank() * field.nbytes, field)
    handle.Close()


@_dft.log
def simulate(comm, steps):
    field = np.zeros(1024)
    for _ in range(steps):
        exchange(comm, field)
    write(comm, field, "field.bin")


if __name__ == "__main__":
    MPI.Init()
    if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
        atexit.register(_dft_log.finalize)
    simulate(MPI.COMM_WORLD, 10)
    dftracer.get_instance().finalize()
    MPI.Finalize()
