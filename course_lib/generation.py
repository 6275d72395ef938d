"""From next-token logits to a sequence: one token at a time."""


def greedy_decode(step_fn, bos_id, eos_id, max_len):
    """Always take the most likely next token.

    step_fn: list of ids so far -> logits for the next one, 1-D. Returns the ids, a list[int] of at most max_len:
    bos_id first, and eos_id last if it was generated. bos_id may equal eos_id.
    """
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(list(ids)).argmax())
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids
