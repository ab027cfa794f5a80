"""The engines that decoders are measured on, beside ours."""

from driver import PRECISIONS as FLOATS_AND_BYTES
from peers import OPENVINO
from peers.names import CTRANSLATE2
from peers.peer import Peer

PRECISIONS = (*FLOATS_AND_BYTES, "int4")

PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            name=CTRANSLATE2,
            engine="generation.engines.ctranslate2_generator",
            precisions=("float32", "int8"),
            any_threads=True,
        ),
        Peer(
            name="openvino",
            engine="generation.engines.openvino_pipeline",
            precisions=PRECISIONS,
            packages=OPENVINO,
            converter="generation.conversions.openvino_model",
        ),
        Peer(
            name="ort-genai",
            engine="generation.engines.onnxruntime_generator",
            # Of 16 bits it has none on a CPU.
            precisions=("float32", "int8", "int4"),
            packages=("onnxruntime-genai", "torch", "transformers", "onnx", "onnx-ir"),
            converter="generation.conversions.onnxruntime_genai_model",
            without=("GPT2LMHeadModel",),
        ),
        Peer(
            name="llama.cpp",
            engine="generation.engines.llama_cpp_decoder",
            precisions=PRECISIONS,
            # Compiled when it is installed.
            packages=("llama-cpp-python", "gguf", "safetensors"),
            converter="generation.conversions.llama_cpp_model",
            # What it reads together: of prompts of 512 tokens its ids are not transformers' in
            # float32, which are ours.
            is_exact=False,
        ),
    )
}
