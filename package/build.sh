#!/usr/bin/env bash
# Builds the packages into dist/: package/build.sh [amd64] [arm64]. VERSION=1.2.3 names the version;
# without it git does. PROGRAM=FILE packs a program that was built before. With the same versions of Go
# and dpkg the same sources make the same bytes, whoever builds them.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
command -v dpkg-deb >/dev/null || { echo "package: dpkg-deb is missing; it is part of Debian's dpkg" >&2; exit 1; }

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH DPKG_DEB_THREADS_MAX=1
version=${VERSION:-$(git describe --tags --always --dirty)}

# debian prints the version in a form that dpkg orders: 1.2.3, then 1.2.3+5.gabc; before the first
# tag the time of the commit.
debian() {
    local v=${version#v}
    case $v in
    [0-9]*.*) sed -E 's/-([0-9]+)-g/+\1.g/; s/-dirty$/+dirty/; s/-/~/g' <<<"$v" ;;
    *) echo "0~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).${v//-/+}" ;;
    esac
}

OUT=${OUT:-dist}
rm -rf "$OUT"
mkdir -p "$OUT/container/data"
cp package/Containerfile "$OUT/container/"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# deb ARCH makes the package for a built program.
deb() {
    local arch=$1 root=$work/$1
    install -D -m 0755 "$OUT/container/linux-$arch/cascada" "$root/usr/bin/cascada"
    install -D -m 0644 package/cascada.service "$root/usr/lib/systemd/system/cascada.service"
    install -D -m 0644 package/cascada.yaml "$root/etc/cascada/cascada.yaml"
    install -d -m 0700 "$root/etc/cascada/secrets"
    install -D -m 0644 cmd/cascada/completion/cascada.bash "$root/usr/share/bash-completion/completions/cascada"
    install -D -m 0644 cmd/cascada/completion/cascada.zsh "$root/usr/share/zsh/vendor-completions/_cascada"
    install -D -m 0644 cmd/cascada/completion/cascada.fish "$root/usr/share/fish/vendor_completions.d/cascada.fish"
    install -d "$root/usr/share/doc/cascada"
    install -m 0644 docs/*.md docs/alerts.yml "$root/usr/share/doc/cascada/"
    local size
    size=$(find "$root" -type f -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
    install -d "$root/DEBIAN"
    install -m 0755 package/deb/postinst package/deb/prerm package/deb/postrm "$root/DEBIAN/"
    echo /etc/cascada/cascada.yaml >"$root/DEBIAN/conffiles"
    (cd "$root" && find etc usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    cat >"$root/DEBIAN/control" <<EOF
Package: cascada
Version: $(debian)
Architecture: $arch
Maintainer: ${MAINTAINER:-Cascada <cascada@localhost>}
Installed-Size: $size
Depends: init-system-helpers (>= 1.52), systemd (>= 250)
Recommends: ca-certificates
Suggests: postgresql, redis-server
Section: net
Priority: optional
Description: payment orchestration for Latin America
 One API over a cascade of payment providers, with a double-entry ledger and
 signed webhooks. One program, which keeps its data in an SQLite file or in
 PostgreSQL.
EOF
    find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Z"${COMPRESS:-xz}" --build "$root" "$OUT/cascada_$(debian)_$arch.deb"
}

[ $# -gt 0 ] || set -- amd64 arm64
for arch; do
    if [ -n "${PROGRAM:-}" ]; then
        install -D -m 0755 "$PROGRAM" "$OUT/container/linux-$arch/cascada"
    else
        CGO_ENABLED=0 GOOS=linux GOARCH=$arch "${GO:-go}" build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" \
            -o "$OUT/container/linux-$arch/cascada" ./cmd/cascada
    fi
    deb "$arch"
done
(cd "$OUT" && find . -type f \( -name '*.deb' -o -path './container/linux-*' \) -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
cat "$OUT/SHA256SUMS"
