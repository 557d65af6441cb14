#!/bin/sh
# source_rules.sh TREE: which way includes point, what core may not know, functions that are banned, sizes.
set -eu
cd "$1"
faults=0
fault() { echo "$1"; faults=1; }
none() { # none WHAT: prints standard input as a fault if there is any
    found=$(cat)
    [ -z "$found" ] || fault "$1:
$found"
}

# Plugins see sdk/include; core sees sdk/include and its own; the host sees the public headers; nothing sees the host.
sdk=$(cd sdk/include && find tenon -name '*.h')
for file in $(find plugins -name '*.[ch]'); do
    grep -ho '^#include "[^"]*"' "$file" | cut -d'"' -f2 | while read -r name; do
        case $name in
        tenon/*) echo "$sdk" | grep -qx "$name" || echo "$file includes $name, which is not in the SDK" ;;
        *) [ -e "$(dirname "$file")/$name" ] || [ -n "$(find plugins -path "*/common/$name" -o -path "$(dirname "$(dirname "$file")")/*/$name" | head -1)" ] ||
            case $name in *_table.h | *_tables.h) ;; *) echo "$file includes $name, which is not its own" ;; esac ;;
        esac
    done
done | none "includes of plugins"
for file in $(find core host -name '*.[ch]'); do
    own=$(echo "$file" | cut -d/ -f1)
    grep -ho '^#include "[^"]*"' "$file" | cut -d'"' -f2 | while read -r name; do
        [ -e "sdk/include/$name" ] || [ -e "core/include/$name" ] || [ -e "$own/$name" ] || [ -e "$(dirname "$file")/$name" ] ||
            echo "$file includes $name"
    done
done | none "includes of core and host"

# Names of models, formats and tokenizers have no place in core, host and backends.
claimed=$(sed -n 's/^architecture = //p' plugins/arch/*/*.ini | paste -sd'|')
grep -rnwiE "$claimed|qwen[0-9]*|gemma[0-9]*|gptoss|mixtral|deepseek[0-9]*|mamba|q[0-9]_[0-9k]|iq[0-9]_[a-z]+|smollm" \
    core host plugins/backend --include='*.[ch]' | grep -vE 'llama(-bench|\.cpp)|^[^:]*:[0-9]+: *(\*|/\*).*"[^"]*"|:[0-9]+:[^"]*/\*[^"]*"[^"]*"' | none "names that belong to plugins"

# Functions that no file may call.
grep -rnE '(^|[^_[:alnum:]])(sprintf|vsprintf|strcpy|strcat|atoi|atol|atof|strtok|alloca|gets)[[:space:]]*\(' \
    core host plugins sdk --include='*.[ch]' | none "banned functions"
grep -rnE '(^|[^[:alnum:]])(TODO|FIXME|XXX)([^[:alnum:]]|$)' core host plugins sdk tests --include='*.[ch]' | none "unfinished work"

# Plugins print nothing, end nothing, make no threads.
grep -rnE '(^|[^_[:alnum:]])(printf|puts|putchar|exit|abort|pthread_create|fork|getenv)[[:space:]]*\(' plugins --include='*.[ch]' |
    grep -v '^plugins/[a-z]*/common/[a-z_]*gen[a-z_]*\.c' | none "calls that plugins may not make"

find core host plugins sdk tests bench -name '*.[ch]' | xargs wc -l | awk '$2 != "total" && $1 > 800 {print $2 ": " $1 " lines"}' | none "files over 800 lines"
find core host plugins sdk -name '*.[ch]' | sed 's|.*/||' | sort | uniq -d | none "file names that are not unique"
# What lies at the top is what the README speaks of; nothing else gets in by an accident.
if [ -e .git ]; then
    git ls-files | cut -d/ -f1 | sort -u | grep -vxE '\.ci|\.clang-format|\.editorconfig|\.gitignore|CMakeLists\.txt|CMakePresets\.json|LICENSE|NOTICE|README\.md|bench|check\.sh|core|docs|host|packages\.sh|plugins|sdk|tests|try\.sh' |
        none "files at the top of the tree"
fi
[ $faults = 0 ] && echo "the source keeps its rules"
exit $faults
