#!/bin/sh
# Installs a program of Cascada from the files of a release, without root: checks the checksum and, if a public key is known, the signature,
# before anything is installed. make release fills in the version, the address and the key.
#
#   sh install.sh [--from URL|DIRECTORY] [--to DIRECTORY] [--public-key FILE] [cascada|cascada-cli]...
#
# It needs tar, and curl or wget for an address, and openssl for a signature.
set -eu
umask 022

VERSION=''
FROM=''
KEY=''

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch NAME copies a file of the release into the work directory.
fetch() {
    case $from in
    http://* | https://*)
        if has curl; then
            curl -fsSL --retry 3 -o "$work/$1" "$from/$1"
        elif has wget; then
            wget -q -O "$work/$1" "$from/$1"
        else
            fail "curl or wget is needed"
        fi
        ;;
    *) cp "$from/$1" "$work/$1" ;;
    esac || fail "$from/$1 cannot be read"
}

# sum FILE prints its SHA-256.
sum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    elif has openssl; then
        openssl dgst -sha256 -r "$1"
    else
        fail "sha256sum, shasum or openssl is needed"
    fi | cut -d ' ' -f 1
}

# system prints the operating system and the architecture as archives are named.
system() {
    case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) fail "on Windows unpack the zip yourself" ;;
    *) fail "there is no program for $(uname -s)" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no program for $(uname -m)" ;;
    esac
    # Rosetta presents an Apple processor as Intel's.
    if [ "$os $arch" = "darwin amd64" ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then arch=arm64; fi
    echo "${os}_$arch"
}

# verify checks the signature of the list of checksums.
verify() {
    if [ -z "$KEY" ]; then
        echo "install.sh: no public key was given, so only checksums are checked" >&2
        return
    fi
    has openssl || fail "openssl is needed to check the signature"
    printf '%s\n' "$KEY" >"$work/key.pem"
    fetch SHA256SUMS.sig
    openssl base64 -d -A -in "$work/SHA256SUMS.sig" -out "$work/signature" 2>/dev/null || fail "SHA256SUMS.sig is not a signature"
    openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature" "$work/SHA256SUMS" >/dev/null 2>&1 ||
        fail "the signature of SHA256SUMS is wrong: nothing was installed"
}

# unpack PROGRAM downloads its archive, checks it and takes the program out of it.
unpack() {
    name=$1_${VERSION}_$target
    wanted=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")
    [ -n "$wanted" ] || fail "the release has no $name.tar.gz"
    fetch "$name.tar.gz"
    [ "$(sum "$work/$name.tar.gz")" = "$wanted" ] || fail "the checksum of $name.tar.gz is wrong: nothing was installed"
    tar -xzf "$work/$name.tar.gz" -C "$work" "$name/$1"
    "$work/$name/$1" --version >/dev/null || fail "$1 does not run on this machine: nothing was installed"
}

main() {
    from=$FROM to=${HOME:-}/.local/bin names=
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --to | --public-key) [ $# -gt 1 ] || fail "$1 needs a value" ;;
        esac
        case $1 in
        --from) from=$2 && shift ;;
        --to) to=$2 && shift ;;
        --public-key)
            KEY=$(cat "$2") || fail "$2 cannot be read"
            [ -n "$KEY" ] || fail "$2 has no key" # without one, nothing is verified
            shift
            ;;
        cascada | cascada-cli) names="$names $1" ;;
        *) fail "$1 is not known: [--from URL|DIRECTORY] [--to DIRECTORY] [--public-key FILE] [cascada|cascada-cli]..." ;;
        esac
        shift
    done
    [ -n "$VERSION" ] || fail "this is the template: use the install.sh of a release"
    [ -n "$from" ] || fail "say where the files of the release are: --from URL or --from DIRECTORY"
    from=${from%/}
    : "${names:= cascada}"
    target=$(system)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch SHA256SUMS
    verify
    for program in $names; do unpack "$program"; done # all are checked before the first is installed
    mkdir -p "$to"
    for program in $names; do
        cp "$work/${program}_${VERSION}_$target/$program" "$to/.$program.new"
        chmod 755 "$to/.$program.new"
        mv "$to/.$program.new" "$to/$program"
        echo "$("$to/$program" --version) is in $to/$program"
    done
    case :${PATH:-}: in
    *:"$to":*) ;;
    *) echo "install.sh: $to is not in PATH" >&2 ;;
    esac
}

main "$@" # at the end, so that a part of this script does nothing
