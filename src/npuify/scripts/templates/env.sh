#!/usr/bin/env bash
# The environment of programs on NPUs. To be read into a shell: source env.sh [FOLDER OF ASCEND'S PACKAGES]
# Made for @@{made_for} by npuify. A variable that the shell has already stays as it is.

# shellcheck disable=SC1090,SC1091 # set_env.sh is the installation's own

npuify_source() { # the vendor's scripts use variables that may be unset, and commands that may fail
    local options=$- script=$1
    set +eu
    set --
    source "$script"
    case $options in *u*) set -u ;; esac
    case $options in *e*) set -e ;; esac
}

npuify_cann() { # prints CANN's set_env.sh, the first that there is
    local root place recorded=""
    if [[ -f /etc/Ascend/ascend_cann_install.info ]]; then
        recorded=$(sed -n 's/^Install_Path=//p' /etc/Ascend/ascend_cann_install.info | head -n 1)
    fi
    for root in "$1" "${ASCEND_INSTALL_PATH:-}" "$recorded" /usr/local/Ascend "${HOME:-/root}/Ascend"; do
        [[ -n $root ]] || continue
        for place in "" @@{places}; do
            if [[ -f $root$place/set_env.sh ]]; then
                echo "$root$place/set_env.sh"
                return 0
            fi
        done
    done
    return 1
}

if [[ -n ${ASCEND_HOME_PATH:-} && -d ${ASCEND_HOME_PATH:-} ]]; then
    : # CANN is loaded, by the shell's own start files or the container's image
elif npuify_script=$(npuify_cann "${1:-}"); then
    npuify_source "$npuify_script"
else
    echo "env.sh: no CANN found below /usr/local/Ascend, ${HOME:-/root}/Ascend, or what /etc/Ascend names;" \
        "name the folder: source env.sh FOLDER" >&2
    # shellcheck disable=SC2317 # reached where this file is run, not read
    return 2 2>/dev/null || exit 2
fi

# Libraries of the driver, where set_env.sh has not added them.
for npuify_folder in /usr/local/Ascend/driver/lib64/driver /usr/local/Ascend/driver/lib64/common /usr/local/Ascend/driver/lib64; do
    case ":${LD_LIBRARY_PATH:-}:" in
        *":$npuify_folder:"*) ;;
        *) if [[ -d $npuify_folder ]]; then export LD_LIBRARY_PATH="$npuify_folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; fi ;;
    esac
done

# The acceleration library (nnal), where it is installed; only some packages need it.
for npuify_folder in "${npuify_script:+${npuify_script%/*/set_env.sh}}" /usr/local/Ascend "${HOME:-/root}/Ascend"; do
    if [[ -z ${ATB_HOME_PATH:-} && -n $npuify_folder && -f $npuify_folder/nnal/atb/set_env.sh ]]; then
        npuify_source "$npuify_folder/nnal/atb/set_env.sh"
    fi
done
unset -f npuify_source npuify_cann
unset npuify_script npuify_folder

@@{variables}
