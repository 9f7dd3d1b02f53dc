#!/bin/sh
# Installs Mesa's software OpenGL, which renders without a display: automatically as root on Debian or Ubuntu,
# otherwise it only prints what to do (policies that read no images need no renderer).
set -eu
PATH=$PATH:/usr/sbin:/sbin

packages="libegl1 libgl1 libosmesa6"
hint="Rendering without a display needs Mesa. On Debian or Ubuntu: sudo apt-get install $packages"

present() {
    ldconfig -p 2>/dev/null | grep -q libEGL.so.1 && ldconfig -p | grep -q libOSMesa
}

if [ "$(uname)" != Linux ] || present; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $packages"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $packages >/dev/null || echo "$hint" >&2
else
    echo "$hint" >&2
fi
