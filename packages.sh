# packages.sh: sourced by try.sh and check.sh. Debian packages: install_packages NAME...
build_packages="build-essential cmake ninja-build pkg-config libinih-dev libmbedtls-dev libjansson-dev libutf8proc-dev libedit-dev"
model_packages="python3-venv python3-pip ca-certificates"
test_packages="libcriterion-dev clang clang-format libclang-rt-14-dev ccache valgrind abigail-tools binutils python3 python3-numpy man-db"

# Installs what is missing, as root or through sudo; without either it says what to install, and ends.
install_packages() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ] && return
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "These packages are missing; install them as root:$missing" >&2; exit 1; }
        as_root=sudo
    fi
    echo "Installing:$missing"
    # shellcheck disable=SC2086
    { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        >packages.log 2>&1 || { tail -20 packages.log >&2; exit 1; }
    rm -f packages.log
}
