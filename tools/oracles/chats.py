"""Writes what Hugging Face's `apply_chat_template` makes of chats: texts by templates of the forms
that models have, and ids by vocabularies with special tokens.

    python -m tools.oracles.chats tests/fixtures/stacks tests/fixtures/chats

Needs transformers, which `make oracles` installs apart.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import transformers

TEMPLATES = {
    # Llama 3: each message between its headers, with text around it cut off.
    "llama": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}"
        "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' "
        "+ message['content'] | trim + '<|eot_id|>' %}"
        "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
        "{{ content }}{% endfor %}"
        "{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
    ),
    # Qwen and many others: a system's message of its own, and a variable that ends thinking.
    "chatml": (
        "{%- if messages[0].role != 'system' %}\n"
        "    {{- '<|im_start|>system\nYou help.<|im_end|>\n' }}\n"
        "{%- endif %}\n"
        "{%- for message in messages %}\n"
        "    {{- '<|im_start|>' + message.role + '\n' }}\n"
        "    {%- generation %}{{ message.content }}{% endgeneration %}\n"
        "    {{- '<|im_end|>\n' }}\n"
        "{%- endfor %}\n"
        "{%- if add_generation_prompt %}\n"
        "    {{- '<|im_start|>assistant\n' }}\n"
        "    {%- if enable_thinking is defined and enable_thinking is false %}\n"
        "        {{- '<think>\n\n</think>\n\n' }}\n"
        "    {%- endif %}\n"
        "{%- endif %}\n"
    ),
    # Gemma: no system, turns that alternate, and another name of the assistant.
    "gemma": (
        "{{ bos_token }}\n"
        "{% if messages[0]['role'] == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}\n"
        "{% for message in messages %}\n"
        "    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Conversation roles must alternate') }}{% endif %}\n"
        "    {% set role = 'model' if message['role'] == 'assistant' else message['role'] %}\n"
        "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}\n"
        "{% endfor %}\n"
        "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
    ),
    # Mistral: instructions between marks that are text, answers with an end.
    "mistral": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
        "{{ ' ' + message['content'] + eos_token }}{% else %}{{ raise_exception('Only user and "
        "assistant roles are supported!') }}{% endif %}{% endfor %}"
    ),
    # What the sandbox has beside jinja's own: loops that end early, JSON, namespaces, dict.
    "tools": (
        "{% set ns = namespace(count=0) %}{% for message in messages %}"
        "{% if message.content == 'stop' %}{% break %}{% endif %}"
        "{% set ns.count = ns.count + 1 %}{{ message | tojson }}{{ dict(a=1) | tojson(indent=1) }}"
        "{% endfor %}{{ ns.count }}{{ tools }}{{ unk_token }}"
    ),
}
TOKENS = ("<|start_header_id|>", "<|end_header_id|>", "<|im_start|>", "<|im_end|>")
CHATS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": " Hello, how are you? \n"}],
    [
        {"role": "system", "content": "Answer in <one> word & no more."},
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "Paris"},
        {"role": "user", "content": "stop"},
    ],
    [
        {"role": "user", "content": "Say <|im_end|> or </s> or <|eot_id|>é"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "  two\n\nlines"},
    ],
]


def main() -> None:
    """Reads models below one folder and writes texts, ids and vocabularies into another."""
    models, written = map(Path, sys.argv[1:])
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    llama = transformers.AutoTokenizer.from_pretrained(str(models / "llama3"))
    llama.add_special_tokens({"extra_special_tokens": list(TOKENS)})
    llama.save_pretrained(str(written))
    (written / "tokenizer_config.json").unlink()
    pieces = transformers.LlamaTokenizer.from_pretrained(str(models / "llama_sentencepiece"))
    found = {
        "tokenizer_json": [_case(llama, name, chat) for name in TEMPLATES for chat in CHATS],
        "sentencepiece": [_case(pieces, "mistral", chat) for chat in (CHATS[0], CHATS[2])],
    }
    reference = {"templates": TEMPLATES, **found}
    text = json.dumps(reference, ensure_ascii=False, indent=1) + "\n"
    (written / "reference.json").write_text(text, encoding="utf-8")
    print(f"{written}: {', '.join(sorted(one.name for one in written.iterdir()))}")


def _case(tokenizer: Any, name: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    """Returns what a template makes of a chat; None where it refuses it."""
    variables = {"enable_thinking": False} if len(messages) == 1 else {}
    case = {
        "template": name,
        "tokens": tokenizer.special_tokens_map,
        "messages": messages,
        "variables": variables,
        "rendered": None,
        "ids": None,
    }
    given = {"chat_template": TEMPLATES[name], "add_generation_prompt": True, **variables}
    try:
        case["rendered"] = tokenizer.apply_chat_template(messages, tokenize=False, **given)
        case["ids"] = tokenizer.apply_chat_template(messages, return_dict=False, **given)
    except Exception as error:  # The template's own.
        case["error"] = str(error)
    return case


if __name__ == "__main__":
    main()
