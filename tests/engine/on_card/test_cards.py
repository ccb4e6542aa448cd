"""What names of devices stand for, and what is said where there is none."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from ssgp import SpectralForestRegressor
from ssgp.engine.on_card import cards
from ssgp.engine.on_card.backend import torch
from ssgp.engine.on_card.cards import Card, find_card

NO_GPU = not torch.cuda.is_available()


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr(cards, "find_spec", lambda name: None if name == "torch" else importlib.util.find_spec(name))


def test_the_processor_is_no_card():
    assert find_card("cpu") is None
    assert find_card("torch:cpu") == Card("cpu")


def test_cuda_needs_pytorch(without_torch):
    with pytest.raises(ImportError, match=r"device='cuda' needs PyTorch: pip install 'ssgp\[gpu\]'"):
        find_card("cuda")


def test_auto_is_the_processor_without_pytorch(without_torch):
    assert find_card("auto") is None


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has CUDA")
def test_cuda_needs_a_pytorch_with_it():
    with pytest.raises(RuntimeError, match="built without CUDA"):
        find_card("cuda")


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU")
def test_auto_is_the_processor_without_a_gpu():
    assert find_card("auto") is None


def test_what_the_driver_says_is_told(monkeypatch):
    def init():
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).\nMore.")

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "init", init)
    with pytest.raises(RuntimeError, match=r"built for CUDA 13\.0, finds no GPU .*too old \(found version 11040\)\)"):
        find_card("cuda")


def test_gpus_are_counted(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_card("cuda") == Card("cuda:0")
    assert find_card("cuda:1") == Card("cuda:1")
    with pytest.raises(ValueError, match="device='cuda:2': there are 2 GPUs"):
        find_card("cuda:2")


def test_a_full_card_is_named_with_what_was_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda name: (2**30, 8 * 2**30))
    said = r"cuda:0 has no room for 3\.00 GiB: 1\.0 of its 8\.0 GiB are free.*device='cpu'"
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)

    def work():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has ...")

    with pytest.raises(MemoryError, match=said):
        Card("cuda:0").run(work)


def test_work_is_in_full_single_precision():
    torch.set_float32_matmul_precision("high")
    try:
        assert Card("cpu").run(torch.get_float32_matmul_precision) == "highest"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "mps", 0, None])
def test_other_names_are_refused(device):
    with pytest.raises(ValueError, match="'device' parameter"):
        SpectralForestRegressor(device=device).fit(np.zeros((5, 1)), np.arange(5.0))


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has CUDA")
def test_a_fit_says_at_once_that_there_is_no_gpu():
    with pytest.raises(RuntimeError, match="built without CUDA"):
        SpectralForestRegressor(device="cuda").fit(np.zeros((5, 1)), np.arange(5.0))


@pytest.mark.slow
def test_the_processor_never_imports_pytorch():
    code = """
import sys, numpy as np, ssgp
X = np.random.default_rng(0).normal(size=(300, 2))
model = ssgp.SpectralForestRegressor(n_trees=2, max_iter=5, random_state=0).fit(X, X[:, 0])
model.predict(X), model.predict_distribution(X)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
