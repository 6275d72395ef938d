r"""The little markup of quiz texts: `code`, *stress*, **bold** and $maths$, turned into HTML or plain text.

No maths library is fetched, so this works offline. Known in $…$: letters, words, numbers, _ and ^ with one
character or a {group}, \frac{a}{b}, \sqrt{a}, \text{a} and the names in SYMBOLS. Anything else: ValueError.
Uses the standard library only.
"""
import html
import re

SYMBOLS = {
    "times": " × ", "cdot": "·", "le": " ≤ ", "ge": " ≥ ", "neq": " ≠ ", "approx": " ≈ ", "in": " ∈ ",
    "to": " → ", "pm": " ± ", "infty": "∞", "sum": "Σ", "ldots": "…", "pi": "π", "alpha": "α", "beta": "β",
    "gamma": "γ", "theta": "θ", "mu": "μ", "sigma": "σ", "lambda": "λ", "omega": "ω",
}
SPACED = {"=": " = ", "<": " &lt; ", ">": " &gt; ", "+": " + ", "-": " − ", ",": ", ", "&": "&amp;"}
MARKUP = re.compile(r"\$(?P<maths>[^$]+)\$|`(?P<code>[^`]+)`"
                    r"|\*\*(?P<bold>[^*]+)\*\*|\*(?P<stress>[^*\s][^*]*)\*")
TAGS = {"code": "code", "bold": "strong", "stress": "em"}


def to_html(text):
    """HTML of a quiz text. Everything else in it is escaped, so it can be put into a page as it is."""
    parts, end = [], 0
    for match in MARKUP.finditer(text):
        parts.append(html.escape(text[end:match.start()]))
        kind = match.lastgroup
        inner = match[kind]
        parts.append(f'<span class="maths">{maths_html(inner)}</span>' if kind == "maths"
                     else f"<{TAGS[kind]}>{html.escape(inner)}</{TAGS[kind]}>")
        end = match.end()
    return "".join(parts) + html.escape(text[end:])


def to_plain(text):
    """The same text for a terminal: d_k, √(a), a / b, and no tags."""
    page = to_html(text)
    for tag, sign in (("sub", "_"), ("sup", "^")):
        page = re.sub(f"<{tag}>(.*?)</{tag}>", lambda m, sign=sign: sign + _bracketed(_bare(m[1])), page)
    page = re.sub(r'√<span class="root">(.*?)</span>', r"√(\1)", page)
    return html.unescape(_bare(page))


def _bare(page):
    return re.sub(r"<[^>]+>", "", page)


def _bracketed(inner):
    return f"({inner.replace(' ', '')})" if re.search("[ /]", inner) else inner


def maths_html(source):
    """HTML of what stands between two $ signs."""
    parts, rest = [], source.strip()
    while rest:
        part, rest = _next_part(rest)
        parts.append(part)
    return "".join(parts).strip()


def _next_part(rest):
    """HTML of the first part of a formula, and what follows it."""
    first, after = rest[0], rest[1:]
    if first in "_^":
        inner, after = _argument(after)
        tag = "sub" if first == "_" else "sup"
        return f"<{tag}>{inner}</{tag}>", after
    if first == "\\":
        return _command(after)
    if first in "{}":
        raise ValueError(f"A brace that belongs to no command, at {rest!r} in a formula.")
    if first.isspace():
        return "", after
    word = re.match(r"[A-Za-z]{3,}\s*", rest)
    if word:                                                     # d_{model}, sin p: a word, no variables
        return word[0], rest[word.end():]
    return (f"<i>{first}</i>" if first.isalpha() else SPACED.get(first, html.escape(first))), after


def _command(rest):
    """HTML of \\name and of its arguments, and what follows."""
    found = re.match(r"[a-z]+", rest)
    if not found:
        return html.escape(rest[:1]), rest[1:]                   # \\% or \\_ : the sign itself
    name, rest = found[0], rest[found.end():]
    if name == "text":
        inner, rest = _group(rest)
        return html.escape(inner), rest
    if name == "sqrt":
        inner, rest = _argument(rest)
        return f'√<span class="root">{inner}</span>', rest
    if name == "frac":
        top, rest = _argument(rest)
        bottom, rest = _argument(rest)
        return f"{top} / {bottom}", rest
    if name not in SYMBOLS:
        raise ValueError(f"\\{name} is not known to rich_text. Known: {', '.join(sorted(SYMBOLS))}.")
    return SYMBOLS[name], rest


def _argument(rest):
    """HTML of a {group} or of one part, and what follows."""
    rest = rest.lstrip()
    if rest.startswith("{"):
        inner, rest = _group(rest)
        return maths_html(inner), rest
    if not rest:
        raise ValueError("A formula ends where something should follow.")
    return _next_part(rest)


def _group(rest):
    """What stands inside the {…} at the beginning, and what follows it."""
    depth = 0
    for i, char in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0 and i:
            return rest[1:i], rest[i + 1:]
    raise ValueError(f"A brace is not closed at {rest!r} in a formula.")
