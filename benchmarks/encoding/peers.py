"""The engines that encoders are measured on, beside ours."""

from driver import PRECISIONS
from peers import OPENVINO
from peers.peer import Peer

CTRANSLATE2, ONNXRUNTIME = "CTranslate2", "onnxruntime"
# In an environment that is not made here.
PYTORCH = "PyTorch"
# What engines that know BERT alone do not have.
_OTHERS = ("ModernBertModel",)
PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            name=CTRANSLATE2,
            engine="encoding.engines.ctranslate2_encoder",
            precisions=("float32", "int8"),
            without=_OTHERS,
            any_threads=True,
        ),
        Peer(
            name=ONNXRUNTIME,
            engine="encoding.engines.onnxruntime_optimizer",
            precisions=("float32", "int8"),
            without=_OTHERS,
            any_threads=True,
        ),
        Peer(
            name="openvino",
            engine="encoding.engines.openvino_encoder",
            precisions=PRECISIONS,
            packages=OPENVINO,
            converter="encoding.conversions.openvino_model",
        ),
        Peer(
            name="sentence-transformers",
            engine="encoding.engines.sentence_transformer",
            precisions=("float32", "bfloat16"),
            packages=("sentence-transformers",),
        ),
    )
}
