"""A translator step by step: when it goes astray, what a beam changes, where it looks, and how often it runs."""

import contextlib

import torch
import torch.nn.functional as F

from course_lib import generation
from course_lib.tasks import translators


@torch.no_grad()
def next_word(model, task, text):
    """A function from the ids written so far to the logits (V,) of the next one, for one source text."""
    source, padding = task.source(text)
    step = generation.stepper(model, use_cache=False, source=source, source_padding=padding)
    return torch.no_grad()(lambda ids: step(torch.tensor([ids]), None)[0])


def by_last_word(logits):
    """A step function for a model that knows only the last word: ids -> its row of logits (V, V)."""
    return lambda ids: logits[ids[-1]]


@torch.no_grad()
def beam_against_greedy(model, task, pairs, width=4):
    """(exact match of greedy decoding, of a beam, share of sentences for which the beam's is the more probable)."""
    words, longest = task.target_vocabulary, max(len(pair.target) for pair in pairs)
    right, better = [0, 0], 0
    for pair in pairs:
        step = next_word(model, task, task.join_source(pair.source))
        found = [generation.beam_search(step, words.bos_id, words.eos_id, longest + 3, width=w)[0] for w in (1, width)]
        hits = [task.text(ids) == task.join_target(pair.target) for _, ids in found]
        right = [n + hit for n, hit in zip(right, hits, strict=True)]
        better += found[1][0] > found[0][0] + 1e-4
    return tuple(n / len(pairs) for n in (*right, better))


@torch.no_grad()
def write_from_scratch(model, task, pairs):
    """As `translate`, with nothing kept: at each step the encoder reads the source again, the decoder all its words."""
    source, start, padding, targets = task.tensors(pairs)
    ids = start[:, :1]
    for _ in range(targets.shape[1]):
        ids = torch.cat([ids, model(source, ids, padding)[:, -1:].argmax(dim=-1)], dim=1)
    return ids[:, 1:]


@contextlib.contextmanager
def runs_counted(model):
    """Within it, {"encoder": […], "decoder": […]} notes how many tokens go in at each run of the two stacks."""
    seen, hooks = {"encoder": [], "decoder": []}, []
    for name, lengths in seen.items():
        first = getattr(model, name).blocks[0]
        hooks.append(first.register_forward_pre_hook(lambda _, args, lengths=lengths: lengths.append(args[0].shape[1])))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def right_by_position(model, task, pairs):
    """Share of right words at each place of the target, (T,), with the true past as input and with the model's own."""
    source, decoder_input, padding, targets = task.tensors(pairs)
    real = targets != -100
    forced = model(source, decoder_input, padding).argmax(dim=-1)
    own = translators.translate(model, task, pairs)
    own = F.pad(own, (0, targets.shape[1] - own.shape[1]), value=task.target_vocabulary.eos_id)
    return tuple((((ids == targets) & real).sum(0) / real.sum(0)).tolist() for ids in (forced, own))


@torch.no_grad()
def alignment_accuracy(model, task, pairs):
    """Share of words whose largest weight is on their source word: (2, L, h + 1), the mean over the heads last.

    Row 0 reads each word at the step that predicts it, row 1 at the step that has it as input, one step later.
    """
    source, decoder_input, padding, _ = task.tensors(pairs)
    truth = task.alignments(pairs)  # (N, T)
    _, weights = model(source, decoder_input, padding, need_weights=True)
    maps = torch.stack(weights["cross"], dim=1)  # (N, L, h, T, S)
    looked = torch.cat([maps, maps.mean(dim=2, keepdim=True)], dim=2).argmax(dim=-1)  # (N, L, h + 1, T)
    shares = []
    for late in (0, 1):
        rows, true = looked[..., late:], truth[:, : truth.shape[1] - late]
        asked = (true >= 0)[:, None, None]
        shares.append(((rows == true[:, None, None]) & asked).sum(dim=(0, 3)) / asked.sum())
    return torch.stack(shares)
