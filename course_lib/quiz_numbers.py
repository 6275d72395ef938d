"""Numbers in questions: arithmetic expressions from the quiz files, and drills with random numbers.

A drill's file gives the values that each name is drawn from, expressions for the options, and texts in which
[name] stands for the drawn number. Expressions are arithmetic only; nothing in a quiz file is run as code.
"""
import ast
import operator

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg,
}
LETTERS = "ABCDEFGH"


def evaluate(expression, names=None):
    """Value of an expression of numbers, names, + - * / // % ** and brackets; anything else: ValueError."""
    return _value(ast.parse(str(expression), mode="eval").body, names or {})


def _value(node, names):
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.operand, names))
    raise ValueError(f"{ast.unparse(node)!r} is neither a known name nor arithmetic")


def draw(drill, rng):
    """One question of a drill: an item of kind "one" whose options are shuffled. rng: random.Random."""
    for _ in range(1000):
        names = {name: rng.choice(values) for name, values in drill["numbers"].items()}
        for name, expression in drill.get("compute", {}).items():
            names[name] = evaluate(expression, names)
        values = [evaluate(option["value"], names) for option in drill["options"]]
        if len(set(values)) == len(values):              # of two equal options both would be right
            return _question(drill, names, values, rng)
    raise ValueError("1,000 draws gave no numbers for which all options differ")


def _question(drill, names, values, rng):
    order = rng.sample(range(len(values)), len(values))
    options = [{"letter": letter, "text": in_words(values[i]), "correct": drill["options"][i]["correct"],
                "why": _fill(drill["options"][i]["why"], names)}
               for letter, i in zip(LETTERS, order, strict=False)]
    return {"id": drill["id"], "kind": "one", "text": _fill(drill["text"], names), "options": options,
            "numbers": names}


def _fill(text, names):
    """The text with each [name] replaced by its number."""
    for name, value in names.items():
        text = text.replace(f"[{name}]", in_words(value))
    return text


def in_words(value):
    """A number as the questions write it: 64, or 0.3333."""
    return str(int(value)) if value == int(value) else f"{value:.4g}"
