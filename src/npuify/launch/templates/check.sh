#!/usr/bin/env bash
# Asks the cards of @@{machine} about their network: @@{title}. Changes nothing.
# To be run on that machine, as root, when addresses are set on all. Exit code: 0 where all is as planned, 1 where not.
# Written by npuify.
set -uo pipefail

tool=$(command -v hccn_tool || echo /usr/local/Ascend/driver/tools/hccn_tool)
if [[ ! -x $tool ]]; then
    echo "${0##*/}: there is no hccn_tool; it comes with the driver" >&2
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
