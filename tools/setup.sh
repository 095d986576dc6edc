#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Prepares a machine for development. Usage: tools/setup.sh STEP...
#   system   install compiler, CMake, Ninja, image libraries and Python with apt-get
#   lint     install clang-format, clang with its sanitizers, and into .venv the tools that check Python code and types
#   nginx    unpack nginx in .cache/nginx; without it the tests that need it are skipped
#   chromium install Chromium with apt-get; without it the test of reports in a browser is skipped
#   venv     create .venv with the packages that build Headrace
#   test     install the packages that test it into .venv, PyTorch among them; without PyTorch its tests are skipped
#   docs     install the packages that build the documentation into .venv
#   peers    install DALI into .venv, for comparisons
#   jax, tf, paddle, numba, ray, timm, s3, hf   create .cache/venv-NAME with the packages of tools/requirements/NAME.lock and the
#            wheel from dist/
#   lock     write tools/requirements/*.lock anew: the newest versions that *.txt there allow, with their hashes
#   install  build the package and install it into .venv
#   wheel    build the wheel of this machine's architecture in dist/
#   wheel-aarch64  build the wheel for aarch64 in dist/, with a cross compiler
#   aarch64  make .cache/aarch64/python, which runs Python for aarch64 in QEMU, and install the wheel for aarch64 in it
# A step does nothing if its result already exists. Concurrent runs wait for each other; runs for a framework, or for
# the step `test` alone, wait only for runs for the same.
set -eu
cd "$(dirname "$0")/.."
venv_python=.venv/bin/python
export CC="${CC:-cc}" # the default would be the compiler that built Python, which may be missing

say() { printf '%s\n' "$*" >&2; }
die() {
    say "setup: $*"
    exit 1
}

if ! { mkdir -p .cache && touch .cache/setup.lock; } 2>/dev/null; then
    die "$PWD/.cache cannot be written: everything is built inside this folder, so it must be yours"
fi
case "$*" in
test | jax | tf | paddle | numba | ray | timm | s3 | hf) exec 9>".cache/setup-$*.lock" ;;
*) exec 9>.cache/setup.lock ;;
esac
flock 9

have() { command -v "$1" >/dev/null 2>&1; }

# ---- system packages ------------------------------------------------------------------------------

