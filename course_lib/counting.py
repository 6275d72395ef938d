"""How many parameters a Transformer has, on paper."""


def encoder_block_param_count(d_model, n_heads, d_ff, bias=True):
    """Parameters of one encoder block: four projections, two feed-forward matrices, two norms.

    The number of heads does not change the count. bias=False drops the linear biases and the norms' shifts.
    Raises ValueError if n_heads does not divide d_model.
    """
    if d_model % n_heads != 0:
        raise ValueError(f"n_heads must divide d_model; got n_heads = {n_heads}, d_model = {d_model}")
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff
    norms = 2 * d_model
    shifts = 4 * d_model + (d_ff + d_model) + 2 * d_model
    return attention + feed_forward + norms + (shifts if bias else 0)
