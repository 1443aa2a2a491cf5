#!/usr/bin/env bash
# Sets the network addresses of the cards of @@{machine}: @@{title}.
# Run it once on that machine, as root. Correct settings stay as they are; /etc/hccn.conf keeps what is set.
# Written by npuify.
set -euo pipefail

tool=$(command -v hccn_tool || echo /usr/local/Ascend/driver/tools/hccn_tool)
if [[ ! -x $tool ]]; then
    echo "${0##*/}: hccn_tool not found; it comes with the driver" >&2
    exit 2
fi

run() {
    echo "hccn_tool $*"
    "$tool" "$@"
}

set_address() { # CARD ADDRESS NETMASK
    local now
    now=$("$tool" -i "$1" -ip -g 2>/dev/null) || now=""
    if grep -qx "ipaddr:$2" <<<"$now" && grep -qx "netmask:$3" <<<"$now"; then
        echo "card $1 has $2 already"
    else
        run -i "$1" -ip -s address "$2" netmask "$3"
    fi
}

@@{commands}
