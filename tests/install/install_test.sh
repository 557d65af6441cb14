#!/bin/sh
# install_test.sh BUILD SOURCE CMAKE COMPILER LIBDIR: installs with --strip, once to a prefix and once through DESTDIR; runs
# from there; builds the example plugin and a program against it. LIBDIR is the build's, e.g. "lib".
set -eu
build=$1 source=$2 cmake=$3 compiler=$4 libdir=$5
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" XDG_CONFIG_HOME="$work/config"
unset TENON_PLUGIN_PATH
fail() { echo "FAILED: $*"; exit 1; }

"$cmake" --install "$build" --prefix "$work/prefix" --strip >"$work/log" || { cat "$work/log"; fail "cmake --install"; }
prefix=$work/prefix
plugins=$prefix/$libdir/tenon/plugins
tenon=$prefix/bin/tenon

# What is installed is listed, for whoever wants to remove it.
(cd "$prefix" && find . -type f -o -type l) | sed "s|^\.|$prefix|" | LC_ALL=C sort >"$work/there"
LC_ALL=C sort "$build/install_manifest.txt" >"$work/listed"
diff "$work/there" "$work/listed" || fail "install_manifest.txt does not list what is installed (<: only there, >: only listed)"

# Stripped: other bytes than in the build folder, and manifest and list tell the hashes of these.
for library in "$plugins"/*.so; do
    name=$(basename "$library" .so)
    hash=$(sha256sum "$library" | cut -d' ' -f1)
    grep -qx "sha256 = $hash" "$plugins/$name.ini" || fail "$name.ini has not the hash of the installed file"
    grep -qx "$hash  $name.so" "$plugins/known.sha256" || fail "known.sha256 has not the installed $name.so"
    ! readelf -S "$library" | grep -q '\.symtab' || fail "$name.so is not stripped"
done
[ "$(wc -l <"$plugins/known.sha256")" = "$(ls "$plugins"/*.so | wc -l)" ] || fail "known.sha256 has other lines"

"$tenon" plugins list >"$work/list" || fail "plugins list"
! grep "NOT USABLE" "$work/list" || fail "plugins that are not usable"
[ "$(grep -c " install " "$work/list")" = "$(ls "$plugins"/*.ini | wc -l)" ] || fail "not all plugins are listed"
for library in "$plugins"/*.so; do
    "$tenon" plugins check "$library" >"$work/check" 2>&1 || { cat "$work/check"; fail "plugins check $library"; }
done
"$tenon" run -m "$source/tests/data/models/llama.gguf" -p hello -n 4 --temp 0 -q >"$work/out" || fail "run"
[ ! -e "$work/cache/tenon/probed" ] || fail "an installed plugin was tried in a child process"

# Moved as a whole, it works as well.
mv "$prefix" "$work/moved"
"$work/moved/bin/tenon" plugins check "$work/moved/$libdir/tenon/plugins/format.f32.so" >/dev/null || fail "moved"
[ "$("$work/moved/bin/tenon" plugins list | wc -l)" = "$(wc -l <"$work/list")" ] || fail "moved: other plugins"
mv "$work/moved" "$prefix"

# A plugin outside of the tree.
"$cmake" -S "$source/sdk/examples/format_i8" -B "$work/i8" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_INSTALL_LIBDIR="$libdir" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/i8" >>"$work/log" 2>&1 || { cat "$work/log"; fail "building the example"; }
"$tenon" plugins check "$work/i8/format.i8.so" >"$work/check" || { cat "$work/check"; fail "checking the example"; }
grep -q "^ok   open" "$work/check" || fail "the example was not opened"
"$tenon" plugins list --plugin-dir "$work/i8" | grep -q "^format.i8 .*--plugin-dir.* I8" || fail "the example is not listed"
"$cmake" --install "$work/i8" --prefix "$prefix" --strip >/dev/null
"$tenon" plugins explain format.i8 | grep -q "$plugins/format.i8.so" || fail "the example is not installed"
"$tenon" plugins check "$plugins/format.i8.so" >/dev/null || fail "checking the installed example"
! grep -q i8 "$plugins/known.sha256" || fail "a foreign plugin is listed as our own"

# A program with libtenon, by pkg-config.
cat >"$work/program.c" <<'END'
#include <tenon/engine.h>
int main(void) {
    tn_engine *engine;
    tn_error err = TN_ERROR_INIT;
    if (tn_engine_create(0, &engine, &err) != TN_OK) { return puts(err.text), 1; }
    printf("%s %u\n", tn_version(), tn_engine_plugin_count(engine));
    tn_engine_destroy(engine);
    return 0;
}
END
flags=$(PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" pkg-config --cflags --libs tenon)
# shellcheck disable=SC2086
"$compiler" -Wall -Werror "$work/program.c" -o "$work/program" $flags || fail "compiling a program"
LD_LIBRARY_PATH="$prefix/$libdir" "$work/program" >"$work/out" || { cat "$work/out"; fail "running a program"; }
[ "$(cat "$work/out")" = "$(echo "$("$tenon" --version | awk '{print $NF; exit}')" "$(($(wc -l <"$work/list")))")" ] ||
    fail "the program sees: $(cat "$work/out")"

# Through DESTDIR, as packages are made.
DESTDIR=$work/dest "$cmake" --install "$build" --prefix /usr --strip >/dev/null
[ -f "$work/dest/usr/include/tenon/plugin.h" ] && [ -f "$work/dest/usr/include/tenon/engine.h" ] || fail "headers"
hash=$(sha256sum "$work/dest/usr/$libdir/tenon/plugins/format.f32.so" | cut -d' ' -f1)
grep -qx "sha256 = $hash" "$work/dest/usr/$libdir/tenon/plugins/format.f32.ini" || fail "DESTDIR: hash"
"$work/dest/usr/bin/tenon" plugins check "$work/dest/usr/$libdir/tenon/plugins/format.f32.so" >/dev/null || fail "DESTDIR: check"
echo "installed, moved, extended"
