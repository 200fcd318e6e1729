#!/usr/bin/env bash
# Makes the packages of the SDKs: sdk/pack.sh [DIRECTORY], by default bin/sdk/dist. The same commit gives the same bytes. sdk/check.sh tests
# them, and make release takes them.
#
# What it needs is installed as root on Debian: Node.js as spec/check.sh does it, the rest as packages. Everything else is kept in
# bin/sdk, so a second run downloads nothing.
set -euo pipefail
umask 022

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/sdk/tools.sh"
dist=$(realpath -m "${1:-$made/dist}")
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}

if [ "$dist" != "$made/dist" ] && [ -n "$(ls -A "$dist" 2>/dev/null)" ]; then die "$dist is not empty: name a new directory"; fi
rm -rf "$dist"
mkdir -p "$dist"

# dated gives all files of a package the time of the commit.
dated() { find "$1" -exec touch --no-dereference --date="@$epoch" {} +; }

pack_typescript "$dist"

# Python: an sdist, and a wheel that pip makes of it.
work=$made/python
rm -rf "$work/package"
mkdir -p "$work/package"
cp -r "$sdk/python/pyproject.toml" "$sdk/python/README.md" "$sdk/python/src" "$sdk/python/backend" "$root/LICENSE" "$work/package/"
find "$work/package" -name __pycache__ -prune -exec rm -rf {} +
(cd "$work/package" && quietly env PYTHONPATH=backend python3 -c 'import build_backend, sys; build_backend.build_sdist(sys.argv[1])' "$dist")
[ -x "$work/venv/bin/pip" ] || quietly python3 -m venv "$work/venv"
quietly "$work/venv/bin/pip" wheel --no-index --no-deps --wheel-dir "$dist" "$dist"/cascadapay-*.tar.gz

# PHP: an archive that Composer finds.
work=$made/php
rm -rf "$work/package"
mkdir -p "$work/package"
cp -r "$sdk/php/composer.json" "$sdk/php/README.md" "$sdk/php/src" "$root/LICENSE" "$work/package/"
dated "$work/package"
version=$(php -r 'echo json_decode(file_get_contents($argv[1]))->version;' -- "$sdk/php/composer.json")
(cd "$work/package" && quietly env TZ=UTC COMPOSER_ALLOW_SUPERUSER=1 composer archive --no-interaction --format=zip --dir="$dist" --file="cascadapay-sdk-php-$version")
