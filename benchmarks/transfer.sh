#!/usr/bin/env bash
# What a pretrained encoder brings on Multi30k English-German: `bert-tiny` learns from both sides of the training
# pairs, then it is (a) the encoder of a translation and (b) a classifier that tells whether one half of an English
# caption continues the other; each beside the same model from random weights, for as many updates.
# Usage: benchmarks/transfer.sh DATA_DIRECTORY OUTPUT_DIRECTORY
# The data directory holds {train,val,test_2016_flickr}.{en,de}.gz. A killed run goes on when called again.
set -euo pipefail
data=$1 output=$2 here=$(dirname "$0")
train() { keras-transformer train --output "$output/$1" --resume "${@:2}"; }
mkdir -p "$output"

texts=(--train-text "$data"/train.{en,de}.gz --valid-text "$data"/val.{en,de}.gz)
bert=(--task masked-lm --preset bert-tiny --model.num-token-types 0 "${texts[@]}")
train bert "${bert[@]}"
# The same model and vocabulary, with weights that one update of next to nothing leaves random.
random=(--tokenizer "$output/bert/tokenizer.model" --max-steps 1 --learning-rate 1e-30)
train random "${bert[@]}" "${random[@]}"

pairs=(--train-source "$data/train.en.gz" --train-target "$data/train.de.gz"
    --valid-source "$data/val.en.gz" --valid-target "$data/val.de.gz")
for updates in 500 2000; do
    for start in bert random; do
        name=translation_${start}_$updates
        train "$name" --data files "${pairs[@]}" --init "$output/$start" --max-steps "$updates" \
            --optimizer adam --average-checkpoints 10 --bleu-sentences 0
        keras-transformer export "$output/$name" --format onnx --output "$output/onnx/$name" --overwrite
        keras-transformer evaluate "$output/onnx/$name" --source "$data/test_2016_flickr.en.gz" \
            --reference "$data/test_2016_flickr.de.gz" | tee "$output/$name.txt"
    done
done

for part in train val test_2016_flickr; do
    python "$here/continuations.py" "$data/$part.en.gz" "$output/$part.tsv"
done
for rows in 1000 5000 29000; do
    head -n "$rows" "$output/train.tsv" > "$output/train_$rows.tsv"
    for start in bert random; do
        name=continuation_${start}_$rows
        train "$name" --task classify --init "$output/$start" --model.num-token-types 2 --epochs 12 \
            --train-tsv "$output/train_$rows.tsv" --valid-tsv "$output/val.tsv"
        keras-transformer classify "$output/$name" --test-tsv "$output/test_2016_flickr.tsv" |
            tee "$output/$name.txt"
    done
done
