"""The known slips of multi-head attention, self- and cross-, and where to look for each."""

from course_lib.exercises.exercise import Slip

LOOK = {
    "before": "what is done with x before the projections",
    "weights_for": "which matrix each projection uses",
    "project_q": "the line that makes the queries",
    "project_k": "the line that makes the keys",
    "project_v": "the line that makes the values",
    "project_all": "the three projections",
    "output": "what is done with w_o",
    "early_split": "the order of projecting and splitting",
    "cut": "how the projections are cut into heads",
    "cut_v": "how the values are cut into heads",
    "join": "how the heads are put together again",
    "heads": "what is done with n_heads",
    "scale": "what the scores are divided by",
    "scaled_where": "where the division stands",
    "add": "what happens after w_o",
    "answer": "what is returned",
    "mask_how": "the line that uses the mask",
    "softmax": "how scores become weights, and along which axis",
    "causal": "what happens when no mask is given",
    "pair": "the line that computes the scores",
    "values": "what the weights are multiplied with",
    "head_mask": "what happens to the mask of each head",
}

_SCALE = "Inside a head the width is d_k = d_model / n_heads, and the scores are divided by its square root."


def _weights(slug, says, order):
    return Slip(slug, says, {"weights_for": order})


PROJECTIONS = (
    _weights("values-use-w_k", "The values are made with w_k: w_v is never used.", "qkko"),
    _weights("values-use-w_q", "The values are made with w_q: w_v is never used.", "qkqo"),
    _weights("keys-use-w_q", "The keys are made with w_q: w_k is never used.", "qqvo"),
    _weights("queries-use-w_k", "The queries are made with w_k: w_q is never used.", "kkvo"),
    _weights("keys-use-w_v", "The keys are made with w_v: w_k is never used.", "qvvo"),
    _weights("queries-use-w_v", "The queries are made with w_v: w_q is never used.", "vkvo"),
    _weights("one-matrix-for-all", "Queries, keys and values are all made with w_q: w_k and w_v are never used.",
             "qqqo"),
    _weights("w_v-for-all", "Queries, keys and values are all made with w_v.", "vvvo"),
    _weights("w_k-for-all", "Queries, keys and values are all made with w_k.", "kkko"),
    _weights("w_q-and-w_k-exchanged", "w_q and w_k are exchanged: the scores are the transpose of the right ones.",
             "kqvo"),
    _weights("w_k-and-w_v-exchanged", "w_k and w_v are exchanged.", "qvko"),
    _weights("w_q-and-w_v-exchanged", "w_q and w_v are exchanged.", "vkqo"),
    _weights("w_v-as-output", "The output is projected with w_v once more: w_o is never used.", "qkvv"),
    _weights("w_q-as-output", "The output is projected with w_q: w_o is never used.", "qkvq"),
    _weights("w_k-as-output", "The output is projected with w_k: w_o is never used.", "qkvk"),
    _weights("w_v-and-w_o-exchanged", "w_v and w_o are exchanged.", "qkov"),
    Slip("weights-transposed", "w_q, w_k and w_v are used transposed; here they are used as x @ w. (nn.Linear keeps "
         "its weight the other way round.)", {"project_all": "transposed"}),
    Slip("all-weights-transposed", "All four matrices are used transposed; here they are used as x @ w. (nn.Linear "
         "keeps its weight the other way round, and so does F.linear.)",
         {"project_all": "transposed", "output": "transposed"}),
    Slip("w_q-transposed", "w_q is used transposed; here it is used as x @ w.", {"project_q": "transposed"}),
    Slip("w_k-transposed", "w_k is used transposed; here it is used as x @ w.", {"project_k": "transposed"}),
    Slip("w_v-transposed", "w_v is used transposed; here it is used as x @ w.", {"project_v": "transposed"}),
    Slip("w_o-transposed", "w_o is used transposed; here it is used as concat @ w_o.", {"output": "transposed"}),
    Slip("w_o-missing", "The heads are put side by side, but the output projection w_o is missing: they are never "
         "mixed.",
         {"output": "missing"}),
    Slip("w_o-twice", "w_o is applied twice.", {"output": "twice"}),
    Slip("queries-not-projected", "The queries are x itself: w_q is never used.", {"project_q": "missing"}),
    Slip("keys-not-projected", "The keys are the input itself: w_k is never used.", {"project_k": "missing"}),
    Slip("values-not-projected", "The values are the input itself: w_v is never used.", {"project_v": "missing"}),
    Slip("queries-and-keys-not-projected", "Queries and keys are the input itself: w_q and w_k are never used.",
         {"project_q": "missing", "project_k": "missing"}),
    Slip("nothing-projected", "Queries, keys and values are the input itself: w_q, w_k and w_v are never used.",
         {"project_all": "missing"}),
    Slip("w_v-twice", "w_v is applied twice.", {"project_v": "twice"}),
    Slip("values-from-the-keys", "The values are made from the keys (w_v is applied to what w_k gave) instead of from "
         "the input.", {"project_v": "after w_k"}),
    Slip("w_q-twice", "w_q is applied twice.", {"project_q": "twice"}),
    Slip("w_k-twice", "w_k is applied twice.", {"project_k": "twice"}),
    Slip("relu-on-projections", "There is a ReLU on queries, keys and values; the projections are linear.",
         {"project_all": "relu"}),
    Slip("relu-on-values", "There is a ReLU on the values; the projections are linear.", {"project_v": "relu"}),
    Slip("relu-on-output", "There is a ReLU at the end; w_o is the last step.", {"add": "relu"}),
    Slip("softmax-on-output", "There is a softmax over the features of the output; w_o is the last step.",
         {"add": "softmax"}),
    Slip("input-normed-first", "The input is normalised first: the norm belongs to the block around attention, not "
         "into this function.",
         {"before": "normed"}),
    Slip("input-scaled-first", "The input is multiplied by √d_model first: that belongs to the embedding.",
         {"before": "scaled"}),
    Slip("residual-added", "Your result is the right one plus the input: the residual connection belongs to the "
         "block around attention, not into this function.", {"add": "x"}),
    Slip("residual-and-norm", "The input is added and the sum normalised: both belong to the block around attention.",
         {"add": "norm of sum"}),
    Slip("output-normed", "The result is normalised: the norm belongs to the block around attention.",
         {"add": "norm"}),
)

