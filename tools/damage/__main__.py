"""Prints what readers do with damaged files: `python -m tools.damage --count 5000`.

The directories of tests/fixtures are damaged, one file at a time, with `--manifests` those of
artefacts, with `--runs` those of training runs. Each was refused with its name, gave the same model
or another one, or ended in an error that is none of these. Files without a hash may well describe
another model.
"""

import argparse

from tools.damage.fuzzing import fuzz_imports, fuzz_manifests, fuzz_runs


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", action="store_true", help="build the models, which is slow")
    parser.add_argument("--manifests", action="store_true", help="damage artefacts instead")
    parser.add_argument("--runs", action="store_true", help="damage run directories instead")
    given = parser.parse_args()
    if given.runs:
        found = fuzz_runs(given.count, given.seed, load=given.build)
    elif given.manifests:
        found = fuzz_manifests(given.count, given.seed)
    else:
        found = fuzz_imports(given.count, given.seed, build=given.build)
    for (kind, message), done in sorted(found.items(), key=lambda one: -len(one[1])):
        print(f"{len(done):6} {kind} {message[:200]!r} e.g. {done[0]}")


if __name__ == "__main__":
    main()