cmake_is_new() {
    have cmake && cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || v[1] == 3 && v[2] >= 25) }'
}
links_with() { # links_with LIBRARY: whether the compiler finds the library without pkg-config
    have cc && echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null "-l$1" 2>/dev/null
}
python_is_fit() { # python_is_fit PYTHON: whether it is 3.11 or newer, with headers, venv and ensurepip
    "$1" -c '
import sys, os, sysconfig, venv, ensurepip
fit = sys.version_info >= (3, 11) and os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
sys.exit(not fit)' >/dev/null 2>&1
}
find_python() { # prints a suitable interpreter, or nothing
    for p in ${PYTHON:+"$PYTHON"} python3.11 python3.12 python3.13 python3.14 python3 /usr/bin/python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin/python3; do
        if python_is_fit "$p"; then
            printf '%s\n' "$p"
            return
        fi
    done
}
have_nvcc() {
    have nvcc || [ -x /usr/local/cuda/bin/nvcc ]
}
missing_system() {
    have cc && have c++ && have make || echo build-essential
    cmake_is_new || echo cmake
    have ninja || echo ninja-build
    have ccache || echo ccache
    have pkg-config || echo pkg-config
    links_with jpeg || echo libjpeg-dev
    links_with png || echo libpng-dev
    links_with webpdemux || echo libwebp-dev
    links_with openjp2 || echo libopenjp2-7-dev
    links_with z || echo zlib1g-dev
    links_with deflate || echo libdeflate-dev
    links_with FLAC || echo libflac-dev
    links_with vorbisfile || echo libvorbis-dev
    links_with opus || echo libopus-dev
    links_with avcodec || echo libavcodec-dev
    links_with avformat || echo libavformat-dev
    ls /usr/lib/*/libmpg123.so.0 >/dev/null 2>&1 || echo libmpg123-0
    ! have_nvcc || [ -e /usr/include/ffnvcodec ] || echo libffmpeg-nvenc-dev
    [ -x "$venv_python" ] || [ -n "$(find_python)" ] || echo python3 python3-dev python3-venv
}
missing_lint() {
    have clang-format-14 || clang-format --version 2>/dev/null | grep -q 'version 14\.' || echo clang-format-14
    have clang || echo clang
    have clang && echo 'int main(void) { return 0; }' |
        clang -x c - -o /dev/null -fsanitize=thread 2>/dev/null || echo libclang-rt-dev
    have llvm-symbolizer || echo llvm
}
missing_wheel() { # what tools/wheel/build.sh needs for $wheel_arch
    have nasm || echo nasm
    have dpkg-source || echo dpkg-dev
    have "$wheel_arch-linux-gnu-gcc" || echo "gcc-$wheel_arch-linux-gnu" | tr _ -
}

missing_aarch64() {
    have qemu-aarch64 || echo qemu-user
}

apt_install() { # apt_install PACKAGE...
    have apt-get || die "please install these packages (Debian and Ubuntu names): $*"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif have sudo && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        die "these packages are missing: $*
Run as root:  apt-get install $*"
    fi
    say "setup: installing $*"
    $as_root apt-get update -qq || say "setup: apt-get update failed; continuing with the old package lists"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        >.cache/apt.log 2>&1 </dev/null || {
        tail -n 20 .cache/apt.log >&2
        die "apt-get install $* failed"
    }
}
ensure_packages() { # ensure_packages CHECK: installs the packages that the function CHECK prints
    packages=$("$1" | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086 # a list of words
    apt_install $packages
    packages=$("$1" | tr '\n' ' ')
    [ -z "$packages" ] || die "still missing after the installation: $packages
What this system installs may be too old: CMake 3.25 and Python 3.11 are needed, or newer ones"
}

# Not installed: that would start a web server.
step_nginx() {
    have nginx || [ -x /usr/sbin/nginx ] || [ -x .cache/nginx/usr/sbin/nginx ] && return 0
    have apt-get && have dpkg-deb || return 0
    rm -rf .cache/nginx
    mkdir .cache/nginx
    (cd .cache/nginx && timeout 60 apt-get download nginx && dpkg-deb -x nginx_*.deb .) >.cache/apt.log 2>&1 ||
        say "setup: nginx could not be downloaded; the tests that need it will be skipped"
}

# ---- Python ---------------------------------------------------------------------------------------

locked() { printf 'tools/requirements/%s.lock' "$1"; }
# install NAME: installs the packages of a lock file into .venv, if it has changed. The first ones come with pip; uv
# takes a fifth of the time, but is larger than all of them together.
install() {
    cmp -s "$(locked "$1")" ".venv/.$1" && return 0
    case $1 in
    build | uv) install_with "$1" "$venv_python" -m pip install --disable-pip-version-check --no-compile ;;
    *) install uv && install_with "$1" uv pip install --python "$venv_python" ;;
    esac
}
install_with() { # install_with NAME COMMAND...
    installed=$1
    shift
    say "setup: installing the packages of tools/requirements/$installed.txt"
    "$@" -q --require-hashes -r "$(locked "$installed")" </dev/null && cp "$(locked "$installed")" ".venv/.$installed"
}
uv() { # with pip's index, which uv does not ask for
    index=${PIP_INDEX_URL:-$("$venv_python" -m pip config get global.index-url 2>/dev/null || true)}
    env ${index:+UV_DEFAULT_INDEX="$index"} .venv/bin/uv "$@" </dev/null
}
must_install() {
    install "$1" || die "could not install the packages of $(locked "$1")"
}
step_chromium() {
    have chromium || have chromium-browser || have google-chrome || apt_install chromium
}
step_venv() {
    if ! "$venv_python" -c 'import pip' 2>/dev/null; then
        python=$(find_python)
        [ -n "$python" ] || die "Python 3.11 or newer is needed; set PYTHON to its path"
        say "setup: creating .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv
        "$venv_python" -m pip uninstall -q -y setuptools 2>/dev/null # before Python 3.12; nothing here needs it
    fi
    must_install build
}
step_lint() {
    ensure_packages missing_lint
    must_install lint
}
step_test() {
    must_install test
    install torch || say "setup: PyTorch could not be installed; the tests that need it will be skipped"
}
# Sets that share .venv agree on versions. Later lock files follow the earlier ones.
step_lock() {
    must_install uv
    agreed=
    for name in peers build uv test torch lint docs wheel; do
        # shellcheck disable=SC2086 # a list of words
        lock "$name" $agreed
        agreed="$agreed -c $(locked "$name")"
    done
    for name in jax tf paddle numba ray timm s3 hf aarch64; do
        lock "$name"
    done
}
lock() { # lock NAME OPTION...
    lock_name=$1
    shift
    rm -f "$(locked "$lock_name")"
    uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
        --custom-compile-command "tools/setup.sh lock" "$@" \
        -o "$(locked "$lock_name")" "tools/requirements/$lock_name.txt" ||
        die "the packages of tools/requirements/$lock_name.txt have no versions that agree"
}
# A framework has an environment of its own, with the wheel as a user would install it.
step_framework() { # step_framework NAME
    folder=.cache/venv-$1
    [ -x "$folder/bin/python" ] || "$venv_python" -m venv --without-pip "$folder"
    must_install uv
    say "setup: installing the packages of tools/requirements/$1.txt"
    uv pip install -q --python "$folder/bin/python" --require-hashes -r "$(locked "$1")"
    uv pip install -q --python "$folder/bin/python" --reinstall --no-deps dist/headrace-*_"$(uname -m)".whl
}

# ---- the package ----------------------------------------------------------------------------------

sources_state() { # prints a hash that changes with the files of the package
    {
        find CMakeLists.txt pyproject.toml README.md include src python tools/*.cmake tools/*.py -type f \
            ! -name '*.pyc' -printf '%p %s %T@\n' | LC_ALL=C sort
        echo "${CMAKE_ARGS:-} $CC"
        "$venv_python" --version
    } | sha256sum
}
step_install() {
    state=$(sources_state)
    [ -d build/dev ] && [ "$state" = "$(cat .venv/.installed 2>/dev/null)" ] && return 0
    say "setup: building Headrace and installing it into .venv; the first time, this compiles all of it"
    "$venv_python" -m pip install -q --disable-pip-version-check --no-build-isolation --force-reinstall \
        --no-deps --config-settings=build-dir=build/dev --config-settings=cmake.define.HR_TESTS=ON \
        --config-settings=cmake.define.HR_CUDA=OFF . </dev/null
    printf '%s\n' "$state" >.venv/.installed
}
step_wheel() { # step_wheel ARCHITECTURE
    wheel_arch=$1
    ensure_packages missing_wheel
    must_install wheel
    say "setup: building the wheel for $1"
    tools/wheel/build.sh "$1"
}

step_video_wheel() {
    wheel_arch=$(uname -m)
    ensure_packages missing_wheel
    must_install wheel
    say "setup: building the wheel of headrace-video"
    tools/wheel/video.sh "$wheel_arch"
}

# Python for aarch64 with the wheel, from Debian's and PyPI's packages, unpacked in a folder. The script `python` can also
# be started by a program in QEMU: it runs on the host.
step_aarch64() {
    ensure_packages missing_aarch64
    folder=$PWD/.cache/aarch64
    root=$folder/root
    wheel=$(ls dist/headrace-*_aarch64.whl) || die "there is no wheel for aarch64 in dist/"
    if [ ! -x "$folder/python" ]; then
        say "setup: unpacking Python for aarch64"
        tools/wheel/debian_root.sh arm64 "$root" python3 libstdc++6 libmpg123-0 >.cache/apt.log 2>&1 || {
            tail -n 20 .cache/apt.log >&2
            die "Debian's packages for arm64 could not be downloaded"
        }
        python=$(ls "$root"/usr/bin/python3.1[1-9])
        version=${python##*python}
        printf 'import sys\nsys.executable = "%s"\n' "$folder/python" \
            >"$root/usr/lib/python3/dist-packages/sitecustomize.py"
        rm -f "$root/usr/lib/python$version/sitecustomize.py"
        foreign_pip "$version" --require-hashes -r "$(locked aarch64)"
        printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s" "$@"\n' "$root" "$python" >"$folder/python.new"
        chmod +x "$folder/python.new"
        mv "$folder/python.new" "$folder/python"
    fi
    version=$(ls "$root"/usr/bin/python3.1[1-9] | sed 's/.*python//')
    rm -rf "$root"/usr/lib/python3/dist-packages/headrace*
    foreign_pip "$version" --no-deps "$wheel"
}
foreign_pip() { # foreign_pip VERSION ARGUMENT...: installs packages for aarch64 in $root
    foreign_version=$1
    shift
    "$venv_python" -m pip install -q --disable-pip-version-check --target "$root/usr/lib/python3/dist-packages" --upgrade \
        --python-version "$foreign_version" --implementation cp --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 "$@" </dev/null
}

[ $# -gt 0 ] || die "no step given; the comment at the top of tools/setup.sh lists the steps"
for step in "$@"; do
    case $step in
    system) ensure_packages missing_system ;;
    docs | peers) must_install "$step" ;;
    lint | nginx | chromium | aarch64 | venv | test | lock | install) "step_$step" ;;
    jax | tf | paddle | numba | ray | timm | s3 | hf) step_framework "$step" ;;
    wheel) step_wheel "$(uname -m)" ;;
    wheel-aarch64) step_wheel aarch64 ;;
    video-wheel) step_video_wheel ;;
    *) die "unknown step: $step" ;;
    esac
done