HEADS = (
    Slip("one-head-only", "n_heads makes no difference: this is one head as wide as d_model. Split the projections "
         "into heads.",
         {"heads": "one"}),
    Slip("heads-and-d_k-exchanged", "The number of heads and their width are exchanged: there are d_k heads of width "
         "n_heads.",
         {"heads": "d_k of them"}),
    Slip("heads-as-wide-as-their-number", "The heads are n_heads features wide (slices of width n_heads); they "
         "should be d_k = d_model / n_heads wide.", {"cut": "width h"}),
    Slip("heads-before-projection", "Each head sees only its own slice of x: x is split before it is projected, so "
         "that only diagonal blocks of w_q, w_k and w_v matter. Every head should read all d_model features.",
         {"early_split": True}),
    Slip("split-scrambles", "Splitting mixes tokens: a view straight to (B, h, T, d_k) re-reads the numbers instead "
         "of moving them.",
         {"cut": "scrambled"}),
    Slip("split-and-merge-scramble", "Splitting and merging both mix tokens: the numbers are only re-read in another "
         "shape, never moved, so that a head holds pieces of several tokens.",
         {"cut": "scrambled", "join": "scrambled"}),
    Slip("merge-scrambles", "Merging mixes tokens: (B, h, T, d_k) is reshaped without bringing the heads next to the "
         "features first.",
         {"join": "scrambled"}),
    Slip("merge-interleaves", "Merging interleaves the heads' features: the first d_k should be head 0.",
         {"join": "interleaved"}),
    Slip("merge-last-two-exchanged", "Before merging, tokens and features change places instead of heads and tokens.",
         {"join": "last two exchanged"}),
    Slip("strided-heads", "Head i gets every h-th feature instead of a run of d_k neighbours.", {"cut": "strided"}),
    Slip("strided-heads-merged-back", "Head i gets every h-th feature instead of a run of d_k neighbours (and "
         "merging undoes it).",
         {"cut": "strided", "join": "interleaved"}),
    Slip("attention-over-heads", "Attention runs over the heads of one token, not over the tokens: heads and tokens "
         "were never exchanged.",
         {"cut": "over heads", "join": "over heads"}),
    Slip("heads-from-batch", "The heads are cut out of the batch axis: sequences are mixed.", {"cut": "batch"}),
    Slip("heads-averaged", "The heads are averaged (and repeated to the full width); put them side by side.",
         {"join": "mean, repeated"}),
    Slip("heads-not-side-by-side", "What reaches w_o is only d_k features wide: the heads are averaged, summed or put "
         "one after the other. They belong side by side, along the features.", {"join": "mean"}),
    Slip("attention-over-batch", "Batch and tokens are exchanged: attention runs over the sequences of the batch.",
         {"before": "turned", "answer": "turned"}),
    Slip("first-head-repeated", "Only the first head is used (or all heads work on the same features).",
         {"join": "first, repeated"}),
    Slip("heads-merged-reversed", "The heads are merged in reversed order: the last one first.",
         {"join": "reversed"}),
)

