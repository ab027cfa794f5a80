#!/usr/bin/env bash
# Trains a translator with slots on messages of programs, English to German, from the command line
# alone, exports it, and scores it on messages of programs that are in training and of six that are
# not: BLEU and chrF, whether placeholders and tags survive, and whether terms are used.
# Usage: benchmarks/localisation.sh DATA_DIRECTORY OUTPUT_DIRECTORY [SEED [TRAINING_OPTION...]]
# The data directory holds {train,valid,test,test_unseen}.tsv.gz. A killed run goes on when called again.
set -euo pipefail
data=$1 output=$2 seed=${3:-0} here=$(dirname "$0")
shift $(($# < 3 ? $# : 3))

train() {
    keras-transformer train --data tsv --train-tsv "$data/train.tsv.gz" --valid-tsv "$data/valid.tsv.gz" \
        --markup auto --r-drop 0 --batch-tokens 4096 --resume "$@"
}
# Larger and with larger batches than `tiny`, without its R-Drop: this text is seven times Multi30k's.
time train --preset tiny --vocab-size 8000 --model.model_dim 192 --model.feed_forward_dim 768 \
    --model.dropout 0.1 --epochs 10 --seed "$seed" --output "$output/first" "$@"
# Once more from a high rate (Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts").
time train --init "$output/first" --rehearsal 0 --optimizer muon --learning-rate 0.0025 --warmup-steps 500 \
    --cooldown 0.5 --epochs 5 --seed "$((seed + 1))" --output "$output/run" "$@"
keras-transformer export "$output/run" --format onnx --output "$output/onnx" --overwrite
for part in test test_unseen; do
    for beams in 1 4; do
        echo "$part, beam size $beams"
        keras-transformer evaluate "$output/onnx" --beam-size $beams --data tsv \
            --source "$data/$part.tsv.gz" --output "$output/$part.de"
    done
done
python "$here/messages.py" "$output/onnx" "$data/test.tsv.gz" "$data/test_unseen.tsv.gz"
keras-transformer extract-terms --data tsv --train-tsv "$data/train.tsv.gz" > "$output/terms.tsv"
# As lists of terms are rather: of two words and more.
grep -P '^\S+ ' "$output/terms.tsv" > "$output/long_terms.tsv"
for part in test test_unseen; do
    python "$here/terms.py" "$output/onnx" "$output/long_terms.tsv" "$data/$part.tsv.gz" --ways without hard
done
