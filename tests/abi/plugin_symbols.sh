#!/bin/sh
# plugin_symbols.sh FOLDER: every plugin exports tenon_plugin alone, and asks for libc's and libm's symbols only.
set -eu
faults=0
plugins=0
for so in "$1"/*.so; do
    plugins=$((plugins + 1))
    exported=$(nm -D --defined-only "$so" | awk '{print $3}' | tr '\n' ' ')
    [ "$exported" = "tenon_plugin " ] || { echo "$so exports: $exported"; faults=1; }
    foreign=$(nm -D --undefined-only "$so" | awk '{print $2}' |
        grep -vE '@GLIBC_|^__gmon_start__$|^_ITM_(de)?registerTMCloneTable$' | tr '\n' ' ' || true)
    [ -z "$foreign" ] || { echo "$so asks for: $foreign"; faults=1; }
done
echo "$plugins plugins looked at"
[ "$plugins" -gt 0 ] && exit $faults
