"""explore_parameters: where a Transformer's parameters are, for models that exist and for sizes of your own."""

from dataclasses import replace

from course_lib.counting import PUBLISHED, attention_count, feed_forward_count, parameter_table
from course_lib.widgets.view import Control, View, source

PRESETS = ["BERT-base", "GPT-2 small", "T5-base", "ViT-B/16", "original base", "original big"]
SIZES = ("d_model", "n_heads", "d_ff", "n_layers", "vocab_size")
GROUPS = {"attention": "attention", "cross-attention": "attention", "feed-forward": "feed-forward", "norms": "norms"}


class ParametersView(View):
    """Every count comes from course_lib.counting; a published model is its printed configuration."""

    _esm = source("keys.js", "family.js", "controls.js", "parameters.js")
    _css = source("family.css", "parameters.css")
    preset = Control()
    d_model = Control()
    n_heads = Control()
    d_ff = Control()
    n_layers = Control()
    vocab_size = Control()

    def __init__(self):
        limits = {
            "preset": PRESETS,
            "d_model": [64, 128, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 4096],
            "n_heads": [1, 2, 4, 8, 12, 16, 32],
            "d_ff": [256, 512, 1024, 2048, 3072, 4096, 8192, 16384],
            "n_layers": list(range(1, 49)),
            "vocab_size": [0, 256, 1000, 8000, 30522, 32128, 37000, 50257, 100000, 250000],
        }
        super().__init__(limits, preset=PRESETS[0], **published_sizes(PRESETS[0]))
        self.observe(self._take_sizes, names="preset")

    def _take_sizes(self, change):
        with self.hold_trait_notifications():
            for name, value in published_sizes(change.new).items():
                setattr(self, name, value)

    def table(self):
        """({part: parameters}, unchanged): with the parts that only the published model has, while it is unchanged."""
        published = PUBLISHED[self.preset]
        config = replace(published.config, **{name: getattr(self, name) for name in SIZES})
        if config == published.config:
            return published.table(), config, True
        parts = parameter_table(config, published.kind)
        return {part: n for part, n in parts.items() if n}, config, False

    def compute(self):
        parts, config, unchanged = self.table()
        total, groups = sum(parts.values()), {}
        for part, n in parts.items():
            group = GROUPS.get(part, "embeddings and the rest")
            groups[group] = groups.get(group, 0) + n
        block = {"attention": attention_count(config), "feed-forward": feed_forward_count(config)}
        return {
            "total": total,
            "parts": list(parts.items()),
            "groups": sorted(groups.items(), key=lambda item: -item[1]),
            "block": list(block.items()),
            "printed": PUBLISHED[self.preset].printed if unchanged else "",
            "note": PUBLISHED[self.preset].note if unchanged else "",
        }

    def words(self):
        shown = self.result
        shares = ", ".join(f"{n / shown['total']:.1%} {group}" for group, n in shown["groups"])
        printed = f" (printed: {shown['printed']})" if shown["printed"] else ""
        name = self.preset if shown["printed"] else f"built like {self.preset}, other sizes"
        return f"{name}: {shown['total']:,} parameters{printed}; {shares}."


def published_sizes(name):
    return {size: getattr(PUBLISHED[name].config, size) for size in SIZES}


def explore_parameters():
    """Move d_model, heads, d_ff, layers and vocabulary; see how many parameters there are, and where.

    Starts from published models (BERT, GPT-2, T5, ViT, the original). Returns a widget with the traits preset, d_model,
    n_heads, d_ff, n_layers and vocab_size.
    """
    return ParametersView()
