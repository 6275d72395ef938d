"""One set of parts, three assemblies, three tasks: what can each of them do at equal size and equal training?

Every task has the same form: a prompt, and ANSWER slots for the answer, which ends with <eos>.

    judge       a French sentence         -> yes or no: is it good French, or does one word not agree?
    write       nothing                   -> a French sentence, drawn at random
    translate   a French sentence         -> the English one

The encoder-only model reads prompt and slots at once and fills in what is masked; the decoder-only model reads them
from left to right; the encoder–decoder reads the prompt with one stack and writes the answer with the other. The first
two are the same module: all that differs is the mask, and what they are asked for.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from course_lib import models, training
from course_lib.tasks.agreement import is_french, sentences, spoiled
from course_lib.tasks.vocabulary import Vocabulary

KINDS = ("encoder-only", "decoder-only", "encoder–decoder")
TASKS = ("judge", "write", "translate")
SIGNS = ("<judge>", "<write>", "<translate>", "<mask>", "yes", "no")
PROMPT, ANSWER = 8, 8  # slots: the longest sentence has 7 words, and a sign goes before or after it


@dataclass(frozen=True)
class Lessons:
    """Rows of one task: prompts (N, PROMPT), their padding (True = real), answers (N, ANSWER), asked (N, ANSWER).

    An answer ends with <eos>; the slots after it hold <mask>, and nobody is asked for them.
    """

    prompts: torch.Tensor
    padding: torch.Tensor
    answers: torch.Tensor
    asked: torch.Tensor


class Three:
    """The three tasks on one set of sentence pairs, and the one vocabulary that they share."""

    def __init__(self, n_held_out=150, seed=0):
        pairs = list(sentences().values())
        order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()
        pairs = [pairs[i] for i in order]
        self.vocabulary = Vocabulary([*SIGNS, *(word for pair in pairs for word in (*pair.source, *pair.target))])
        self.mask_id = self.vocabulary.ids["<mask>"]
        self.held_out = {task: self.lessons(task, pairs[:n_held_out], seed) for task in TASKS}
        self.train = {task: self.lessons(task, pairs[n_held_out:], seed) for task in TASKS}

    def lessons(self, task, pairs, seed=0):
        """The pairs as rows of one task; for "judge" each sentence comes twice, as it is and spoiled."""
        sources, answers = [pair.source for pair in pairs], [pair.source for pair in pairs]
        if task == "translate":
            answers = [pair.target for pair in pairs]
        if task == "judge":
            answers = [("yes",)] * len(pairs) + [("no",)] * len(pairs)
            sources = sources + [spoiled(source, seed + i) for i, source in enumerate(sources)]
        if task == "write":
            sources = [()] * len(pairs)
        prompts, padding = self.vocabulary.batch([(f"<{task}>", *source) for source in sources], length=PROMPT)
        ids, asked = self.vocabulary.batch(answers, eos=True, length=ANSWER)
        return Lessons(prompts, padding, ids.masked_fill(~asked, self.mask_id), asked)


def config_for(kind, vocab_size, d_model=48):
    """Equal sizes to within one per cent: what cross-attention costs, the others get as wider feed-forward layers."""
    n_layers, d_ff = (1, 3 * d_model) if kind == "encoder–decoder" else (2, 4 * d_model)
    return models.TransformerConfig(vocab_size=vocab_size, d_model=d_model, n_heads=4, n_layers=n_layers, d_ff=d_ff,
                                    max_len=PROMPT + ANSWER)  # fmt: skip


def assemble(kind, vocab_size, d_model=48, seed=0):
    """An untrained model of one of the KINDS."""
    training.set_seed(seed)
    config = config_for(kind, vocab_size, d_model)
    if kind == "encoder–decoder":
        model = models.EncoderDecoder(config)
        model.encoder.embedding = model.decoder.embedding  # one vocabulary, one matrix to read it
        return model
    model = models.Decoder(config)
    model.causal = kind == "decoder-only"  # the whole difference between the two
    return model


def slot_logits(model, prompts, padding, slots):
    """Logits for the answer's slots (B, ANSWER, V). slots (B, ANSWER): what the model reads there."""
    if isinstance(model, models.EncoderDecoder):
        return model(prompts, slots, padding)
    tokens = torch.cat([prompts, slots], dim=1)
    padding = torch.cat([padding, torch.ones_like(slots, dtype=torch.bool)], dim=1)
    return model(tokens, padding)[:, -slots.shape[1] :]


