"""Kernels: ours against float64 (interpreted) and through the compiler for a real GPU, and the names of what ran."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_lib import kernels
from course_lib.attention import attend, explicit_attention
from course_lib.kernels import triton_here
from course_lib.kernels.fused import fused_attention
from course_lib.models import Decoder, TransformerConfig

HERE = Path(__file__).parent
OURS = sys.modules["course_lib.kernels.flash_attention"]  # the module: the function has the same name
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None,
    reason="Triton is not installed; on Linux: pip install -e '.[gpu]' gets it",
)
FORWARD = {"float32": 2e-6, "float16": 2e-3}
BACKWARD = {"float32": 5e-6, "float16": 2e-3}


def run(*command, tmp_path, **environment):
    """What a fresh Python prints; it sees no GPU, and Triton's cache is its own."""
    fresh = {"CUDA_VISIBLE_DEVICES": "", "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(HERE.parent)}
    environment = {**os.environ, **fresh, **environment}
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=environment, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def decoder():
    torch.manual_seed(0)
    return Decoder(TransformerConfig(20, 32, 4, 2, 64, 32)).eval()


# --- which kernel ran ---


def test_which_kernel_names_what_ran(decoder):
    tokens = torch.randint(20, (2, 12))
    assert kernels.which_kernel(decoder, tokens) == "flash (CPU)"
    assert kernels.which_kernel(decoder, tokens, need_weights=True) == "explicit"
    assert kernels.which_kernel(decoder, tokens, need_weights=[0]) == "explicit + flash (CPU)"
    assert kernels.which_kernel(torch.nn.Linear(2, 2), torch.ones(2)) == "none"


def test_what_was_asked_for_is_not_always_what_runs():
    q = torch.randn(1, 2, 8, 16)
    dropped = torch.nn.functional.scaled_dot_product_attention
    assert kernels.which_kernel(dropped, q, q, q, dropout_p=0.5) == "math"  # its softmax is not a second, explicit one


@pytest.mark.parametrize(
    "program, printed",
    [
        ("from course_lib import kernels; print(kernels.which_kernel(torch.ones(3).softmax, 0))", "explicit"),
        ("from course_lib.tasks import energy; print(energy.counted_flops(lambda: torch.eye(2) @ torch.eye(2)))", "16"),
    ],
)
def test_the_profiler_writes_nothing_of_its_own(program, printed):
    command = [sys.executable, "-c", f"import torch; {program}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent, timeout=100)
    assert (done.stdout.strip(), done.stderr) == (printed, "")


def test_peak_memory_is_that_of_the_tensors_made():
    x = torch.ones(1000)
    assert 8000 <= kernels.peak_bytes(lambda x: (x + 1) * 2, x) <= 8200
    assert 4000 <= kernels.peak_bytes(lambda x: [(x + i).sum() for i in range(9)], x) <= 4700  # each is freed again


@pytest.mark.parametrize("T", [512, 1024])
def test_causal_attention_alone_builds_nothing_of_size_T_by_T(T):
    q = torch.randn(1, 1, T, 16)
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    assert kernels.peak_bytes(lambda q: attend(q, q, q, causal=True), q) < T * T
    assert kernels.peak_bytes(lambda q: attend(q, q, q, mask), q) > 4 * T * T  # that the meter would have seen it
    assert kernels.peak_bytes(lambda q: attend(q, q, q, causal=True, need_weights=True), q) > 4 * T * T


def test_the_race_keeps_the_order_and_finds_the_slower():
    def often(q):
        return [fused_attention(q, q, q) for _ in range(12)]

    q = torch.randn(1, 2, 128, 16)
    slow, fast = kernels.race({"twelve": often, "one": lambda q: fused_attention(q, q, q)}, q, rounds=5)
    assert (slow["name"], fast["name"], fast["times_fastest"]) == ("twelve", "one", 1.0)
    assert slow["times_fastest"] > 3 and slow["ms"] > fast["ms"] > 0
    assert slow["kernel"] == fast["kernel"] == "flash (CPU)" and slow["peak"] > 4 * fast["peak"]


# --- without Triton ---


def test_without_triton_everything_else_works(tmp_path):
    program = """if True:
        import sys
        import torch
        from course_lib import kernels
        from course_lib.models import Decoder, TransformerConfig
        assert "triton" not in sys.modules
        sys.modules["triton"] = None  # importing it fails from here on, as where it is not installed
        model = Decoder(TransformerConfig(20, 32, 4, 2, 64, 32))
        print(kernels.which_kernel(model, torch.ones(1, 5, dtype=torch.long)), len(kernels.source("flash")) > 1000)
        assert "course_lib.kernels.flash" not in sys.modules"""
    assert run("-c", program, tmp_path=tmp_path).split() == ["flash", "(CPU)", "True"]


def test_without_triton_ours_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(triton_here.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(OURS, "is_interpreted", lambda: True)  # these are tensors on a CPU
    q = torch.ones(1, 1, 4, 16)
    calls = (lambda: kernels.flash_attention(q, q, q), lambda: kernels.triton_softmax(q), lambda: kernels.ours().__enter__())
    for call in calls:
        with pytest.raises(RuntimeError, match="not installed.*pip install"):
            call()
    assert kernels.which_kernel(attend, q, q, q) == "flash (CPU)"  # nothing stays switched on


@pytest.mark.parametrize(("change", "message"), [
    (lambda q, k: (q, k, k[..., :8], {}), "k and v"),
    (lambda q, k: (q, k[:, :2], k[:, :2], {}), "h_kv must divide h"),
    (lambda q, k: (q, k[:, :, :3], k[:, :, :3], {"causal": True}), "at least as many keys"),
    (lambda q, k: (q.double(), k.double(), k.double(), {}), "torch.float64"),
    (lambda q, k: (q, k.half(), k.half(), {}), "torch.float16"),
    (lambda q, k: (q, k.to("meta"), k.to("meta"), {}), "got tensors on cpu, meta, meta"),
    (lambda q, k: (q, k, k, {"padding": torch.ones(5, 1, dtype=torch.bool)}), r"bool \(B, S\) = \(1, 5\)"),
    (lambda q, k: (q, k, k, {"padding": torch.ones(1, 5)}), "float32"),
    (lambda q, k: (torch.ones(1, 3, 5, 130), torch.ones(1, 3, 5, 130), torch.ones(1, 3, 5, 130), {}), "at most 128"),
])  # fmt: skip
def test_what_does_not_fit_is_said(change, message, monkeypatch):
    monkeypatch.setattr(OURS, "is_interpreted", lambda: True)  # these are tensors on a CPU
    q, k, v, options = change(torch.ones(1, 3, 5, 16), torch.ones(1, 3, 5, 16))
    with pytest.raises(ValueError, match=message):
        kernels.flash_attention(q, k, v, **options)


def test_source_shows_a_file_or_one_function():
    step = kernels.source("flash", "online_softmax_step")
    assert step.startswith("@triton.jit\ndef online_softmax_step(") and step.endswith("return new_biggest, total, acc")
    assert step in kernels.source("flash")


# --- ours, in Triton's interpreter ---


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    text = run("-W", "error", HERE / "interpret_kernels.py", tmp_path=tmp_path_factory.mktemp("triton"))
    return json.loads(text)


@needs_triton
def test_flash_attention_equals_float64(interpreted):
    assert len(interpreted["flash"]) == 36
    for case, found in interpreted["flash"].items():
        dtype = "float16" if "float16" in case else "float32"
        assert found["output"] <= FORWARD[dtype] and found["gradients"] <= BACKWARD[dtype], (case, found)
        assert found["lse"] < 2e-6, (case, found)


@needs_triton
def test_a_query_with_nothing_to_attend_to_gets_zero_and_never_nan(interpreted):
    assert sum(found["blind queries"] for found in interpreted["flash"].values()) > 5
    for case, found in interpreted["flash"].items():
        assert found["blind are zero"] and found["blind lse"] and not found["nan"], (case, found)


@needs_triton
def test_softmax_and_rotary_equal_float64(interpreted):
    for case, error in interpreted["rows"].items():
        assert error <= (1e-3 if "float16" in case else 2e-7), case


@needs_triton
def test_ours_is_picked_inside_and_only_where_it_can_compute_the_same(interpreted):
    found = interpreted["model"]
    assert found["inside"] == ["ours (Triton)", "explicit + ours (Triton)", "flash (CPU)", "flash (CPU)"]
    assert found["outside"] == "flash (CPU)" and found["error"] < 2e-6


@needs_triton
def test_triton_imported_too_early_is_said(tmp_path):
    program = "import triton; from course_lib import kernels; print(kernels.missing())"
    assert "restart Python" in run("-c", program, tmp_path=tmp_path, TRITON_INTERPRET="0")


# --- ours, compiled ---


def check_compiled(report):
    for case, found in report["flash"].items():
        assert found["spilled"] == 0, (case, found)
        if "fp32" in case:
            assert found["tensor core instructions"] == 0, f"{case}: IEEE float32 was asked for, not TF32"
        else:
            assert found["tensor core instructions"] >= 4, (case, found)
    assert report["rows"] == {"softmax": 0, "rotary": 0}


@needs_triton
def test_compiled_for_sm_90_ours_uses_tensor_cores_and_spills_nothing(tmp_path):
    report = json.loads(run(HERE / "compile_kernels.py", tmp_path=tmp_path, TRITON_INTERPRET="0"))
    assert len(report["flash"]) == 4
    check_compiled(report)


@needs_triton
@pytest.mark.slow
def test_compiled_for_sm_90_in_all_widths(tmp_path):
    report = json.loads(run(HERE / "compile_kernels.py", "all", tmp_path=tmp_path, TRITON_INTERPRET="0"))
    assert len(report["flash"]) == 12
    check_compiled(report)


# --- the benchmarks, which are run by hand ---


@needs_triton
@pytest.mark.slow
def test_the_script_for_a_gpu_can_be_rehearsed(tmp_path):
    report = run("-m", "benchmarks.gpu", "--rehearse", tmp_path=tmp_path)
    assert report.count("within bounds") == 2 and "WRONG" not in report
    assert "forward and backward" in report and "rotary" in report


@pytest.mark.slow
def test_the_comparison_with_peers_runs(tmp_path):
    report = run("-m", "benchmarks.speed", "2", "S", tmp_path=tmp_path)
    for part in ("attention, with weights", "DecoderBlock", "training step"):
        assert part in report


# --- ours, on a GPU ---


@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 2e-6), ("float16", 2e-3), ("bfloat16", 2e-2)])
@pytest.mark.parametrize("causal", [False, True])
def test_ours_on_a_gpu(dtype, bound, causal):
    torch.manual_seed(0)
    q, k = torch.randn(2, 8, 300, 64, device="cuda"), torch.randn(2, 2, 700, 64, device="cuda")
    q, k = q.to(getattr(torch, dtype)), k.to(getattr(torch, dtype))
    padding = torch.rand(2, 700, device="cuda") < 0.8
    exact, _ = explicit_attention(q.double(), k.double(), k.double(), padding[:, None, None, :], causal)
    output = kernels.flash_attention(q, k, k, causal, padding).double()
    assert (output - exact).abs().max() <= bound * exact.abs().max()
