"""What Python's and PyTorch's error messages mean to somebody who writes attention."""

import re

# pattern on "Type: text" -> (slug, what it means); the first that fits counts
MEANINGS = (
    (r"TooManySteps", "no-length-limit",
     "The loop asks for more and more tokens: it never stops when eos_id does not come. max_len has to stop it."),
    (r"WrongInput", "step-fn-input",
     "step_fn is given something else than the list of ids so far: not a batch, not a tensor with more axes, not a "
     "single id."),
    (r"'ellipsis'|(not|type|got) ellipsis", "gap-left", "A gap is still open: `...` stands where something of yours belongs."),
    (r"NameError: name '(\w+)' is not defined", "undefined-name", "The name {0} is used but never defined."),
    (r"UnboundLocalError.*'(\w+)'", "undefined-name",
     "The name {0} is used before it gets a value (in some branch only?)."),
    (r"NotImplementedError", "unfinished", "One branch still raises NotImplementedError."),
    (r"inner call: .*takes (\d+|from \d+ to \d+) positional arguments? but (\d+)", "wrong-call",
     "A function that you call takes other arguments than you give it."),
    (r"inner call: .*missing \d+ required (?:positional|keyword-only) arguments?: (.*)", "wrong-call",
     "A function that you call needs one thing more: {0}."),
    (r"takes (\d+|from \d+ to \d+) positional arguments? but (\d+)", "wrong-parameters",
     "The function was called with {1} arguments: keep the parameters of the stub, in its order."),
    (r"missing \d+ required (?:positional|keyword-only) argument", "wrong-parameters",
     "The function asks for more arguments than the exercise hands over: keep the parameters of the stub."),
    (r"RecursionError", "endless-recursion", "The function calls itself without end."),
    (r"'NoneType' object|NoneType", "none-used",
     "Something here is None and is used like a tensor: an argument that was left out, or a function that returns "
     "nothing."),
    (r"t\(\) expects a tensor with <= 2", "transposes-two-axes-only",
     "`.t()` works for two axes only: exchange the last two axes, so that a batch and heads may stand in front."),
    (r"normalized_shape", "fixed-width",
     "The norm is told another width than that of its input: take it from the input."),
    (r"view size is not compatible|Use \.reshape", "view-after-transpose",
     "After a transpose the numbers are no longer contiguous in memory, and `.view` refuses."),
    (r"(must be tuple of ints|must be ints|integer|an int).*float|float.*(integer|tuple of ints)|'float' object cannot be interpreted",
     "float-size", "A size or an index came out as a float; `/` always gives a float."),
    (r"Dimension out of range|too many indices|Dimension specified as|too many dimensions", "axis-does-not-exist",
     "An axis is named that a tensor here does not have. Count axes from the right, so that leading axes do not "
     "matter; and tensors that are joined need the same number of axes."),
    (r"not enough values to unpack|too many values to unpack", "hard-coded-axes",
     "The shape is unpacked into a fixed number of axes (or a tuple into the wrong number of names)."),
    (r"shape '.*' is invalid for input", "view-does-not-fit",
     "A view or reshape asks for a shape with another number of elements than the tensor has."),
    (r"mat1 and mat2|Expected size for first two dimensions of batch2|inconsistent tensor size|cannot be multiplied",
     "product-does-not-fit",
     "The two factors of a matrix product do not fit: the last axis of the left one must be as long as "
     "the last but one of the right one, and leading axes must agree."),
    (r"same dtype|expected scalar type|Float but|Double but|expected m1 and m2 to have the same dtype", "mixed-dtypes",
     "Two tensors have different dtypes: something made inside has a fixed dtype instead of that of the input."),
    (r"bitwise_not|~ .*only be used|Operation on.*bool|Subtraction, the `-` operator, with a bool|masked_fill.*bool|"
     r"only supports boolean masks|[Bb]oolean value of Tensor", "mask-misused",
     "A bool mask is used where a number is expected, or a tensor of numbers (or a whole tensor in an `if`) where a "
     "bool is."),
    (r"must match the size of tensor|shape mismatch|not broadcastable|expanded size of the tensor|must match the existing size|"
     r"output with shape", "shapes-do-not-fit",
     "Two tensors that are combined element by element do not line up."),
    (r"leaf Variable|in-place", "in-place", "A tensor that others still need is overwritten in place."),
    (r"SystemExit|KeyboardInterrupt", "exits", "The function ends the program instead of returning."),
    (r"AssertionError", "refuses-valid-input", "An assert of yours refuses input that is valid."),
    (r"ValueError", "refuses-valid-input", "Input that is valid is refused."),
)


def meaning(raised):
    """(slug, sentence) for an exception; a slug with the exception's type and no sentence where the text is not known.

    One that a line of the learner's own raised is an "inner call": what is called there is not the exercise's function.
    """
    where = "" if raised.line_number is None else "inner call: "
    text = f"{where}{raised.kind}: {raised.text}"
    for pattern, slug, says in MEANINGS:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            return slug, says.format(*(g or "" for g in found.groups()))
    return "raises-" + raised.kind.lower(), ""


def kind(name, text):
    """The slug for an exception of type `name` with this text."""
    return next((slug for pattern, slug, _ in MEANINGS if re.search(pattern, f"{name}: {text}",
                re.DOTALL)), "raises-" + name.lower())


def place(raised):
    """The exception with the learner's line: "RuntimeError in line 4, `return x.view(B, T, -1)`: text"."""
    where = "" if raised.line_number is None else f" in line {raised.line_number}"
    line = f", `{raised.line}`" if raised.line else ""
    text = raised.text.strip().split("\n")[0]
    return f"{raised.kind}{where}{line}: {text[:200]}" if text else f"{raised.kind}{where}{line}"
