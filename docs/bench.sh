#!/usr/bin/env bash
# Measures Cascada over HTTP on SQLite and on PostgreSQL, each with many
# merchants and with one hot merchant, and proves the database afterwards.
# `make bench` calls it.
#
#   docs/bench.sh [flags of cascada bench]      such as --webhooks --duration 30s
#   ENGINES="sqlite" docs/bench.sh              one engine only; default "sqlite postgres"
#   MERCHANTS="100" docs/bench.sh               so many merchants; default "100 1", which is one hot one
#   BENCH_DIR=/mnt/ssd docs/bench.sh            where the data goes; default $TMPDIR or /tmp
#   docs/bench.sh --against v0.1.0,HEAD~1       compares with the programs of these commits, in turn: a pair
#                                               is one run of each, on an empty database each. Prints every
#                                               pair and the median of the ratios. Nothing else is done.
#   PAIRS=3 SECONDS_EACH=3 docs/bench.sh --against HEAD~1      fewer, shorter pairs; default 11 of 5 s
#
# Everything is made in temporary directories and taken away again. The
# PostgreSQL server is a private one, durable as in production, and listens on
# a Unix socket only. It is young: it still fills new WAL segments with zeros,
# which an old one recycles. --warmup 60s shows more of the steady state.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cascada=$root/bin/cascada
engines=${ENGINES:-sqlite postgres}
merchants=${MERCHANTS:-100 1}
failed=0
server=
postgres=
work=
private=--allow-private-webhooks # a flag that older programs do not have
sockets=

# stop ends a process that we started and waits for it.
stop() { # pid signal
  [ -n "$1" ] || return 0
  kill "-$2" "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

cleanup() {
  stop "$server" TERM
  stop "$postgres" INT
  if [ -n "$work" ]; then rm -rf "$work"; fi
  if [ -n "$sockets" ]; then rm -rf "$sockets"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  echo "bench: $*" >&2
  exit 1
}

# start_postgres sets database to the address of an empty one.
start_postgres() {
  local bin as=()
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  if [ -z "$bin" ]; then
    bin=$(command -v initdb) || die 'PostgreSQL is not installed: apt-get install postgresql, or ENGINES=sqlite'
    bin=$(dirname "$bin")
  fi
  # A socket's path has at most 107 bytes, so it does not stand in $work.
  sockets=$(mktemp -d /tmp/cascada-bench-pg.XXXXXX)
  mkdir "$work/pg"
  if [ "$(id -u)" = 0 ]; then # which PostgreSQL refuses to run as
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
    chmod 711 "$work"
    chown postgres: "$work/pg" "$sockets"
  fi
  (cd / && "${as[@]}" "$bin/initdb" -D "$work/pg/data" -U app -A trust --no-instructions -E UTF8 --locale=C) \
    >"$work/initdb.log" 2>&1 || die "initdb failed: $(cat "$work/initdb.log")"
  cd /
  "${as[@]}" "$bin/postgres" -D "$work/pg/data" -c listen_addresses= -c unix_socket_directories="$sockets" \
    -c fsync=on -c synchronous_commit=on -c shared_buffers=512MB -c max_wal_size=4GB -c min_wal_size=2GB \
    >"$work/postgres.log" 2>&1 &
  postgres=$!
  cd "$root"
  until "$bin/pg_isready" -q -h "$sockets" -U app; do
    kill -0 "$postgres" 2>/dev/null || die "PostgreSQL ended: $(cat "$work/postgres.log")"
    sleep 0.05
  done
  "$bin/createdb" -h "$sockets" -U app cascada
  database="postgres:///cascada?host=$sockets&user=app&sslmode=disable"
}

# program builds the program of a commit, and prints where it is.
program() { # revision
  local at
  at=$(git -C "$root" rev-parse --short=8 --verify "$1^{commit}") || die "there is no commit $1"
  if [ ! -x "$work/cascada-$at" ]; then
    git -C "$root" archive --prefix="$at/" "$at" | tar -x -C "$work"
    (cd "$work/$at" && CGO_ENABLED=0 go build -trimpath -o "$work/cascada-$at" ./cmd/cascada) || die "$1 does not build"
    rm -rf "${work:?}/$at"
  fi
  echo "$work/cascada-$at"
}

# rate prints how many payments a second a program takes on an empty database.
rate() { # program, engine, merchants
  cascada=$1
  private=
  rm -f "$work"/cascada.db*
  case $2 in
    sqlite) database="sqlite:$work/cascada.db" ;;
    postgres)
      database="postgres:///pair?host=$sockets&user=app&sslmode=disable"
      "$bin/dropdb" --if-exists -h "$sockets" -U app pair 2>/dev/null
      "$bin/createdb" -h "$sockets" -U app pair
      ;;
  esac
  start_server
  "$cascada" bench --url "$url" --database "$database" --merchants "$3" --warmup 2s --duration "${SECONDS_EACH:-5}s" >"$work/rate" 2>&1 ||
    { # the caller ends, as this runs in a shell of its own
      cat "$work/rate" >&2
      stop "$server" TERM
      return 1
    }
  stop "$server" TERM
  server=
  sed -n 's/^payments\/s *\([0-9]*\).*/\1/p' "$work/rate"
}

