#!/bin/sh
# Installs the browser for tests of web pages: automatically as root on Debian, otherwise it only prints what to do
# (without a browser, those tests are skipped).
set -eu

hint="Tests of web pages need a browser, and are skipped without one. On Debian: sudo apt-get install chromium"

if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing chromium"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends chromium >/dev/null || echo "$hint" >&2
else
    echo "$hint" >&2
fi
