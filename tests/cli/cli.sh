# cli.sh: sourced by the command-line tests. They type what a user types and look at what the user sees.
set -u
tenon=$TENON_TEST_BUILD/bin/tenon
models=$TENON_TEST_DATA/models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
checks=0

fail() {
    faults=$((faults + 1))
    echo "FAIL: $1"
    echo "  command: $command"
    echo "  status: $status"
    echo "  standard output: $(head -c 2000 "$work/out")"
    echo "  standard error: $(head -c 2000 "$work/err")"
}

# expect STATUS COMMAND...: runs it with standard input from $work/in (empty unless a test wrote it).
expect() {
    wanted=$1
    shift
    command=$*
    [ -e "$work/in" ] || : >"$work/in"
    "$@" <"$work/in" >"$work/out" 2>"$work/err"
    status=$?
    rm -f "$work/in"
    checks=$((checks + 1))
    [ "$status" = "$wanted" ] || fail "status $status, expected $wanted"
}
# expect_python ARGUMENTS... <<END: a Python script that must succeed. It may look at what the last command wrote. (As standard
# input of `expect` it would be lost.)
expect_python() {
    cat >"$work/script.py"
    command="a Python script with $*"
    python3 "$work/script.py" "$@" >"$work/script.out" 2>&1
    status=$?
    checks=$((checks + 1))
    [ "$status" = 0 ] || { fail "the script ends with status $status"; cat "$work/script.out"; }
}
says() { # the last command's standard output has this line or text
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/out" || fail "standard output lacks \"$1\""
}
says_not() {
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/out" && fail "standard output has \"$1\""
}
errs() { # its standard error has this text
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/err" || fail "standard error lacks \"$1\""
}
quiet_out() {
    checks=$((checks + 1))
    [ ! -s "$work/out" ] || fail "standard output is not empty"
}
quiet_err() {
    checks=$((checks + 1))
    [ ! -s "$work/err" ] || fail "standard error is not empty"
}
same() { # same WHAT A B
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: \"$2\" and \"$3\" differ"
}
finish() {
    echo "$checks checks, $faults faults"
    [ "$faults" = 0 ]
}
