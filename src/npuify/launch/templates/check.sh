#!/usr/bin/env bash
# Asks the cards of @@{machine} about their network: @@{title}. Changes nothing.
# Run it on that machine, as root, once the addresses are set on all machines. Exit code: 0 if everything is as planned, else 1.
# Written by npuify.
set -uo pipefail

tool=$(command -v hccn_tool || echo /usr/local/Ascend/driver/tools/hccn_tool)
if [[ ! -x $tool ]]; then
    echo "${0##*/}: hccn_tool not found; it comes with the driver" >&2
    exit 2
fi
failed=0

expect() { # WHAT PATTERN ARGUMENTS…
    local what=$1 pattern=$2 answer
    shift 2
    answer=$("$tool" "$@" 2>&1) || true
    if grep -Eq -- "$pattern" <<<"$answer"; then
        echo "ok    $what"
    else
        echo "FAIL  $what: hccn_tool $* says: $answer"
        failed=$((failed + 1))
    fi
}

show() { # WHAT ARGUMENTS…
    local what=$1
    shift
    echo "see   $what: $("$tool" "$@" 2>&1)"
}

@@{checks}

if ((failed > 0)); then
    echo "$failed checks failed" >&2
    exit 1
fi