ATTENTION = (
    Slip("scale-d_model", f"The scores are divided by √d_model. {_SCALE}", {"scale": "√d_model"}),
    Slip("scale-d_model-unrooted", f"The scores are divided by d_model. {_SCALE}", {"scale": "d_model"}),
    Slip("scale-missing", f"The scores are not divided by anything. {_SCALE}", {"scale": "none"}),
    Slip("scale-d_k", f"The scores are divided by d_k itself (or by √d_k twice). {_SCALE}", {"scale": "d_k"}),
    Slip("scale-times-sqrt", f"The scores are multiplied by √d_k. {_SCALE}", {"scale": "times √d_k"}),
    Slip("scale-n_heads", f"The scores are divided by the root of the number of heads. {_SCALE}", {"scale": "√h"}),
    Slip("scale-length", f"The scores are divided by the root of the number of tokens. {_SCALE}", {"scale": "√S"}),
    Slip("scale-fixed", f"The scores are divided by 8, whatever d_k is. {_SCALE}", {"scale": "8"}),
    Slip("scale-d_k-squared", f"The scores are divided by d_k squared. {_SCALE}", {"scale": "d_k²"}),
    Slip("scale-fourth-root", f"The scores are divided by the fourth root of d_k. {_SCALE}", {"scale": "d_k^¼"}),
    Slip("scale-after-softmax", "The division by √d_k comes after the softmax (or on the output) instead of before "
         "it.",
         {"scaled_where": "weights"}),
    Slip("softmax-over-queries", "The softmax runs over the queries; for each query, the weights over the keys "
         "should sum to 1.",
         {"softmax": "queries"}),
    Slip("softmax-over-heads", "The softmax runs over the heads (axis 1): they compete with each other. Each head "
         "has a softmax of its own, over the keys.", {"softmax": "axis 1"}),
    Slip("softmax-over-batch", "The softmax runs over axis 0, the batch.", {"softmax": "axis 0"}),
    Slip("softmax-everything", "The softmax runs over queries and keys together; each query has one of its own, over "
         "the keys.",
         {"softmax": "everything"}),
    Slip("softmax-missing", "There is no softmax: the scores themselves are used as weights.", {"softmax": "none"}),
    Slip("softmax-sigmoid", "A sigmoid is used where a softmax belongs.", {"softmax": "sigmoid"}),
    Slip("softmax-log", "It is log_softmax: logarithms are used as weights.", {"softmax": "log"}),
    Slip("softmax-twice", "The softmax is applied twice.", {"softmax": "twice"}),
    Slip("softmax-exp-only", "The exponentials of the scores are not divided by their sum.", {"softmax": "exp only"}),
    Slip("softmax-no-keepdim", "The sum over the keys loses its axis (no keepdim), so that the division runs along "
         "the wrong one.",
         {"softmax": "no keepdim"}),
    Slip("softmax-argmax", "All the weight goes to the best key.", {"softmax": "one-hot"}),
    Slip("softmax-negative", "The sign of the scores is turned.", {"softmax": "negative"}),
    Slip("softmax-relu", "A ReLU is used where a softmax belongs.", {"softmax": "relu"}),
    Slip("softmax-sum-only", "Scores are divided by their sum without an exponential.", {"softmax": "sum only"}),
    Slip("softmax-overflows", "Right for small scores, but exp of a large score overflows, and ∞ / ∞ is NaN. The "
         "softmax does not change when a number is subtracted from a whole row of scores.", {"softmax": "naive"}),
    Slip("weights-transposed", "The weights are transposed before they meet the values.",
         {"values": "transposed weights"}),
    Slip("plain-mean-of-values", "Every query gets the plain mean of the values: the weights are not used.",
         {"values": "mean of v"}),
    Slip("always-causal", "Every query looks only back, even when no mask is given: a causal mask is built in.",
         {"causal": "look back"}),
    Slip("always-anticausal", "Every query looks only forward, even when no mask is given.",
         {"causal": "look forward"}),
)

