"""The graph "chain" of a tagger that finds a text's tags together: the best path, and the
probability of every tag. It consists of standard operators, the same for every target and
precision; `LinearChainCRF` has the equations.
"""

import numpy as np
import onnx
from onnx import numpy_helper, parser

from keras_transformer.layers.heads.linear_chain_crf import LinearChainCRF

# Behind the last words comes a place without one, so that every scan has something to go through:
# onnxruntime 1.31 ends the process otherwise, as it would with texts of one word each.
_NODES = """
chain (float[batch, words, labels] logits, int32[batch] num_words)
    => (int32[batch, words] tags, float[batch, words, labels] probabilities)
{
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    axis_1 = Constant <value_ints = [1]> ()
    axis_2 = Constant <value_ints = [2]> ()
    begin = Constant <value_ints = [0]> ()
    last = Constant <value_ints = [-1]> ()
    end = Constant <value_ints = [9223372036854775807]> ()
    pads = Constant <value_ints = [0, 0, 0, 0, 1, 0]> ()

    padded = Pad (logits, pads)
    width = Shape <start = 1, end = 2> (padded)
    most = Squeeze (width)
    places = Range (zero, most, one)
    counts = Cast <to = 7> (num_words)
    counts_of_each = Unsqueeze (counts, axis_1)
    is_word = Less (places, counts_of_each)
    first_logits = Gather <axis = 1> (padded, zero)
    first = Add (first_logits, starts)
    later = Slice (padded, axis_1, end, axis_1)
    is_later = Slice (is_word, axis_1, end, axis_1)

    last_ahead, later_ahead = Scan <
        num_scan_inputs = 2, scan_input_axes = [1, 1], scan_output_axes = [1],
        body = forward (float[b, k] f_before, float[b, k] f_logits, bool[b] f_is_word)
            => (float[b, k] f_after, float[b, k] f_kept) {
            f_from = Unsqueeze (f_before, axis_2)
            f_paths = Add (f_from, transitions)
            f_sums = ReduceLogSumExp <keepdims = 0> (f_paths, axis_1)
            f_reached = Add (f_sums, f_logits)
            f_mask = Unsqueeze (f_is_word, axis_1)
            f_after = Where (f_mask, f_reached, f_before)
            f_kept = Identity (f_after)
        }> (first, later, is_later)
    shape = Shape (first)
    last_behind = Expand (ends, shape)
    unused, earlier_behind = Scan <
        num_scan_inputs = 2, scan_input_axes = [1, 1], scan_output_axes = [1],
        scan_input_directions = [1, 1], scan_output_directions = [1],
        body = backward (float[b, k] r_after, float[b, k] r_logits, bool[b] r_is_word)
            => (float[b, k] r_before, float[b, k] r_kept) {
            r_reached = Add (r_after, r_logits)
            r_to = Unsqueeze (r_reached, axis_1)
            r_paths = Add (r_to, transitions)
            r_sums = ReduceLogSumExp <keepdims = 0> (r_paths, axis_2)
            r_mask = Unsqueeze (r_is_word, axis_1)
            r_before = Where (r_mask, r_sums, r_after)
            r_kept = Identity (r_before)
        }> (last_behind, later, is_later)
    first_wide = Unsqueeze (first, axis_1)
    ahead = Concat <axis = 1> (first_wide, later_ahead)
    last_wide = Unsqueeze (last_behind, axis_1)
    behind = Concat <axis = 1> (earlier_behind, last_wide)
    whole = Add (last_ahead, ends)
    log_partition = ReduceLogSumExp (whole, axis_1)
    log_partition_wide = Unsqueeze (log_partition, axis_2)
    joined = Add (ahead, behind)
    log_shares = Sub (joined, log_partition_wide)
    shares = Exp (log_shares)
    probabilities = Slice (shares, begin, last, axis_1)

    best, pointers = Scan <
        num_scan_inputs = 2, scan_input_axes = [1, 1], scan_output_axes = [1],
        body = viterbi (float[b, k] v_before, float[b, k] v_logits, bool[b] v_is_word)
            => (float[b, k] v_after, int64[b, k] v_pointers) {
            v_from = Unsqueeze (v_before, axis_2)
            v_paths = Add (v_from, transitions)
            v_best = ReduceMax <keepdims = 0> (v_paths, axis_1)
            v_reached = Add (v_best, v_logits)
            v_mask = Unsqueeze (v_is_word, axis_1)
            v_after = Where (v_mask, v_reached, v_before)
            v_which = ArgMax <axis = 1, keepdims = 0> (v_paths)
            v_pointers = Where (v_mask, v_which, numbers)
        }> (first, later, is_later)
    best_whole = Add (best, ends)
    last_tag = ArgMax <axis = 1> (best_whole)
    unread, earlier_tags = Scan <
        num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        scan_input_directions = [1], scan_output_directions = [1],
        body = back (int64[b, 1] t_after, int64[b, k] t_pointers)
            => (int64[b, 1] t_before, int64[b] t_kept) {
            t_before = GatherElements <axis = 1> (t_pointers, t_after)
            t_kept = Squeeze (t_before, axis_1)
        }> (last_tag, pointers)
    wide_tags = Concat <axis = 1> (earlier_tags, last_tag)
    words_tags = Slice (wide_tags, begin, last, axis_1)
    tags = Cast <to = 6> (words_tags)
}
"""


def chain_graph(chain: LinearChainCRF, opset: int) -> onnx.ModelProto:
    """Returns the graph from the logits of words to tags; see `specs.chain_specs`.

    Args:
        chain: The layer; what it forbids is part of the graph's transitions.
        opset: Version of the standard operators, 18 or newer.
    """
    nodes = _NODES.replace("labels]", f"{chain.num_tags}]")
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{nodes}')
    model.ir_version = onnx.helper.find_min_ir_version_for(model.opset_import, True)
    stored: dict[str, np.ndarray] = {"numbers": np.arange(chain.num_tags, dtype=np.int64)}
    for name, values in chain.scores()._asdict().items():
        stored[name] = np.asarray(values, np.float32)
    model.graph.initializer.extend(numpy_helper.from_array(stored[name], name) for name in stored)
    return model