def lesson_loss(three, generator):
    """The loss of a batch (prompts, padding, answers), as each kind of model is trained."""

    def loss(model, batch):
        prompts, padding, answers, asked = batch
        if getattr(model, "causal", True):
            slots = training.shift_right(answers, three.vocabulary.bos_id)
            targets = answers.masked_fill(~asked, -100)
        else:
            share = torch.rand(len(answers), 1, generator=generator)  # from few slots masked to all of them
            chosen = torch.rand(answers.shape, generator=generator) < share
            slots, targets = training.mask_tokens(answers, chosen, three.mask_id, special=~asked)
        logits = slot_logits(model, prompts, padding, slots)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)

    return loss


def batches(three, steps, per_task=16, seed=0):
    """`steps` batches with `per_task` rows of each task."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = [torch.randint(len(three.train[task].prompts), (per_task,), generator=generator) for task in TASKS]
        parts = [(l.prompts[r], l.padding[r], l.answers[r], l.asked[r]) for l, r in zip(three.train.values(), rows, strict=True)]
        yield tuple(torch.cat(part) for part in zip(*parts, strict=True))


def train_one(three, kind, *, steps=200, per_task=16, lr=1e-2, d_model=48, seed=0):
    """A model of one kind, trained on all three tasks at once."""
    model = assemble(kind, len(three.vocabulary), d_model, seed)
    loss = lesson_loss(three, torch.Generator().manual_seed(seed))
    for _ in training.train(model, batches(three, steps, per_task, seed), loss=loss, lr=lr, steps=steps):
        pass
    return model


@torch.no_grad()
def answer(model, three, lessons, temperature=0.0, seed=0):
    """What the model puts into the slots, from left to right, one a pass: ids (N, ANSWER).

    The encoder-only model sees the slots that are still open as <mask>.
    """
    generator = torch.Generator().manual_seed(seed)
    causal = getattr(model, "causal", True)
    written = torch.full_like(lessons.answers, three.mask_id)
    for t in range(ANSWER):
        slots = training.shift_right(written, three.vocabulary.bos_id) if causal else written
        logits = slot_logits(model, lessons.prompts, lessons.padding, slots)[:, t]
        if temperature == 0:
            written[:, t] = logits.argmax(dim=-1)
        else:
            written[:, t] = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]
    return written


def texts(three, ids):
    """Rows of ids as lists of words, each up to its first <eos>."""
    return [three.vocabulary.decode(row) for row in ids]


@torch.no_grad()
def objective(model, three, task="translate", seed=0):
    """(nats a token by word frequency alone, nats by the model) on what it is asked about held-out answers."""
    lessons, held_out = three.train[task], three.held_out[task]
    counts = torch.bincount(lessons.answers[lessons.asked], minlength=len(three.vocabulary)).float() + 1
    surprise = -(counts / counts.sum()).log()
    batch = (held_out.prompts, held_out.padding, held_out.answers, held_out.asked)
    loss = lesson_loss(three, torch.Generator().manual_seed(seed))(model, batch)
    return surprise[held_out.answers[held_out.asked]].mean().item(), loss.item()


def scores(model, three, seed=0):
    """{task: share}: judged right, translated right in every word, written sentences that are French and new."""
    right = {}
    for task in ("judge", "translate"):
        lessons = three.held_out[task]
        written, wanted = texts(three, answer(model, three, lessons)), texts(three, lessons.answers)
        right[task] = sum(a == b for a, b in zip(written, wanted, strict=True)) / len(wanted)
    drawn = texts(three, answer(model, three, three.held_out["write"], temperature=1.0, seed=seed))
    right["write"] = sum(map(is_french, drawn)) / len(drawn)
    return {task: right[task] for task in TASKS}


def judged_by_words(three, seed=0):
    """A baseline for "judge": one linear layer on how often each word occurs in the sentence. Share that is right."""
    training.set_seed(seed)
    counts = {}
    for part in ("train", "held_out"):
        lessons = getattr(three, part)["judge"]
        words = F.one_hot(lessons.prompts, len(three.vocabulary)).float()
        counts[part] = (words * lessons.padding[..., None]).sum(dim=1), lessons.answers[:, 0]
    model = torch.nn.Linear(len(three.vocabulary), len(three.vocabulary))
    for _ in training.train(model, training.Minibatches(*counts["train"], batch_size=64, epochs=20, seed=seed), lr=0.03):
        pass
    tokens, answers = counts["held_out"]
    with torch.no_grad():
        return (model(tokens).argmax(dim=-1) == answers).float().mean().item()