MASKS = (
    Slip("mask-ignored", "The mask has no effect on the result.", {"mask_how": "ignored"}),
    Slip("mask-inverted", "The mask is used the wrong way round: here True means *may attend*, and yours hides "
         "exactly those.",
         {"mask_how": "inverted"}),
    Slip("mask-after-softmax", "The mask comes after the softmax: the rest of the row no longer sums to 1.",
         {"mask_how": "after"}),
    Slip("mask-after-softmax-inverted", "The mask comes after the softmax, and the wrong way round.",
         {"mask_how": "after, inverted"}),
    Slip("blocked-score-zero", "Hidden keys get a score of about 0, and exp(0) = 1: they still receive weight. "
         "(Multiplying by the mask gives 0; and 1e-9 is not −1e9.)", {"mask_how": "to 0"}),
    Slip("blocked-score-zero-inverted", "Scores where the mask is True are set to 0: the wrong way round, and 0 "
         "hides nothing.",
         {"mask_how": "inverted to 0"}),
    Slip("blocked-score-minus-one", "Hidden keys get the score −1, which is not small enough to hide them.",
         {"mask_how": "to -1"}),
    Slip("blocked-score-too-small", "Hidden keys get the score −10, which is not small enough for large scores.",
         {"mask_how": "to -10"}),
    Slip("blocked-score-plus-infinity", "Hidden keys get +∞ instead of −∞ (or NaN: 0 · ∞ is no number).",
         {"mask_how": "to +inf"}),
    Slip("blocked-score-plus-large", "Hidden keys get a huge positive score: the sign is wrong.",
         {"mask_how": "to +1e9"}),
    Slip("mask-added-as-number", "The mask is added to the scores as 0 and 1: nothing is hidden.",
         {"mask_how": "plus 1 where allowed"}),
    Slip("mask-added-as-number-inverted", "The inverted mask is added as 0 and 1: hidden keys get one point *more*.",
         {"mask_how": "plus 1 where blocked"}),
    Slip("mask-multiplies-by-large", "Hidden scores are *multiplied* by a huge negative number: negative scores "
         "become hugely positive.",
         {"mask_how": "times -1e9"}),
    Slip("mask-transposed", "The mask is transposed: its rows are the queries and its columns the keys.",
         {"mask_how": "transposed"}),
    Slip("mask-first-row", "Only the first row of the mask is used, for all queries.",
         {"mask_how": "first row only"}),
    Slip("mask-of-first-head", "The mask of head 0 is used for all heads.", {"head_mask": "first of the head axis"}),
)

ANSWERS = (
    Slip("returns-a-pair",
         "The result is right, but weights are returned beside it; return the result alone.", {"answer": "pair"}),
    Slip("returns-weights",
         "The attention weights are returned; return the result, (B, T, d_model).", {"answer": "weights"}),
    Slip("first-sequence-only", "Only the first sequence of the batch is returned.", {"answer": "first sequence"}),
    Slip("batch-and-tokens-exchanged", "Batch and tokens are exchanged in what is returned.", {"answer": "turned"}),
    Slip("averaged-over-tokens", "The result is averaged over the tokens; every token keeps its own.",
         {"answer": "mean over tokens"}),
)
