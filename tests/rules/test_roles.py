"""What a function is found to do, and which category goes before which."""

from __future__ import annotations

import pytest

from dfannotate.facts import FunctionFacts, ModuleFacts, find_facts
from dfannotate.rules.roles import BASES, CALLS, LATE_NAMES, NAMES, OWNERS, ROLES, Categories, role_of
from dfannotate.source import read_source

HEAD = """\
import socket, time, json, math
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler
"""


def facts_of(text: str) -> tuple[ModuleFacts, FunctionFacts]:
    """The facts of a module, and of the last function in it."""
    facts = find_facts(read_source("m.py", text.encode()))
    return facts, facts.functions[-1]


def role(text: str) -> str | None:
    facts, function = facts_of(HEAD + text)
    return role_of(function, facts)


FUNCTIONS: dict[str, tuple[str, str | None]] = {
    # by name
    "train-loop": ("def train_one_epoch(m, d):\n    for x in d: m(x.to('cpu')).backward()", "pipeline"),
    "evaluate": ("def evaluate(m):\n    return m", "pipeline"),
    "train-step": ("def train_step(m, x):\n    return m(x)", "compute"),
    "private-forward": ("def _forward(x):\n    return x", "compute"),
    "save-checkpoint": ("def save_checkpoint(m):\n    torch.save(m, 'x')", "checkpoint"),
    "restore": ("def restore(m):\n    return torch.load(m)", "checkpoint"),
    "make-loader": ("def make_loader(d):\n    return d", "dataloader"),
    "collate": ("def collate_fn(batch):\n    return batch", "dataloader"),
    "all-reduce": ("def all_reduce_gradients(m):\n    return m", "comm"),
    "receive": ("def receive(link):\n    return link.take()", "comm"),
    "to-device": ("def to_device(x):\n    return x.to('cuda')", "device"),
    "preprocess": ("def preprocess(x):\n    return np.log(x)", "data"),
    "setup": ("def setup(x):\n    return x", "lifecycle"),
    "close": ("def close_all(x):\n    x.close()", "lifecycle"),
    # by what is called
    "state-dict-saved": ("def keep(m):\n    torch.save(m.state_dict(), 'x')", "checkpoint"),
    "state-dict-loaded": ("def take(m):\n    m.load_state_dict(torch.load('x'))", "checkpoint"),
    "saved-tensors": ("def keep(x):\n    torch.save(x, 'x')", "io"),
    "broadcast": ("def share(x):\n    dist.broadcast(x, 0)", "comm"),
    "socket": ("def talk(x):\n    s = socket.create_connection(x)\n    s.sendall(b'')", "comm"),
    "loss-backward": ("def learn(m, x):\n    m(x.cuda()).backward()", "compute"),
    "loss-backward-in-a-loop": ("def learn(m, xs):\n    for x in xs: m(x).backward()", "pipeline"),
    "data-loader": ("def prepare(d):\n    return DataLoader(d)", "dataloader"),
    "image": ("def picture(p):\n    return Image.open(p)", "data"),
    "cuda": ("def place(x):\n    return x.cuda()", "device"),
    "file": ("def remember(p):\n    with open(p, 'w') as f: f.write('x')", "io"),
    "io-before-arithmetic": ("def remember(p):\n    return np.exp(np.load(p))", "io"),
    "arithmetic": ("def squash(x):\n    return F.relu(np.tanh(x))", "compute"),
    "math": ("def angle(x):\n    return math.atan(x)", "compute"),
    # by class
    "dataset-item": ("class D(Dataset):\n    def __getitem__(self, i): return torch.load(i)", "data"),
    "dataset-heir": ("class B(Dataset): pass\nclass D(B):\n    def fetch(self, i): return open(i)", "data"),
    "dataset-by-name": ("class ShardDataset:\n    def __getitem__(self, i): return open(i)", "data"),
    "module-forward": ("class M(nn.Module):\n    def forward(self, x): return x", "compute"),
    "module-loader": ("class M(nn.Module):\n    def train_dataloader(self): return 1", "dataloader"),
    "module-other": ("class M(nn.Module):\n    def describe(self): return 1", None),
    "function": ("class M(torch.autograd.Function):\n    def setup_context(c): return 1", "compute"),
    "sampler": ("class S(Sampler):\n    def __iter__(self): return iter(())", "dataloader"),
    "loader-by-name": ("class PrefetchLoader:\n    def __next__(self): return 1", "dataloader"),
    "config-loader": ("class ConfigLoader:\n    def parse(self): return 1", None),
    "checkpointer": ("class Checkpointer:\n    def put(self): return 1", "checkpoint"),
    "constructor": ("class D(Dataset):\n    def __init__(self): open('x')", "lifecycle"),
    "context": ("class M(nn.Module):\n    def __enter__(self): return self", "lifecycle"),
    # late
    "no-grad": ("@torch.no_grad()\ndef accuracy(m, x):\n    return m(x)", "compute"),
    "no-grad-in-a-loop": ("@torch.no_grad()\ndef accuracy(m, xs):\n    for x in xs: m(x)", "pipeline"),
    "load": ("def load_settings(x):\n    return x.parse()", "io"),
    # cannot be told
    "main": ("def main():\n    DataLoader(open('x'))", None),
    "sleep": ("def pause():\n    time.sleep(1)", None),
    "own-calls": ("def arrange(x):\n    return other(x)", None),
    "validate-arguments": ("def validate_arguments(x):\n    return bool(x)", None),
    "plot": ("def scatter_plot(x):\n    return x", None),
    "same-word-not-imported": ("def judge(cv2x, numexpr):\n    return numexpr.evaluate_all(cv2x)", None),
}


