#!/usr/bin/env bash
# Trains `tiny` on Multi30k English-German from the command line alone, exports it and scores it on
# val and test_2016_flickr: sacreBLEU and chrF, and BLEU over lowercased Moses tokens, with
# the beam search of Wu et al. 2021: 5 hypotheses, log-probabilities divided by lengths.
# Usage: benchmarks/multi30k.sh DATA_DIRECTORY OUTPUT_DIRECTORY [SEED [TRAINING_OPTION...]]
# The data directory holds {train,val,test_2016_flickr}.{en,de}.gz. A killed run goes on when called again.
set -euo pipefail
data=$1 output=$2 seed=${3:-0}
shift $(($# < 3 ? $# : 3))

time keras-transformer train --data files \
    --train-source "$data/train.en.gz" --train-target "$data/train.de.gz" \
    --valid-source "$data/val.en.gz" --valid-target "$data/val.de.gz" \
    --preset tiny --vocab-size 10000 --seed "$seed" --output "$output/run" --resume "$@"
keras-transformer export "$output/run" --format onnx --output "$output/onnx" --overwrite
for part in val test_2016_flickr; do
    for search in "--beam-size 1" "--beam-size 5 --length-penalty 1 --length-penalty-type exponent"; do
        echo "$part, $search"
        translations=$output/$part.de
        # Unquoted: several options.
        keras-transformer evaluate "$output/onnx" $search --output "$translations" \
            --source "$data/$part.en.gz" --reference "$data/$part.de.gz"
        python "$(dirname "$0")/moses_bleu.py" "$translations" "$data/$part.de.gz" --language de
    done
done
