"""From next-token logits to a sequence: greedy, sampled, or the best of a beam; with a cache or without."""

import torch

from course_lib.cache import KVCache
from course_lib.masks import last_real


def greedy_decode(step_fn, bos_id, eos_id, max_len):
    """Always take the most likely next token.

    step_fn: list of ids so far -> logits for the next one, 1-D. Returns the ids, a list[int] of at most
    max_len: bos_id first, and eos_id last if it was generated. bos_id may equal eos_id.
    """
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(list(ids)).argmax())
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids


def beam_search(step_fn, bos_id, eos_id, max_len, width=4, length_penalty=0.0):
    """Keep the `width` most likely beginnings instead of one.

    step_fn, bos_id, eos_id, max_len: as in `greedy_decode`. Returns at most width pairs (log_prob, ids), best
    first by log_prob / ((5 + n) / 6)^length_penalty, where n counts the generated tokens: 0 compares
    log-probabilities as they are, which favours short answers; 0.6 is usual. Source of the penalty: Wu et al.
    2016, section 7.
    """

    def score(log_prob, n):
        return log_prob / ((5 + n) / 6) ** length_penalty

    def rank(hypothesis):
        return score(hypothesis[0], len(hypothesis[1]) - 1)

    open_, finished = [(0.0, [bos_id])], []
    while open_ and len(open_[0][1]) < max_len:
        longer = [step for hypothesis in open_ for step in continuations(step_fn, *hypothesis, width)]
        best = sorted(longer, key=lambda hypothesis: -hypothesis[0])[:width]
        open_ = [hypothesis for hypothesis in best if hypothesis[1][-1] != eos_id]
        finished += [hypothesis for hypothesis in best if hypothesis[1][-1] == eos_id]
        finished = sorted(finished, key=rank, reverse=True)[:width]
        if len(finished) == width and open_ and rank(finished[-1]) >= score(open_[0][0], max_len - 1):
            return finished  # adding tokens only lowers a log-probability: nothing open can still win
    return sorted(finished + open_, key=rank, reverse=True)[:width]


def continuations(step_fn, log_prob, ids, width):
    """The `width` most likely ways to go on from ids by one token: [(log_prob, ids)]."""
    steps = step_fn(list(ids)).double().log_softmax(dim=-1)
    values, tokens = steps.topk(min(width, len(steps)))
    pairs = zip(values.tolist(), tokens.tolist(), strict=True)
    return [(log_prob + value, [*ids, token]) for value, token in pairs if value != -float("inf")]


@torch.no_grad()
def generate(model, prompt, max_new_tokens, *, cache=True, temperature=0.0, top_k=None, top_p=None,
             eos_id=None, padding=None, seed=None, source=None, source_padding=None):  # fmt: skip
    """Continue every row of prompt by at most max_new_tokens.

    model: a Decoder, or an EncoderDecoder, which reads source (B, S) once. prompt: int64 (B, T), rows of
    different lengths padded on either side, with padding bool (B, T), True = real token. cache=False computes
    every key and value again at each step. temperature 0 takes the most likely token; otherwise logits /
    temperature are sampled, among the top_k tokens only, or the smallest set of probability top_p; seed makes
    that repeatable. Raises ValueError for an empty prompt and for settings that leave no token to choose.
    Returns int64 (B, ≤ T + max_new_tokens), prompt included; a row that reached eos_id is filled with it.
    """
    if prompt.ndim != 2 or prompt.shape[1] == 0:
        raise ValueError(f"prompt must be token ids (B, T) with T ≥ 1; got shape {tuple(prompt.shape)}")
    check_sampling(temperature, top_k, top_p)
    generator = None if seed is None else torch.Generator(prompt.device).manual_seed(seed)
    ids, done = prompt, torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    was_training = model.training
    model.eval()
    try:
        next_logits = stepper(model, cache, source, source_padding)
        for _ in range(max_new_tokens):
            token = choose(next_logits(ids, padding), temperature, top_k, top_p, generator)  # (B,)
            if eos_id is not None:
                token = token.masked_fill(done, eos_id)
                done = done | (token == eos_id)
            ids = torch.cat([ids, token[:, None]], dim=1)
            if padding is not None:
                padding = torch.cat([padding, torch.ones_like(padding[:, :1])], dim=1)
            if eos_id is not None and done.all():
                break
    finally:
        model.train(was_training)
    return ids


def check_sampling(temperature, top_k, top_p):
    """Raise ValueError for settings that leave no token to choose."""
    if temperature < 0:
        raise ValueError(f"temperature must be 0 (the most likely token) or more; got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1; got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")


def stepper(model, use_cache, source=None, source_padding=None):
    """A function (ids (B, T), padding or None) -> logits (B, vocab_size) for the next token of every row."""
    cache = KVCache() if use_cache else None
    if source is None:
        hidden, head = model.hidden, model.head
    else:
        memory = model.encode(source, source_padding)
        head = model.decoder.head

        def hidden(tokens, padding=None, cache=None):
            return model.decoder.hidden(tokens, memory, padding, source_padding, cache)[0]

    def next_logits(ids, padding):
        new = ids if cache is None else ids[:, cache.length :]
        x = hidden(new, padding=padding, cache=cache)  # (B, new, d_model)
        if padding is None:
            return head(x[:, -1])
        at = last_real(padding) - (ids.shape[1] - new.shape[1])
        return head(x[torch.arange(len(x), device=x.device), at])

    return next_logits


def choose(logits, temperature=0.0, top_k=None, top_p=None, generator=None):
    """Pick one token a row: logits (B, V) -> (B,). See `generate`."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial(likely(logits, temperature, top_k, top_p), 1, generator=generator)[:, 0]


def likely(logits, temperature=1.0, top_k=None, top_p=None):
    """The distribution that `choose` draws from: logits (B, V) -> probabilities (B, V); temperature above 0."""
    probabilities = (keep_likely(logits.float(), top_k) / temperature).softmax(dim=-1)
    if top_p is not None:
        ordered, order = probabilities.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered  # probability of all that are more likely
        ordered = ordered.masked_fill(before >= top_p, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter(-1, order, ordered)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


def keep_likely(logits, top_k):
    """Set all but the top_k logits of each row to minus infinity; ties with the last one stay."""
    if top_k is None or top_k >= logits.shape[-1]:
        return logits
    smallest = logits.topk(top_k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < smallest, -float("inf"))
