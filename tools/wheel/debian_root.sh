#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Unpacks packages of another architecture, with all that they depend on, in a folder; nothing is configured, and root is
# not needed. They come from where this machine gets its packages; FOLDER/packages lists their versions.
# Usage: debian_root.sh ARCHITECTURE FOLDER PACKAGE...
set -eu
architecture=$1
root=$2
shift 2
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/apt/parts"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$list" ] || grep -v '^Architectures:' "$list" >"$root/apt/parts/${list##*/}" || true
done
: >"$root/apt/status"
cat >"$root/apt/apt.conf" <<END
Dir::State "$root/apt";
Dir::State::status "$root/apt/status";
Dir::Cache "$root/apt";
Dir::Etc::sourcelist "-";
Dir::Etc::sourceparts "$root/apt/parts";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::Retries "3";
END
export APT_CONFIG="$root/apt/apt.conf"
# Not every entry has this architecture.
apt-get update -qq -o APT::Update::Error-Mode=any ||
    echo "debian_root: there are package lists that could not be downloaded; versions can be older than usual" >&2
apt-get install -y -qq --no-install-recommends --download-only "$@"
for package in "$root"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
    dpkg-deb -W "$package" >>"$root/packages"
done
rm -rf "$root/apt" "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale"