@pytest.mark.parametrize(("text", "expected"), FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_role(text: str, expected: str | None) -> None:
    assert role(text) == expected


def test_every_role_of_every_table_is_one() -> None:
    named = {role for role, _ in NAMES} | {role for role, _ in CALLS}
    named |= {role for *_, role in BASES} | {role for *_, role in OWNERS} | {role for _, role in LATE_NAMES}
    assert named == set(ROLES)


def test_bases_that_the_project_knows_go_before_the_file_s_own_words() -> None:
    facts, function = facts_of("from base import Base\n\n\nclass A(Base):\n    def fetch(self):\n        return 1\n")
    assert role_of(function, facts) is None
    assert role_of(function, facts, {"A": frozenset({"base.Base", "torch.utils.data.Dataset"})}) == "data"


PATTERNS: dict[str, tuple[str, str | None]] = {
    "path": ("pkg/m.py", "mine"),
    "folder": ("pkg/*", "mine"),
    "function-of-path": ("pkg/m.py::A.fetch", "mine"),
    "function-of-any-file": ("*::A.*", "mine"),
    "module": ("pkg.m", "mine"),
    "function-of-module": ("pkg.m.A.fetch", "mine"),
    "anything": ("*", "mine"),
    "other-path": ("m.py", "data"),
    "other-function": ("pkg/m.py::fetch", "data"),
    "part-of-a-word": ("pkg.m.A.fet", "data"),
    "case": ("PKG/M.PY", "data"),
}


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS.values(), ids=PATTERNS.keys())
def test_patterns_go_before_roles(pattern: str, expected: str) -> None:
    facts, function = facts_of(f"{HEAD}class A(Dataset):\n    def fetch(self):\n        return 1\n")
    categories = Categories(True, ((pattern, "mine"),), "pkg/m.py", "pkg.m")
    assert categories.category_of(function, facts) == expected


def test_the_first_pattern_wins_and_without_roles_the_rest_is_left_to_the_file() -> None:
    facts, function = facts_of("def forward():\n    return 1\n")
    first = Categories(False, (("*::forward", "one"), ("*", "two")), "m.py", "m")
    assert first.category_of(function, facts) == "one"
    assert Categories(False, (("*::backward", "one"),), "m.py", "m").category_of(function, facts) is None
    assert Categories(True, (), "m.py", "m").category_of(function, facts) == "compute"
