#!/usr/bin/env bash
# Distills students of several shapes from a finished run on Multi30k English-German, and measures
# teacher and students on test_2016_flickr: BLEU and sentences a second, beside CTranslate2.
# Usage: benchmarks/students.sh DATA_DIRECTORY TEACHER_RUN OUTPUT_DIRECTORY [DISTILL_OPTION...]
# The data directory holds {train,val,test_2016_flickr}.{en,de}.gz. Called again, it goes on.
set -euo pipefail
data=$1 teacher=$2 output=$3
shift 3

declare -A shapes=(
    [6-1]="--model.num-decoder-layers 1"
    [6-2]="--model.num-decoder-layers 2"
    [6-1-ssru]="--model.num-decoder-layers 1 --model.decoder-recurrence ssru"
    [6-2-ssru]="--model.num-decoder-layers 2 --model.decoder-recurrence ssru"
)
runs=("$teacher")
mkdir -p "$output/distillation"
for name in 6-1 6-2 6-1-ssru 6-2-ssru; do
    run=$output/$name
    # What the teacher translates is the same for all: the first student's shards serve the others.
    if [ ! -e "$run" ]; then mkdir -p "$run" && cp -r "$output/distillation" "$run/distillation"; fi
    # Unquoted: several options.
    time keras-transformer distill "$teacher" --data files \
        --train-source "$data/train.en.gz" --train-target "$data/train.de.gz" \
        --valid-source "$data/val.en.gz" --valid-target "$data/val.de.gz" \
        --length-penalty 1 --length-penalty-type exponent --preset student-tiny \
        ${shapes[$name]} --output "$run" "$@"
    rm -rf "$output/distillation" && cp -r "$run/distillation" "$output/distillation"
    runs+=("$run")
done
python "$(dirname "$0")/pareto.py" "${runs[@]}" --teacher "$(basename "$(realpath "$teacher")")" \
    --source "$data/test_2016_flickr.en.gz" --reference "$data/test_2016_flickr.de.gz" \
    --json "$output/pareto.json" --picture "$output/pareto.svg"
