"""The same `train`, on several processes at once: each has a whole model and a share of every batch.

    torchrun --standalone --nproc-per-node 2 -m course_lib.data_parallel

After each backward pass DistributedDataParallel averages the gradients over the processes, so that all take the same
step and stay equal. The run is made twice, first without the averaging, to show what it is for and what it costs.
Without torchrun, one process takes the whole batch: the yardstick. On CPUs, by gloo.
"""

import argparse
import json
import os
import statistics
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course_lib import models, training
from course_lib.tasks import fresh, markov

CONFIG = models.TransformerConfig(vocab_size=24, d_model=64, n_heads=4, n_layers=2, d_ff=256, max_len=32)


def command(n_processes=2):
    """The words of the command that starts n_processes of this script; to be given in the course's folder."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n_processes)]
    return [*torchrun, "-m", "course_lib.data_parallel"]


class Shares:
    """Of every batch the rows rank, rank + n_processes, …: together the processes see each row once."""

    def __init__(self, batches, rank, n_processes):
        self.batches, self.rank, self.n_processes = batches, rank, n_processes

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        for batch in self.batches:
            yield tuple(tensor[self.rank :: self.n_processes] for tensor in batch)


def new_model(seed=0):
    """A small decoder; the same seed gives the same weights in every process."""
    training.set_seed(seed)
    return models.Decoder(CONFIG)


def gathered(tensor, n_processes):
    """This tensor of every process, stacked: (n_processes, …)."""
    if n_processes == 1:
        return tensor[None]
    copies = [torch.empty_like(tensor) for _ in range(n_processes)]
    dist.all_gather(copies, tensor)
    return torch.stack(copies)


def measured_run(model, batches, n_processes):
    """Train, and compare the processes. Returns {"equal", "losses", "ms_per_step"}."""
    losses, clock = [], [time.perf_counter()]
    for record in training.train(model, batches):
        losses.append(record["loss"])
        clock.append(time.perf_counter())
    seconds = statistics.median(after - before for before, after in pairwise(clock))
    weights = gathered(torch.nn.utils.parameters_to_vector(model.parameters()).detach(), n_processes)
    return {
        "equal": bool((weights == weights[0]).all()),  # bit by bit
        "losses": gathered(torch.tensor(losses), n_processes).mean(dim=0).tolist(),  # over the whole batch
        "ms_per_step": 1000 * seconds,  # the median
    }


def report(steps, batch_size, seed=0):
    """Both runs in this process: {"processes", "gradient_bytes", "apart", "averaged"}."""
    n_processes, rank = (dist.get_world_size(), dist.get_rank()) if dist.is_initialized() else (1, 0)
    source = markov.MarkovSource(24)
    batches = fresh.FreshBatches(partial(source.batch, T=32), batch_size=batch_size, steps=steps, seed=seed)
    shares = Shares(batches, rank, n_processes)
    averaged = new_model(seed)
    if n_processes > 1:
        averaged = DistributedDataParallel(averaged)
    return {
        "processes": n_processes,
        "gradient_bytes": sum(p.numel() * p.element_size() for p in averaged.parameters()),
        "apart": measured_run(new_model(seed), shares, n_processes),
        "averaged": measured_run(averaged, shares, n_processes),
    }


def table(result):
    """The report in words."""
    lines = [f"{result['processes']} process(es), {result['gradient_bytes']:,} bytes of gradients a step"]
    for name in ("apart", "averaged"):
        run = result[name]
        equal = "equal, bit by bit" if run["equal"] else "different"
        lines.append(f"{name:9} loss {run['losses'][0]:.3f} → {run['losses'][-1]:.3f}   "
                     f"{run['ms_per_step']:6.1f} ms a step   the models are {equal}")  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64, help="of all processes together")
    parser.add_argument("--out", type=Path, help="where to write the report as JSON")
    arguments = parser.parse_args()
    if "RANK" in os.environ:  # torchrun has started several of us
        dist.init_process_group("gloo")
    result = report(arguments.steps, arguments.batch_size)
    if int(os.environ.get("RANK", 0)) == 0:
        print(table(result))
        if arguments.out:
            arguments.out.write_text(json.dumps(result), encoding="utf-8")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