# against compares today's program with others, in turn.
against() { # revisions, separated by commas
  local revisions=${1//,/ } r n name pair ours theirs
  for r in $revisions; do program "$r" >/dev/null; done
  cp "$cascada" "$work/cascada-now"
  for name in $engines; do
    if [ "$name" = postgres ]; then
      start_postgres
      bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
    fi
    for n in $merchants; do
      for r in $revisions; do
        echo
        echo "== $name, $n merchants: this program, $r, and their ratio"
        : >"$work/ratios"
        for pair in $(seq "${PAIRS:-11}"); do
          if [ $((pair % 2)) = 1 ]; then
            ours=$(rate "$work/cascada-now" "$name" "$n")
            theirs=$(rate "$(program "$r")" "$name" "$n")
          else
            theirs=$(rate "$(program "$r")" "$name" "$n")
            ours=$(rate "$work/cascada-now" "$name" "$n")
          fi
          echo "$ours $theirs" | awk '{ printf "%6d %6d  %.2f\n", $1, $2, $1 / $2 }' | tee -a "$work/ratios"
        done
        for column in 1 2 3; do
          sort -n -k "$column" "$work/ratios" | awk -v c="$column" '{ a[NR] = $c } END { print a[int((NR + 1) / 2)] }'
        done | paste -sd' ' | awk '{ printf "medians: %d and %d payments/s; of the ratios %.2f\n", $1, $2, $3 }'
      done
    done
    stop "$postgres" INT
    postgres=
  done
}

# start_server sets url to the address of a server on a port that was free.
start_server() {
  : >"$work/serve.log" # or the address of the server before is found in it
  "$cascada" serve --listen 127.0.0.1:0 --database "$database" --rate-limit off $private >>"$work/serve.log" 2>&1 &
  server=$!
  until url=$(sed -n 's/.*msg="cascada is ready" url=\([^ ]*\).*/\1/p' "$work/serve.log") && [ -n "$url" ]; do
    kill -0 "$server" 2>/dev/null || die "the server ended: $(cat "$work/serve.log")"
    sleep 0.05
  done
}

measure() { # title, flags of cascada bench
  echo
  echo "== $1"
  shift
  "$cascada" bench --url "$url" --database "$database" --server-pid "$server" "$@" || failed=1
}

engine() { # name, flags of cascada bench
  local name=$1
  shift
  case $name in
    sqlite) database="sqlite:$work/cascada.db" ;;
    postgres) start_postgres ;;
    *) die "there is no engine $name" ;;
  esac
  start_server
  local n
  for n in $merchants; do
    measure "$name, $n merchants" --merchants "$n" "$@"
  done
  echo
  echo "== $name, cascada check"
  "$cascada" check --database "$database" || failed=1
  grep -E 'level=(WARN|ERROR)' "$work/serve.log" | grep -v 'rate limits are off' || true
  stop "$server" TERM
  server=
  stop "$postgres" INT
  postgres=
}

[ -x "$cascada" ] || make -C "$root" build
work=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/cascada-bench.XXXXXX")
CASCADA_MASTER_KEY=$(head -c 32 /dev/urandom | base64)
export CASCADA_MASTER_KEY
disk=$(stat -f -c %T "$work")
echo "cascada bench: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r), data on $disk"
if [ "$disk" = tmpfs ]; then
  echo "bench: the data is in memory, so a commit costs nothing: set BENCH_DIR to a real disk" >&2
fi
if [ "${1:-}" = --against ]; then
  [ -n "${2:-}" ] || die 'which commits? --against REV[,REV]'
  against "$2"
  exit "$failed"
fi
for name in $engines; do
  engine "$name" "$@"
done
exit "$failed"
