"""The known slips of scaled dot-product attention, and where to look for each."""

from course_lib.exercises.exercise import Slip

LOOK = {
    "pair": "the line that computes the scores: who is multiplied with whom",
    "transpose": "which two axes of the keys are exchanged",
    "scale": "what the scores are divided by",
    "scaled_where": "where the division stands",
    "mask_how": "the line that uses the mask",
    "causal": "what happens when no mask is given",
    "softmax": "how scores become weights, and along which axis",
    "values": "what the weights are multiplied with",
    "after": "what is returned",
    "second": "the second value that is returned",
}


def _scale(slug, what, **knobs):
    return Slip(slug, f"The scores are {what}; the formula divides them by the square root of d_k, the width of one "
                f"key.", knobs)


def _axis(slug, says, softmax):
    return Slip(slug, f"{says} For each query, the weights over the keys should sum to 1.", {"softmax": softmax})


SLIPS = (
    _scale("scale-missing", "not divided by anything", scale="none"),
    _scale("scale-d_k", "divided by d_k itself (or by √d_k twice)", scale="d_k"),
    _scale("scale-times-sqrt", "multiplied by √d_k", scale="times √d_k"),
    _scale("scale-times-d_k", "multiplied by d_k", scale="times d_k"),
    _scale("scale-d_k-squared", "divided by d_k squared", scale="d_k²"),
    _scale("scale-fourth-root", "divided by the fourth root of d_k", scale="d_k^¼"),
    _scale("scale-sqrt-d_v", "divided by the square root of d_v, the width of the values", scale="√d_v"),
    _scale("scale-sqrt-S", "divided by the square root of the number of keys", scale="√S"),
    _scale("scale-sqrt-T", "divided by the square root of the number of queries, T", scale="√T"),
    _scale("scale-S", "divided by the number of keys", scale="S"),
    _scale("scale-d_v", "divided by d_v, the width of the values", scale="d_v"),
    _scale("scale-sqrt-2d_k", "divided by √(2 d_k)", scale="√2d_k"),
    _scale("scale-2-sqrt-d_k", "divided by 2 √d_k", scale="2√d_k"),
    _scale("scale-log-d_k", "divided by a logarithm of d_k", scale="ln d_k"),
    _scale("scale-fixed", "divided by 8, whatever d_k is (√64 in the paper's models)", scale="8"),
    _scale("scale-off-by-one", "divided by √(d_k − 1)", scale="√(d_k-1)"),
    _scale("scale-off-by-one-up", "divided by √(d_k + 1)", scale="√(d_k+1)"),
    _scale("scale-from-axis-0", "divided by the root of the size of axis 0, which is the batch", scale="axis 0"),
    _scale("scale-from-axis-1", "divided by the root of the size of axis 1: that is d_k only for input with 2 axes; "
           "count from the right",
           scale="axis 1"),
    _scale("scale-from-axis-2", "divided by the root of the size of axis 2: that is d_k only for input with 3 axes; "
           "count from the right",
           scale="axis 2"),
    _scale("scale-rounded-down", "divided by √d_k cut to a whole number (int or a floor division)", scale="int √d_k"),
    Slip("scores-rounded-down", "The scores are rounded down to whole numbers: a floor division (//) where / belongs.",
         {"scaled_where": "floored scores"}),
    Slip("scale-after-softmax", "The division by √d_k comes after the softmax: each row of weights sums to 1/√d_k "
         "instead of 1.",
         {"scaled_where": "weights"}),
    Slip("scale-on-output", "The division by √d_k is applied to the output, not to the scores before the softmax.",
         {"scaled_where": "output"}),
    _axis("softmax-over-queries", "The softmax runs over the queries (axis -2): it is each key that shares out its "
          "attention.", "queries"),
    _axis("softmax-axis-0", "The softmax runs over axis 0, the batch: the sequences compete with each other.",
          "axis 0"),
    _axis("softmax-axis-1", "The softmax runs over axis 1, which is the axis of the keys only for input with 2 axes; "
          "with a batch or heads in front it is another one.", "axis 1"),
    _axis("softmax-axis-2", "The softmax runs over axis 2, which is the axis of the keys only for input with 3 axes.",
          "axis 2"),
    _axis("softmax-axis-3", "The softmax runs over axis 3, which exists only for input with 4 axes.", "axis 3"),
    _axis("softmax-without-axis", "The softmax is called without an axis and picks one by the number of axes: never "
          "the keys once there is a batch.", "implicit"),
    _axis("softmax-everything", "The softmax runs over queries and keys together: the whole T × S matrix sums to 1.",
          "everything"),
    _axis("softmax-everything-batch", "The softmax runs over all numbers at once, the batch included.",
          "everything, batch too"),
    _axis("softmax-missing", "There is no softmax: the scores themselves are used as weights.", "none"),
    _axis("softmax-sigmoid", "A sigmoid is used where a softmax belongs: each weight is squashed by itself, rows do "
          "not sum to 1.",
          "sigmoid"),
    _axis("softmax-log", "It is log_softmax: the logarithms of the weights are used as weights.", "log"),
    _axis("softmax-twice", "The softmax is applied twice, which makes the weights nearly equal.", "twice"),
    _axis("softmax-exp-only", "The exponentials are not divided by their sum.", "exp only"),
    _axis("softmax-shifted-exp-only", "The exponentials (of score minus maximum) are not divided by their sum.",
          "shifted exp only"),
    _axis("softmax-sum-only", "Scores are divided by their sum without an exponential: weights can be negative.",
          "sum only"),
    _axis("softmax-no-keepdim", "The sum over the keys loses its axis (no keepdim), so that the division runs along "
          "the wrong one.",
          "no keepdim"),
    _axis("maximum-no-keepdim", "The maximum over the keys loses its axis (no keepdim), so that it is subtracted along "
          "the wrong one.", "maximum without keepdim"),
    _axis("softmax-divided-by-query-sums", "The exponentials are divided by their sums over the queries, not over "
          "the keys.",
          "divided by query sums"),
    _axis("softmax-divided-by-all", "The exponentials are divided by the sum of all of them.", "divided by all"),
    _axis("softmax-naive-no-keepdim", "The sum over the keys loses its axis (no keepdim), so that the division runs "
          "along the wrong one; and exp overflows for large scores.", "naive, no keepdim"),
    _axis("softmax-off-by-one", "The sum of the exponentials has a 1 too many in it.", "off by one"),
    Slip("softmax-overflows", "The weights are right for small scores, but exp of a large score overflows to "
         "infinity, and ∞ / ∞ is NaN. The softmax does not change when a number is subtracted from a whole row of "
         "scores: use that.", {"softmax": "naive"}),
    Slip("softmax-global-maximum", "Subtracting the maximum of all scores does not save a row whose own scores are "
         "far below it: all its exponentials become 0, and 0 / 0 is NaN. Each row needs its own maximum.",
         {"softmax": "shifted by the overall maximum"}),
    _axis("softmax-argmax", "All the weight goes to the best key: this is an argmax, which a softmax only "
          "approaches.", "one-hot"),
    _axis("softmax-negative", "The sign of the scores is turned: the key that fits worst gets the largest weight.",
          "negative"),
    _axis("softmax-base-2", "The exponentials have base 2 instead of e.", "base 2"),
    _axis("softmax-relu", "A ReLU is used where a softmax belongs.", "relu"),
    _axis("softmax-mean", "The scores are divided by the number of keys; there is no softmax.", "mean"),
    _axis("softmax-norm", "The scores are divided by their length (a norm); there is no softmax.", "norm"),
    Slip("mask-ignored", "The mask has no effect: the output is the same with and without it. (A method without a "
         "trailing underscore, such as masked_fill, returns a new tensor and leaves the old one alone.)",
         {"mask_how": "ignored"}),
    Slip("mask-inverted", "The mask is used the wrong way round: here True means *may attend*, and yours hides "
         "exactly those.",
         {"mask_how": "inverted"}),
    Slip("mask-after-softmax", "The mask comes after the softmax: hidden keys get weight 0, but the rest of the row "
         "no longer sums to 1.",
         {"mask_how": "after"}),
    Slip("mask-after-softmax-inverted", "The mask comes after the softmax, and the wrong way round: True means *may "
         "attend*.",
         {"mask_how": "after, inverted"}),
    Slip("mask-after-softmax-large", "A large negative number is written into the weights, after the softmax; it "
         "belongs into the scores before it.", {"mask_how": "after, by sign"}),
    Slip("mask-after-softmax-inf", "−∞ is written into the weights, after the softmax, instead of into the scores "
         "before it.",
         {"mask_how": "after, with ∞"}),
    Slip("blocked-score-zero", "Hidden keys get a score of about 0, and exp(0) = 1: they still receive weight. A "
         "hidden score has to be −∞ or hugely negative. (Multiplying the scores by the mask gives 0; and 1e-9 is a "
         "tiny positive number, not −1e9.)",
         {"mask_how": "to 0"}),
    Slip("blocked-score-zero-inverted", "Scores where the mask is True are set to 0: the wrong way round (True means "
         "*may attend*), and 0 does not hide anything, since exp(0) = 1.", {"mask_how": "inverted to 0"}),
    Slip("blocked-score-one", "Hidden keys get the score 1, which hides nothing: a hidden score has to be −∞ or "
         "hugely negative.",
         {"mask_how": "to 1"}),
    Slip("blocked-score-minus-one", "Hidden keys get the score −1, which is not small enough to hide them: exp(−1) "
         "is still 0.37.",
         {"mask_how": "to -1"}),
    Slip("blocked-score-too-small", "Hidden keys get a score of −10, which is not small enough: an allowed key may "
         "have −30.",
         {"mask_how": "to -10"}),
    *(Slip("blocked-score-too-small",
      f"Hidden keys get a score of {score}, which is not small enough: an allowed key may have −30.",
           {"mask_how": f"to {score}"}) for score in (-5, -20, -25, -30)),
    Slip("blocked-score-plus-infinity", "Hidden keys get +∞ instead of −∞: they take all the weight, or give NaN.",
         {"mask_how": "to +inf"}),
    Slip("blocked-score-plus-large", "Hidden keys get a huge positive score: they take all the weight. The sign is "
         "wrong.",
         {"mask_how": "to +1e9"}),
    Slip("mask-added-as-number", "The mask is added to the scores as 0 and 1: allowed keys get one point more than "
         "hidden ones, and nothing is hidden.",
         {"mask_how": "plus 1 where allowed"}),
    Slip("mask-added-as-number-inverted", "The inverted mask is added to the scores as 0 and 1: hidden keys get one "
         "point *more*.",
         {"mask_how": "plus 1 where blocked"}),
    Slip("mask-minus-ten", "Ten points are taken from hidden keys: not enough where scores reach ±30.",
         {"mask_how": "plus -10"}),
    Slip("mask-zero-times-infinity", "A mask of 0 and 1 is multiplied by −∞: 0 · ∞ is NaN, so every score becomes "
         "NaN.",
         {"mask_how": "0 times inf"}),
    Slip("mask-multiplies-by-large", "Hidden scores are *multiplied* by a huge negative number: a negative score "
         "becomes hugely positive and takes all the weight.", {"mask_how": "times -1e9"}),
    Slip("mask-multiplies-by-large-positive", "Hidden scores are *multiplied* by a huge number: a positive score "
         "takes all the weight.",
         {"mask_how": "times 1e9"}),
    Slip("mask-multiplies-by-infinity", "Hidden scores are *multiplied* by −∞: a negative score becomes +∞.",
         {"mask_how": "times -inf"}),
    Slip("mask-transposed", "The mask is transposed: its rows are the queries and its columns the keys.",
         {"mask_how": "transposed"}),
    Slip("mask-first-row", "Only the first row of the mask is used, for all queries.",
         {"mask_how": "first row only"}),
    Slip("mask-on-values", "The mask is applied to the values, not to the scores.", {"mask_how": "values"}),
    Slip("always-causal", "Every query looks only back, even when no mask is given: the causal mask is built in. "
         "Which mask to use is the caller's choice.", {"causal": "look back"}),
    Slip("always-anticausal", "Every query looks only forward, even when no mask is given.",
         {"causal": "look forward"}),
    Slip("queries-and-keys-exchanged", "Queries and keys are exchanged: the scores are the transpose of the right "
         "ones.", {"pair": "k·q"}),
    Slip("scores-from-queries-alone", "The scores are q qᵀ: the keys are not used.", {"pair": "q·q"}),
    Slip("scores-from-keys-alone", "The scores are k kᵀ: the queries are not used.", {"pair": "k·k"}),
    Slip("scores-from-values", "The scores are computed with the values instead of the keys.", {"pair": "q·v"}),
    Slip("scores-feature-by-feature", "The weights are d_k × d_k: qᵀ k compares features with features. They must be "
         "T × S, q with kᵀ.",
         {"pair": "features", "values": "v from the left", "mask_how": "ignored"}),
    Slip("scores-from-distance", "The scores are (negative) squared distances between q and k, not dot products.",
         {"pair": "distance"}),
    Slip("scores-cosine", "q and k are scaled to length 1 first (cosine similarity); the formula takes their plain "
         "dot product.",
         {"pair": "cosine"}),
    Slip("scores-cosine-unscaled", "The scores are cosines of the angles between q and k, not dot products divided "
         "by √d_k.",
         {"pair": "cosine", "scale": "none"}),
    Slip("keys-not-transposed", "The keys are not transposed: q @ k multiplies queries with features (and runs only "
         "where sizes agree).",
         {"transpose": "none"}),
    Slip("keys-all-axes-reversed", "All axes of the keys are reversed, as `.T` does (or the first and the last are "
         "exchanged): with a batch in front that turns the batch axis too. Only the last two axes change places.",
         {"transpose": "all"}),
    Slip("keys-axes-1-2", "Axes 1 and 2 (or 1 and -1) of the keys are exchanged: these are the last two only for "
         "input with 3 axes. Count from the right.",
         {"transpose": "1,2"}),
    Slip("keys-axes-0-1", "Axes 0 and 1 of the keys are exchanged: these are the last two only for input with 2 "
         "axes. Count from the right.",
         {"transpose": "0,1"}),
    Slip("weights-times-keys", "The weights are multiplied with the keys: the values have no influence on the "
         "output.", {"values": "k"}),
    Slip("weights-times-queries", "The weights are multiplied with the queries: the values have no influence on the "
         "output.", {"values": "q"}),
    Slip("weights-transposed", "The weights are transposed before they meet the values.",
         {"values": "transposed weights"}),
    Slip("scores-times-values", "The values are averaged with the scores, not with the softmaxed weights (which are "
         "right).",
         {"values": "scores"}),
    Slip("values-from-the-left", "The product with the values is the wrong way round: v @ weights.",
         {"values": "v from the left"}),
    Slip("plain-mean-of-values", "The output is the plain mean of the values: the weights are not used.",
         {"values": "mean of v"}),
    Slip("adds-the-queries", "The queries are added to the output: a residual connection belongs to the block around "
         "attention.",
         {"after": "plus q"}),
    Slip("returns-scores",
         "The output is right; the second value holds the scores. Return the weights: after the softmax, rows sum to "
         "1.",
         {"second": "scores"}),
    Slip("returns-raw-scores",
         "The output is right; the second value holds the scores before mask and softmax. Return the weights.",
         {"second": "raw scores"}),
    Slip("returns-log-weights",
         "The output is right; the second value holds the logarithms of the weights.", {"second": "log weights"}),
    Slip("returns-transposed-weights",
         "The output is right; the weights are returned transposed: (…, S, T) instead of (…, T, S).",
         {"second": "transposed weights"}),
    Slip("returns-averaged-weights",
         "The output is right; the weights are averaged over axis 1 before they are returned.",
         {"second": "mean over axis 1"}),
)
