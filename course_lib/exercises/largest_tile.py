"""Exercise: how large may a tile of attention be, if it has to fit into the memory close to the processor?"""

from course_lib.costs import largest_tile as reference
from course_lib.exercises.exercise import Example, Exercise, Probe, Slip

BUDGETS = ((100_000, 64, 2), (100_000, 64, 4), (232_448, 128, 2), (10_000, 16, 2), (1_000_000, 32, 4), (5_000, 8, 1),
           (70_000, 1, 2), (2_000_000, 16, 2), (48_000, 128, 4), (20_000, 64, 2))
EXACT = ((98_304, 64, 2), (6_144, 16, 2))  # a tile of 128 and one of 32 that fill the memory to the last byte
SHORT = ((98_303, 64, 2), (6_143, 16, 2))
PROBES = (
    *(Probe(budget, ("the memory is not filled",)) for budget in BUDGETS),
    *(Probe(budget, ("the tile fills the memory exactly",)) for budget in EXACT),
    *(Probe(budget, ("one byte is missing",)) for budget in SHORT),
    Probe((100_000, 64), ("bytes_per_number is left out",)),
    Probe((500, 64, 2), ("nothing fits",), rule="raises"),
    Probe((129, 16, 2), ("nothing fits",), rule="raises"),
)


def stages(memory, d_k, bytes_per_number=2, *, parts=4, scores="n²", unit="bytes", bound="≤", step="powers of 2", off=1,
           refuses=True):  # fmt: skip
    """Grow n until it no longer fits. The keywords are the knobs."""
    size = {"bytes": bytes_per_number, "bits": 8 * bytes_per_number, "numbers": 1}[unit]

    def fits(n):
        square = {"n²": n * n, "none": 0, "2 n²": 2 * n * n, "n": n, "n² / 2": n * n / 2}[scores]
        needed = (parts * n * d_k + square) * size
        return needed <= memory if bound == "≤" else needed < memory

    n = 1
    while n < 2**16 and fits(2 * n if step == "powers of 2" else n + 1):
        n = 2 * n if step == "powers of 2" else n + 1
    if refuses and not fits(n):
        raise ValueError("nothing fits")
    return int(n * off)


SLIPS = (
    Slip("scores-not-counted", "The n × n scores are not counted.", {"scores": "none"}),
    Slip("scores-counted-twice", "The n × n scores are counted twice: the exponentials may take their place.",
         {"scores": "2 n²"}),
    Slip("scores-as-a-row", "The scores are counted as n numbers; a tile has n queries times n keys.", {"scores": "n"}),
    Slip("one-part-missing", "Only three parts of n × d_k are counted: there are queries, keys, values and outputs.",
         {"parts": 3}),
    Slip("two-parts-missing", "Only two parts of n × d_k are counted: there are queries, keys, values and outputs.",
         {"parts": 2}),
    Slip("keys-and-values-not-counted", "Only one part of n × d_k is counted: there are queries, keys, values and "
         "outputs.", {"parts": 1}),
    Slip("numbers-for-bytes", "Numbers are compared with bytes: each takes bytes_per_number.", {"unit": "numbers"}),
    Slip("bits-for-bytes", "Bits are compared with bytes.", {"unit": "bits"}),
    Slip("no-power-of-two", "It is the largest n that fits, but not a power of two.", {"step": "ones"}),
    Slip("one-step-too-far", "It is the first power of two that does not fit; the one before it is asked for.",
         {"off": 2}),
    Slip("one-step-too-early", "It is half of what fits.", {"off": 0.5}),
    Slip("exact-fit-refused", "A tile that fills the memory exactly does fit.", {"bound": "<"}),
    Slip("does-not-refuse", "Where nothing fits, it must raise ValueError.", {"refuses": False}),
)

EXERCISE = Exercise(
    name="largest_tile",
    reference=reference,
    parameters=("memory", "d_k", "bytes_per_number"),
    parts=("tile",),
    probes=PROBES,
    examples=(Example("memory = 10,000 bytes, d_k = 16, 2 bytes a number:", (10_000, 16, 2)),),
    hints=(
        "How many numbers does a tile of n queries and n keys hold in all?",
        "4 · n · d_k for queries, keys, values and outputs, and n · n scores. Double n while the next one still fits.",
        "def needed(n): return (4 * n * d_k + n * n) * bytes_per_number — then: while needed(2 * n) <= memory: n *= 2",
    ),
    variant=stages,
    slips=SLIPS,
    in_pairs=False,
    look={"parts": "the parts that are n × d_k", "scores": "the scores", "unit": "bytes", "bound": "an exact fit",
          "step": "powers of two", "off": "where the loop ends", "refuses": "what happens when nothing fits"},
)  # fmt: skip
