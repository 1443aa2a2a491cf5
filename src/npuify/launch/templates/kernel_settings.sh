#!/usr/bin/env bash
# Sets what HCCL needs of the kernel, now and at each boot. Run it as root on every machine, and in containers that have
# their own network. Larger values and other reserved ports stay as they are. Written by npuify.
set -euo pipefail

file=${SYSCTL_FILE:-/etc/sysctl.d/90-hccl.conf}

put() { # NAME VALUE
    sysctl -w "$1=$2"
    if [[ -d ${file%/*} ]]; then
        { grep -v "^$1 *=" "$file" 2>/dev/null || true; } >"$file.new"
        echo "$1 = $2" >>"$file.new"
        mv "$file.new" "$file"
    fi
}

at_least() { # NAME VALUE
    local now
    now=$(sysctl -n "$1")
    put "$1" "$((now > $2 ? now : $2))"
}

add_ports() { # NAME RANGE
    local now
    now=$(sysctl -n "$1")
    case ",$now," in
        *",$2,"*) put "$1" "$now" ;;
        *) put "$1" "${now:+$now,}$2" ;;
    esac
}

@@{settings}
