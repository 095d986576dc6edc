#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Gets source packages of the Debian (or Ubuntu) that this machine runs: only versions that sources.txt lists, the first
# of them that can be downloaded.
#   tools/wheel/sources.sh FOLDER LIBRARY...  makes FOLDER/LIBRARY with the folder `tree` and the files `version` and `dsc`,
#                                             which contains the hash. Does nothing if they are there. FOLDER/distribution
#                                             says what this machine runs
#   tools/wheel/sources.sh update             prints sources.txt, with the versions that can be downloaded now added
set -eu
cd "$(dirname "$0")/../.."
list=tools/wheel/sources.txt
updated= # whether the package lists are
apt=$PWD/.cache/wheel/sources/apt

say() { printf 'sources: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

listed() { # listed LIBRARY: its lines without the name, the preferred version first
    awk -v library="$1" '$1 == library && NF == 3 { print $2, $3 }' "$list"
}
available() { # available LIBRARY: the same for the versions of the package lists, the newest first
    apt-cache showsrc --only-source "$1" 2>/dev/null | awk '
        /^[^ ]/ { field = $1 }
        field == "Version:" { version = $2 }
        field == "Checksums-Sha256:" && $3 ~ /\.dsc$/ { print version, $1 }' | sort -rVu
}
versions() { # versions: what listed or available has printed, on one line
    cut -d ' ' -f 1 | paste -s -d ' '
}

# From where this machine gets its packages; with package lists of its own, so that root is not needed.
update_lists() {
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
    for entry in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$entry" ] || sed 's/^deb[[:space:]]/deb-src /; s/^Types:.*/Types: deb-src/' "$entry" \
            >"$apt/parts/${entry##*/}"
    done
    cat >"$apt/apt.conf" <<END
Dir::State "$apt";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$apt";
Dir::Etc::sourcelist "-";
Dir::Etc::sourceparts "$apt/parts";
APT::Sandbox::User "$(id -un)";
Acquire::Retries "3";
END
    export APT_CONFIG="$apt/apt.conf"
    updated=yes
    # Not every entry has sources; what matters is whether those of the libraries are found.
    apt-get update -qq >"$apt/log" 2>&1 || true
}

# The hash of the .dsc file pins the archives, too: it contains their hashes, which dpkg-source checks.
download() { # download LIBRARY VERSION HASH: fails if there is no such version
    rm -rf "${folder:?}/$1"
    mkdir -p "$folder/$1"
    (cd "$folder/$1" && apt-get source -qq --download-only --only-source "$1=$2") >>"$apt/log" 2>&1 || return 1
    found=$(cat "$folder/$1"/*.dsc | sha256sum | cut -d ' ' -f 1)
    [ "$found" = "$3" ] || die "the .dsc file of $1 $2 has the SHA-256 $found, but $list says $3"
    (cd "$folder/$1" && dpkg-source --require-strong-checksums -x ./*.dsc tree) >>"$apt/log" 2>&1 || {
        tail -n 5 "$apt/log" >&2
        die "$1 $2 cannot be unpacked"
    }
}

get() { # get LIBRARY
    listed "$1" >"$apt/listed"
    newest=$(available "$1" | head -n 1)
    [ -z "$newest" ] || grep -qxF "$newest" "$apt/listed" ||
        say "$1: ${newest% *} is not taken, because $list does not list it; \`tools/wheel/sources.sh update\` does"
    while read -r version hash; do
        download "$1" "$version" "$hash" || continue
        printf '%s\n' "$version" >"$folder/$1/version"
        printf '%s\n' "$hash" >"$folder/$1/dsc"
        listed "$1" >"$folder/$1/listed" # last
        return
    done <"$apt/listed"
    tail -n 5 "$apt/log" >&2
    die "$1: no version that $list lists can be downloaded: $(listed "$1" | versions)
The places in /etc/apt have: $(available "$1" | versions)
The wheel is built on Debian 12. \`tools/wheel/sources.sh update\` prints $list with the versions
that can be downloaded here; review what is new, and what it changes, before you keep it."
}

if [ "$*" = update ]; then
    update_lists
    grep '^#' "$list"
    for library in $(awk '!/^#/ && NF { print $1 }' "$list" | uniq); do
        { available "$library" && listed "$library"; } | sort -rVu | sed "s/^/$library /"
    done
    exit
fi

folder=$1
shift
mkdir -p "$folder"
(. /etc/os-release && echo "$ID${VERSION_ID:+-$VERSION_ID}") >"$folder/distribution" # such as debian-12
for library; do
    [ -n "$(listed "$library")" ] || die "$list lists no version of $library"
    [ "$(listed "$library")" = "$(cat "$folder/$library/listed" 2>/dev/null)" ] || {
        [ -n "$updated" ] || update_lists
        get "$library"
    }
    first=$(listed "$library" | sed 's/ .*//; q')
    version=$(cat "$folder/$library/version")
    [ "$version" = "$first" ] || say "$library: $first could not be downloaded; used instead: $version"
done
