"""What makes worker processes: loaders, processes, pools. Data: adding a class is adding a line.

A name stands here under every path by which it is documented. Each says by which argument a worker can be made to run
something of ours, and at which position that stands; None where it can only be given by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dfannotate.manifest import SiteKind


@dataclass(frozen=True)
class Maker:
    """A class or function that makes worker processes."""

    kind: SiteKind
    argument: str
    position: int | None
    is_asked: bool = False
    """Whether only the run can tell that it makes workers."""

    @property
    def is_process(self) -> bool:
        """Whether it is a class whose ``run`` is what the worker runs."""
        return self.argument == "target"


_LOADER = Maker("dataloader", "worker_init_fn", 10)
_GRAPH_LOADER = Maker("dataloader", "worker_init_fn", None)
_PROCESS = Maker("process", "target", 1)
_SPAWN = Maker("process", "fn", 0)
_POOL = Maker("pool", "initializer", 1)
_EXECUTOR = Maker("pool", "initializer", 2)

_GRAPH_LOADERS = """
    ClusterLoader DataListLoader DataLoader DenseDataLoader GraphSAINTEdgeSampler GraphSAINTNodeSampler
    GraphSAINTRandomWalkSampler GraphSAINTSampler HGTLoader LinkLoader LinkNeighborLoader NeighborLoader
    NeighborSampler NodeLoader RandomNodeLoader ShaDowKHopSampler TemporalDataLoader ZipLoader
"""
_OLD_GRAPH_LOADERS = """
    ClusterLoader DataListLoader DataLoader DenseDataLoader GraphSAINTEdgeSampler GraphSAINTNodeSampler
    GraphSAINTRandomWalkSampler GraphSAINTSampler NeighborSampler RandomNodeSampler ShaDowKHopSampler
"""
_GRAPH_MODULES = {
    "cluster": "ClusterLoader",
    "data_list_loader": "DataListLoader",
    "dataloader": "DataLoader",
    "dense_data_loader": "DenseDataLoader",
    "hgt_loader": "HGTLoader",
    "link_loader": "LinkLoader",
    "link_neighbor_loader": "LinkNeighborLoader",
    "neighbor_loader": "NeighborLoader",
    "neighbor_sampler": "NeighborSampler",
    "node_loader": "NodeLoader",
    "random_node_loader": "RandomNodeLoader",
    "shadow": "ShaDowKHopSampler",
    "temporal_dataloader": "TemporalDataLoader",
    "zip_loader": "ZipLoader",
}

MAKERS: dict[str, Maker] = {
    "torch.utils.data.DataLoader": _LOADER,
    "torch.utils.data.dataloader.DataLoader": _LOADER,
    "torchdata.stateful_dataloader.StatefulDataLoader": _LOADER,
    "torchdata.stateful_dataloader.stateful_dataloader.StatefulDataLoader": _LOADER,
    **{f"torch_geometric.loader.{name}": _GRAPH_LOADER for name in _GRAPH_LOADERS.split()},
    **{f"torch_geometric.loader.{module}.{name}": _GRAPH_LOADER for module, name in _GRAPH_MODULES.items()},
    **{f"torch_geometric.data.{name}": _GRAPH_LOADER for name in _OLD_GRAPH_LOADERS.split()},
    "multiprocessing.Process": _PROCESS,
    "multiprocessing.process.BaseProcess": _PROCESS,
    **{f"multiprocessing.context.{name}Process": _PROCESS for name in ("", "Fork", "Spawn", "ForkServer")},
    "torch.multiprocessing.Process": _PROCESS,
    "torch.multiprocessing.spawn": _SPAWN,
    "torch.multiprocessing.start_processes": _SPAWN,
    "torch.multiprocessing.spawn.spawn": _SPAWN,
    "torch.multiprocessing.spawn.start_processes": _SPAWN,
    "multiprocessing.Pool": _POOL,
    "multiprocessing.pool.Pool": _POOL,
    "torch.multiprocessing.Pool": _POOL,
    "torch.multiprocessing.pool.Pool": _POOL,
    "concurrent.futures.ProcessPoolExecutor": _EXECUTOR,
    "concurrent.futures.process.ProcessPoolExecutor": _EXECUTOR,
}
"""Dotted name -> what it makes."""

OF_CONTEXTS: dict[str, Maker] = {"Process": replace(_PROCESS, is_asked=True), "Pool": replace(_POOL, is_asked=True)}
"""What a context of multiprocessing has by a name."""

_UNREACHED = """
    joblib.Parallel joblib.parallel.Parallel loky.get_reusable_executor loky.ProcessPoolExecutor
    joblib.externals.loky.get_reusable_executor joblib.externals.loky.ProcessPoolExecutor
    multiprocess.Process multiprocess.Pool multiprocess.pool.Pool billiard.Process billiard.Pool billiard.pool.Pool
    pathos.multiprocessing.ProcessPool pathos.pools.ProcessPool pebble.ProcessPool
    distributed.LocalCluster dask.distributed.LocalCluster
"""
UNREACHED = frozenset(_UNREACHED.split())
"""What makes processes that start anew, in which tracing cannot be started from where they are made."""

FORKS = frozenset({"os.fork", "os.forkpty"})
"""Calls whose child nobody can initialize from outside."""
