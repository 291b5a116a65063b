"""The category of a function's events: by an explicit pattern, by the role that the function plays, or by its module.

Roles are the groups of the tracer's own ``ai`` interface (compute, data, dataloader, comm, device, checkpoint,
pipeline), with io and lifecycle. What a function does is read off its class's bases, its name and what it calls; tables
first, their reading second. A role that cannot be told is not guessed: such a function keeps its module's category.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, get_args

from dfannotate.facts import FunctionFacts, ModuleFacts
from dfannotate.rules.selection import call_cost

Role = Literal["compute", "data", "dataloader", "comm", "device", "checkpoint", "pipeline", "io", "lifecycle"]
ROLES: tuple[Role, ...] = get_args(Role)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Every table is a sequence of patterns with roles, the first match wins; so what is special stands before what is not.

DUNDERS: dict[str, Role] = {
    **dict.fromkeys(
        _words("__init__ __post_init__ __new__ __enter__ __exit__ __aenter__ __aexit__ __del__"), "lifecycle"
    ),
}
"""Special methods that mean the same in every class."""

BASES: tuple[tuple[str, str, Role], ...] = (
    ("*Dataset", "*", "data"),
    ("*DataPipe", "*", "data"),
    ("*.DataLoader", "*", "dataloader"),
    ("*Sampler", "*", "dataloader"),
    ("torchvision.transforms.*", "*", "data"),
    ("torch.autograd.Function", "*", "compute"),
    ("torch.optim.*", "step", "compute"),
    ("*Module", "*_dataloader", "dataloader"),
    ("*Module", "*_step", "compute"),
    ("*Module", "forward*", "compute"),
    ("*Module", "__call__", "compute"),
    ("*.Layer", "call", "compute"),
    ("*.Model", "call", "compute"),
    ("*.Model", "*_step", "compute"),
)
"""Base of the class, at any distance (resolved, dotted) -> method -> role."""

NAMES: tuple[tuple[Role, tuple[str, ...]], ...] = (
    (
        "checkpoint",
        _words(
            """
            *checkpoint* *ckpt* save_state* load_state* restore restore_* save_model* load_model* resume resume_*
            save_weights* load_weights* save_pretrained* load_pretrained* save_snapshot* load_snapshot*
            """
        ),
    ),
    (
        "dataloader",
        _words(
            """
            *dataloader* *data_loader* *_loader *_loaders fetch_batch* next_batch* get_batch* load_batch* collate
            collate_* *_collate *_collate_fn worker_init* prefetch prefetch_*
            """
        ),
    ),
    (
        "comm",
        _words(
            """
            send send_* isend recv recv_* irecv receive receive_* broadcast broadcast_* bcast all_reduce* allreduce*
            reduce_scatter* all_gather* allgather* gather gather_* scatter barrier barrier_* all_to_all* alltoall*
            exchange exchange_* halo_* sync_grad* average_grad*
            """
        ),
    ),
    (
        "compute",
        _words(
            """
            forward forward_* *_forward backward backward_* *_backward step *_step optimizer_* compute compute_* predict
            infer inference loss *_loss *gradient* *_kernel matmul* solve solve_* convolve*
            """
        ),
    ),
    (
        "pipeline",
        _words(
            """
            train train_* training training_* fit fit_* epoch *_epoch *_epochs one_epoch run_epoch* evaluate evaluate_*
            evaluation eval eval_* validate validate_model validate_epoch validation validation_loop test test_model
            test_loop *_loop
            """
        ),
    ),
    (
        "device",
        _words(
            """
            to_device to_gpu to_cpu *_to_device *_to_gpu *_to_cpu *_to_host move_to_* transfer_to_* copy_to_device
            device_put pin_memory
            """
        ),
    ),
    (
        "data",
        _words(
            """
            preprocess* pre_process* augment augment_* *_augmentation tokenize* tokenise* transform transform_*
            *_transform *_transforms normalize* normalise* resize* crop crop_* *_dataset *_datasets load_data
            prepare_data* make_data* make_batch* decode_* clean_data*
            """
        ),
    ),
    (
        "lifecycle",
        _words(
            """
            init init_* initialize* initialise* setup setup_* set_up teardown* tear_down* finalize* finalise* close
            close_* open start start_* stop stop_* shutdown* cleanup* clean_up* terminate* connect disconnect configure*
            build_model* make_model* create_model*
            """
        ),
    ),
)
"""Name of a function without leading and trailing underscores -> role."""

CALLS: tuple[tuple[Role, tuple[str, ...]], ...] = (
    ("checkpoint", _words("torch.distributed.checkpoint.* orbax.* *.load_state_dict *.save_pretrained *.load_weights")),
    (
        "comm",
        _words(
            """
            torch.distributed.* mpi4py.* horovod.* zmq.* ucp.* grpc.* socket.* websockets.* nccl.* deepspeed.comm.*
            multiprocessing.connection.* *.sendall *.recv *.recvfrom *.recv_into *.send_bytes *.recv_bytes *.send_pyobj
            *.recv_pyobj *.send_json *.recv_json *.allreduce *.Allreduce *.allgather *.Allgather *.alltoall *.Alltoall
            *.bcast *.Bcast *.Barrier *.Isend *.Irecv *.Send *.Recv *.Sendrecv *.sendrecv
            """
        ),
    ),
    ("compute", _words("*.backward torch.autograd.*")),
    ("dataloader", _words("*.DataLoader *.StatefulDataLoader *Sampler *.next_batch")),
    (
        "data",
        _words(
            """
            PIL.* cv2.* torchvision.transforms.* torchvision.io.* torchaudio.transforms.* albumentations.* imgaug.*
            kornia.* skimage.* nltk.* spacy.* sklearn.preprocessing.* transformers.AutoTokenizer* *.tokenize
            *.random_split
            """
        ),
    ),
    ("device", _words("torch.cuda.* jax.device_put *.cuda *.cpu *.pin_memory")),
    ("io", ()),  # what rules/selection.py takes for I/O
    (
        "compute",
        _words(
            """
            torch.* numpy.* scipy.* jax.* cupy.* math.* cmath.* statistics.* numexpr.* sklearn.* tensorflow.* xgboost.*
            lightgbm.* sympy.* numba.* *.matmul *.einsum *.dot *.predict
            """
        ),
    ),
)
"""What a function calls (resolved, dotted) -> role."""

WAITING = _words("time.sleep asyncio.sleep trio.sleep anyio.sleep *.sleep *.wait *.join *.acquire *.get *.put")
"""Calls that may wait for anything, and tell nothing of what the function is for."""

OWNERS: tuple[tuple[str, str, Role], ...] = (
    ("*dataset", "*", "data"),
    ("*transform", "*", "data"),
    ("*tokenizer", "*", "data"),
    ("*dataloader", "*", "dataloader"),
    ("*sampler", "*", "dataloader"),
    ("*loader", "__iter__", "dataloader"),
    ("*loader", "__next__", "dataloader"),
    ("*checkpoint*", "*", "checkpoint"),
    ("*communicator", "*", "comm"),
)
"""Name of the class, in lower case -> method -> role."""

STEPS = frozenset(_words("torch.no_grad torch.inference_mode torch.autocast"))
"""Decorators of what computes; in a loop, it also waits for its data, and is the pipeline."""

WHOLE_PROGRAMS = frozenset(_words("main run cli __main__"))
"""Names of functions that do everything, so that none of it is theirs."""

LATE_NAMES: tuple[tuple[str, Role], ...] = (
    *((pattern, "io") for pattern in _words("read read_* write write_* dump dump_* download* upload* save save_*")),
    *((pattern, "io") for pattern in _words("load load_* flush fsync")),
)
"""Names that are asked last: what a function called ``load`` does is better told by its calls."""


@dataclass(frozen=True)
class Categories:
    """How the functions of one file are filed. ``patterns`` are compared, in their order, with the file's path, with
    ``path::Qualname``, with the module's dotted name, and with that and the qualified name; ``*`` matches anything.

    ``bases``: qualified name of a class -> the names of all its bases, as far as the project knows them."""

    by_role: bool = False
    patterns: tuple[tuple[str, str], ...] = ()
    path: str = ""
    module: str = ""
    bases: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def category_of(self, function: FunctionFacts, facts: ModuleFacts) -> str | None:
        """The category that a pattern or the role gives; None where neither says anything."""
        places = (
            self.path,
            f"{self.path}::{function.qualname}",
            self.module,
            f"{self.module}.{function.qualname}",
        )
        for pattern, category in self.patterns:
            if any(fnmatchcase(place, pattern) for place in places):
                return category
        return role_of(function, facts, self.bases) if self.by_role else None


def role_of(
    function: FunctionFacts, facts: ModuleFacts, bases: Mapping[str, frozenset[str]] | None = None
) -> Role | None:
    """What a function does, None where its source does not tell. ``bases`` as in ``Categories``; without it, the bases
    that the file itself shows."""
    name = function.name
    if name in DUNDERS:
        return DUNDERS[name]
    if name in WHOLE_PROGRAMS and function.scope == "module":
        return None
    above = _bases(function, facts, bases or {})
    for base, method, role in BASES:
        if fnmatchcase(name, method) and any(fnmatchcase(known, base) for known in above):
            return role
    role_by_name = _by_name(name.strip("_").lower())
    if role_by_name:
        return role_by_name
    owner = function.owner.rpartition(".")[2].lower() if function.scope == "class" else ""
    for pattern, method, role in OWNERS:
        if owner and fnmatchcase(owner, pattern) and fnmatchcase(name, method):
            return role
    role_by_calls = _by_calls(function, facts)
    if role_by_calls:
        return role_by_calls
    if not STEPS.isdisjoint(function.decorators):
        return "pipeline" if function.has_loop else "compute"
    return next((role for pattern, role in LATE_NAMES if fnmatchcase(name.strip("_").lower(), pattern)), None)


def _bases(function: FunctionFacts, facts: ModuleFacts, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if function.scope != "class":
        return frozenset()
    if function.owner in known:
        return known[function.owner]
    classes = {klass.qualname: klass for klass in facts.classes}
    found: set[str] = set()
    pending = [function.owner]
    while pending:
        klass = classes.get(pending.pop())
        fresh = set(klass.bases) - found if klass else set()
        found |= fresh
        pending += fresh
    return frozenset(found)


@lru_cache(maxsize=4096)
def _by_name(bare: str) -> Role | None:
    return next((role for role, patterns in NAMES if _matches(bare, patterns)), None)


def _by_calls(function: FunctionFacts, facts: ModuleFacts) -> Role | None:
    names = {call.name for call in function.calls}
    if any(name.endswith(".state_dict") for name in names) and "torch.save" in names:
        return "checkpoint"
    heads = frozenset(target.partition(".")[0] for _, target in facts.imports)
    if function.has_loop and any(name.endswith(".backward") for name in names):
        return "pipeline"  # a loop around the steps waits for its data too, which is no computing
    found = {role for name in names if (role := _call_role(name, name.partition(".")[0] in heads)) is not None}
    return CALLS[min(found)][0] if found else None


@lru_cache(maxsize=1 << 14)
def _call_role(name: str, imported: bool) -> int | None:
    """The row of ``CALLS`` that a call belongs to."""
    if _matches(name, WAITING):
        return None
    dotted = name if "." in name else f".{name}"  # a method of an expression has a leading dot, a function has none
    for row, (role, patterns) in enumerate(CALLS):
        if role == "io":
            if call_cost(name, imported) == "io":
                return row
        elif _matches(name, patterns) and (imported or _matches(dotted, _methods(patterns))):
            return row
    return None


@lru_cache(maxsize=64)
def _methods(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that hold for methods of any object; the others name a module, which must have been imported."""
    return tuple(pattern for pattern in patterns if pattern.startswith("*"))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
