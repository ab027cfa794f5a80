#!/usr/bin/env bash
# Trains `tiny` on Multi30k English-German from the command line alone, exports it and prints
# sacreBLEU and chrF on test_2016_flickr. Usage: benchmarks/multi30k.sh DATA_DIRECTORY OUTPUT_DIRECTORY
# The data directory holds {train,val,test_2016_flickr}.{en,de}.gz. A killed run goes on when called again.
set -euo pipefail
data=$1 output=$2

time keras-transformer train --data files \
    --train-source "$data/train.en.gz" --train-target "$data/train.de.gz" \
    --valid-source "$data/val.en.gz" --valid-target "$data/val.de.gz" \
    --preset tiny --vocab-size 10000 --model.dropout 0.2 \
    --epochs 24 --average-checkpoints 8 --output "$output/run" --resume
keras-transformer export "$output/run" --format onnx --output "$output/onnx" --overwrite
for beam_size in 1 4; do
    keras-transformer evaluate "$output/onnx" --beam-size "$beam_size" \
        --source "$data/test_2016_flickr.en.gz" --reference "$data/test_2016_flickr.de.gz"
done
