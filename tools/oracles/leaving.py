"""Runs models that were imported and exported again in the toolkits that made them, beside the
originals: ids of texts, and what greedy search and four beams write, must be equal. Both search as
the export's own files say, which name the language to write and what is never written.

    python -m tools.oracles.leaving tests/fixtures FOLDER

Takes what `exports.py` wrote. Needs PyTorch, transformers and pymarian, which `make oracles`
installs apart.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

LLAMAS = ("llama3", "qwen2", "phi3", "smollm3", "stablelm", "olmo2")
# The models of each format.
NAMES: dict[Literal["huggingface", "marian"], tuple[str, ...]] = {
    "huggingface": (
        *(f"translators/{name}" for name in ("marian_huggingface", "bart", "mbart", "mbart50")),
        *(f"translators/{name}" for name in ("m2m100", "nllb", "t5", "umt5", "longt5", "t5gemma")),
        *(f"stacks/{name}" for name in ("bert", "roberta", "xlm_roberta", "distilbert", "mpnet")),
        *(f"stacks/{name}" for name in ("albert", "electra", "modernbert", "nomic_bert")),
        *(f"stacks/{name}" for name in ("deberta", "deberta_classes")),
        "xlnets/xlnet_classes",
        *(f"stacks/{name}" for name in ("gpt2", "llama", "llama_sentencepiece")),
        *(f"stacks/{name}" for name in (*LLAMAS, "granite")),
    ),
    "marian": ("translators/marian", "translators/marian_ssru"),
}
# Of these `AutoTokenizer` reads no SentencePiece model, or without what sources begin with: texts
# have the ids of the tokenizer that was written.
_WITH_OUR_IDS = ("umt5", "longt5", "t5gemma")
_BEAMS = (1, 4)
_NEW_TOKENS = 20


def main() -> None:
    """Prints a line for each model and ends with status 1 if one differs."""
    models, written = map(Path, sys.argv[1:])
    differing = []
    for form, names in NAMES.items():
        answers = {"huggingface": of_transformers, "marian": of_marian}[form]
        for name in names:
            reference = json.loads((models / name / "reference.json").read_text(encoding="utf-8"))
            texts = reference.get("sources") or reference["texts"]
            out = written / name
            same = answers(models / name, texts, out) == answers(out, texts, out)
            print(f"{name}, {form}: {'equal' if same else 'different'} on {len(texts)} texts")
            if not same:
                differing.append(name)
    if differing:
        sys.exit(f"different: {', '.join(differing)}")


def of_transformers(path: Path, texts: list[str], search: Path) -> list[Any]:
    """Returns ids of texts, and what the model writes after them, or finds most probable there."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    config = transformers.AutoConfig.from_pretrained(path)
    ours = json.loads((search / "tokenizer_config.json").read_text(encoding="utf-8"))
    named, files = transformers.AutoTokenizer, path
    if path.name in _WITH_OUR_IDS:
        named, files = getattr(transformers, ours["tokenizer_class"]), search
    tokenizer = named.from_pretrained(files)
    model = getattr(transformers, config.architectures[0]).from_pretrained(path).eval()
    if model.can_generate():
        generation = transformers.GenerationConfig.from_pretrained(search)
        # An end that BART puts into the last place; ours is cut there.
        model.generation_config.forced_eos_token_id = None
    # Files of some decoders do not say whether a text begins with its mark.
    is_decoder = model.can_generate() and not config.is_encoder_decoder
    found: list[Any] = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=not is_decoder)
        row = ids.input_ids
        found.append(row.tolist())
        with torch.no_grad():
            if not model.can_generate():
                found.append(model(row).logits.argmax(-1).tolist())
                continue
            for beams in _BEAMS:
                options = {"num_beams": beams, "do_sample": False, "max_new_tokens": _NEW_TOKENS}
                found.append(model.generate(row, generation_config=generation, **options).tolist())
    return found


def of_marian(path: Path, texts: list[str], search: Path) -> list[str]:
    """Returns the lines that Marian writes."""
    program = str(Path(sys.executable).with_name("pymarian"))
    names = sorted(str(file.resolve()) for file in path.glob("*.spm"))
    files = ["-m", str((path / "model.npz").resolve()), "-v", *(names * 2)[:2]]
    flags = "--quiet --cpu-threads 1 --mini-batch 1 --maxi-batch 1 --normalize 0 --allow-unk"
    return [
        subprocess.run(
            [
                program,
                "decode",
                *files,
                *flags.split(),
                "--max-length-factor",
                "3",
                "-b",
                str(beams),
            ],
            input="\n".join(texts) + "\n",
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for beams in _BEAMS
    ]


if __name__ == "__main__":
    main()
