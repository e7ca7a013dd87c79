#!/bin/sh
# Installs what some tests need beside Python, where Debian's or Ubuntu's packages can be installed: a browser for the
# pages, Java for Spark, a PostgreSQL server, strace for faults. Tests that lack one of them are skipped and say so.
set -eu

missing=""
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
command -v java >/dev/null 2>&1 || missing="$missing default-jre-headless"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v strace >/dev/null 2>&1 || missing="$missing strace"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "shoal: not installed, so some tests will be skipped:$missing" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq --yes --no-install-recommends $missing >/dev/null ||
    echo "shoal: could not be installed, so some tests will be skipped:$missing" >&2
