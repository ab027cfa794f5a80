#!/usr/bin/env bash
# What fine-tuning brings and costs: `tiny` learns Multi30k English-German, then half of another domain, sentences of
# the demo's grammar with their Spanish translations, in several ways; sacreBLEU on both test sets, before and after.
# Usage: benchmarks/adapt.sh DATA_DIRECTORY OUTPUT_DIRECTORY
# The data directory holds {train,val,test_2016_flickr}.{en,de}.gz. A killed run goes on when called again.
set -euo pipefail
data=$1 output=$2
mkdir -p "$output"
train() { keras-transformer train --data files --output "$output/$1" --resume --bleu-sentences 0 "${@:2}"; }
bleu() {
    keras-transformer evaluate "$output/onnx/$1" --source "$2" --reference "$3" --json |
        python -c 'import json, sys; print(json.load(sys.stdin)["bleu"])'
}

python - "$output" <<'PYTHON'
import pathlib
import sys

import keras_transformer as kt

corpus = kt.demo_corpus(size=5000)
half = len(corpus.train) // 2
for name, pairs, part in [
    ("own", corpus.train, slice(half)),
    ("own_test", corpus.train, slice(half, None)),
    ("own_valid", corpus.valid, slice(None)),
]:
    for language, texts in (("en", pairs.source), ("es", pairs.target)):
        lines = "".join(text + "\n" for text in texts[part])
        pathlib.Path(sys.argv[1], f"{name}.{language}").write_text(lines, encoding="utf-8")
PYTHON

general=("$data/train.en.gz" "$data/train.de.gz")
train general --train-source "${general[0]}" --train-target "${general[1]}" --valid-source "$data/val.en.gz" \
    --valid-target "$data/val.de.gz" --preset tiny --model.dropout 0.2 --vocab-size 10000 --optimizer adam --r-drop 0 --epochs 12 \
    --average-checkpoints 10
own=(--init "$output/general" --train-source "$output/own.en" --train-target "$output/own.es"
    --valid-source "$output/own_valid.en" --valid-target "$output/own_valid.es")
mix=(--general-source "${general[0]}" --general-target "${general[1]}")
declare -A ways=(
    [small_rate]="--learning-rate 0.0004 --warmup-steps 50" [scratch_rate]="--learning-rate 0.004 --warmup-steps 500"
    [frozen]="--freeze encoder --learning-rate 0.0004 --warmup-steps 50"
    [lora]="--lora-rank 8 --learning-rate 0.004"
)
for way in "${!ways[@]}"; do
    # Unquoted: several options.
    train "$way" "${own[@]}" ${ways[$way]} --rehearsal 0
    train "${way}_mixed" "${own[@]}" "${mix[@]}" ${ways[$way]}
done
train rehearsed "${own[@]}"

for run in general {small_rate,scratch_rate,frozen,lora}{,_mixed} rehearsed; do
    keras-transformer export "$output/$run" --format onnx --output "$output/onnx/$run" --overwrite > "$output/$run.log"
    general_bleu=$(bleu "$run" "$data/test_2016_flickr.en.gz" "$data/test_2016_flickr.de.gz")
    own_bleu=$(bleu "$run" "$output/own_test.en" "$output/own_test.es")
    echo "$run: general $general_bleu, own $own_bleu BLEU" | tee -a "$output/bleu.txt"
done
