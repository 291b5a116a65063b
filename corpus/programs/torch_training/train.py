"""Train a small classifier over tensors on disk, with a DataLoader that has workers."""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_tensors(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(0)
    for number in range(count):
        features = torch.randn(8, generator=generator)
        torch.save({"x": features, "y": (features.sum() > 0).long()}, folder / f"{number:04}.pt")


class TensorFolder(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.glob("*.pt"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        record = torch.load(self.paths[index])
        return record["x"], record["y"]


class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)


def train_one_epoch(model, optimizer, loader):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader):
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


def save_checkpoint(path, model, epoch):
    torch.save({"epoch": epoch, "model": model.state_dict()}, path)


def load_checkpoint(path, model):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    return state["epoch"]


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    make_tensors(options.folder / "data", 64)
    data = TensorFolder(options.folder / "data")
    model = Classifier(16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2)
    for epoch in range(options.epochs):
        loss = train_one_epoch(model, optimizer, loader)
        print(f"epoch {epoch}: loss {loss:.3f}")
        save_checkpoint(options.folder / "model.pt", model, epoch)
    restored = Classifier(16)
    epoch = load_checkpoint(options.folder / "model.pt", restored)
    print(f"restored epoch {epoch}: accuracy {accuracy(restored, DataLoader(data, batch_size=32)):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
