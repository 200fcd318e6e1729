# shellcheck shell=bash disable=SC2154
# What sdk/pack.sh and sdk/check.sh need; both read this file. It installs what is missing, sets sdk and made, and defines quietly.
sdk=$root/sdk
made=$root/bin/sdk

die() {
  echo "sdks: $*" >&2
  exit 1
}

quietly() { "$@" >"$made/run.log" 2>&1 || die "$*: $(cat "$made/run.log")"; }

want=
command -v python3 >/dev/null || want="$want python3"
python3 -c 'import ensurepip, venv' 2>/dev/null || want="$want python3-venv"
command -v php >/dev/null || want="$want php-cli"
command -v composer >/dev/null || want="$want composer"
for extension in curl zip; do php -m 2>/dev/null | grep -qx "$extension" || want="$want php-$extension"; done
if [ -n "$want" ]; then
  [ "$(id -u)" = 0 ] || die "these are needed:$want: install them, or run this as root"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $want
fi

. "$root/sdk/typescript.sh"
