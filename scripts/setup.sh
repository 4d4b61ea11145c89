#!/usr/bin/env bash
# Make .venv with sparsebody (editable) and all that tests, checks and the demo need.
#
# System packages come by apt where root or passwordless sudo allows. Without CHOLMOD the
# environment is complete but for that backend; SPARSEBODY_REQUIRE_CHOLMOD=1 makes it an error.
# PYTHON=/path/to/python chooses the interpreter. `scripts/setup.sh mpi` adds MPI and MUMPS to it.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
require_cholmod=${SPARSEBODY_REQUIRE_CHOLMOD:-0}
compiler_packages=(g++ libc6-dev)
build_tools=('scikit-build-core>=0.11' 'nanobind>=3.1,<4' 'numpy>=2.0' 'cmake>=3.26' ninja)
browser_packages=(chromium chromium-driver)
require_browser=${SPARSEBODY_REQUIRE_BROWSER:-0}
cholmod_packages=(gcc libc6-dev libsuitesparse-dev libopenblas-dev)
mpi_packages=(gcc libc6-dev openmpi-bin libopenmpi-dev libmumps-dev libopenblas-dev)

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if is_recent "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Prints the prefix that runs a command as root; fails where nobody allows it.
root_prefix() {
  if [ "$(id -u)" -eq 0 ]; then
    echo env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo "sudo -n env"
  else
    return 1
  fi
}

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# Installs the packages that are missing; fails where that is not possible.
apt_install() {
  local package root missing=()
  command -v apt-get >/dev/null || return 1
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  root=$(root_prefix) || return 1
  say "installing ${missing[*]} by apt"
  $root DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
    $root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      "${missing[@]}" >/dev/null
}

minor_version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

has_headers() {
  "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

make_venv() {
  local python
  if [ -x $venv/bin/python ] && $venv/bin/python -m pip --version >/dev/null 2>&1; then
    return
  fi
  python=$(find_python) || fail "no Python 3.11 or later found among '${PYTHON:-python3 python3.13 python3.12 python3.11}'; install one, or name it: make setup PYTHON=/path/to/python"
  if ! can_make_venv "$python"; then
    apt_install "python$(minor_version "$python")-venv" ||
      fail "$python cannot make virtual environments; as root: apt-get install python3-venv"
  fi
  say "making $venv with $("$python" --version) ($python)"
  "$python" -m venv --clear $venv
}

# The native core needs a C++20 compiler and Python's headers.
install_compiler() {
  local packages=()
  command -v "${CXX:-c++}" >/dev/null || packages+=("${compiler_packages[@]}")
  has_headers $venv/bin/python || packages+=("python$(minor_version $venv/bin/python)-dev")
  [ ${#packages[@]} -eq 0 ] || apt_install "${packages[@]}" ||
    fail "the native core needs a C++20 compiler (g++ 12, clang 15) and Python's headers; as root: apt-get install ${packages[*]}"
}

# Build tools stay in .venv, so that `make build` compiles only what has changed.
install_package() {
  say "installing sparsebody with its test and development tools, and building its native core"
  $venv/bin/python -m pip install --quiet "${build_tools[@]}"
  rm -f build/core/CMakeCache.txt # of another .venv, say
  PATH="$PWD/$venv/bin:$PATH" $venv/bin/python -m pip install --quiet --no-build-isolation \
    --editable '.[test,dev,robots,study]'
}

# Prints what an extra of pyproject.toml asks for, one requirement a line.
requirements() {
  $venv/bin/python -c 'import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["optional-dependencies"][sys.argv[1]], sep="\n")' "$1"
}

# Ends with MPI and MUMPS importable, or fails after saying why.
install_mpi() {
  local packages=("${mpi_packages[@]}")
  has_headers $venv/bin/python || packages+=("python$(minor_version $venv/bin/python)-dev")
  apt_install "${packages[@]}" ||
    say "no apt or no root rights here: cannot install ${packages[*]}; trying without"
  say "building mpi4py and pymumps"
  if ! $venv/bin/python -m pip install --requirement <(requirements mpi) >$venv/mpi.log 2>&1; then
    tail -n 6 $venv/mpi.log >&2
    say "they could not be built; the whole story is in $venv/mpi.log"
    return 1
  fi
  $venv/bin/python -c 'import mpi4py.MPI, mumps; mumps.DMumpsContext(comm=mpi4py.MPI.COMM_SELF).destroy()'
  say "MUMPS $($venv/bin/python -c 'import mumps; print(mumps.__version__)' 2>/dev/null) (pymumps) works over MPI"
}

# Ends with CHOLMOD importable and checked, or fails after saying why.
install_cholmod() {
  local packages=("${cholmod_packages[@]}")
  has_headers $venv/bin/python || packages+=("python$(minor_version $venv/bin/python)-dev")
  apt_install "${packages[@]}" ||
    say "no apt or no root rights here: cannot install ${packages[*]}; trying without"
  say "building scikit-sparse"
  if ! $venv/bin/python -m pip install --requirement <(requirements cholmod) >$venv/cholmod.log 2>&1; then
    tail -n 6 $venv/cholmod.log >&2
    say "scikit-sparse could not be built; the whole story is in $venv/cholmod.log"
    return 1
  fi
  $venv/bin/python scripts/check_cholmod.py
}

# Tests of 3-D pages, and pictures of them, need Chromium and its driver.
install_browser() {
  if { command -v chromium || command -v google-chrome; } >/dev/null && command -v chromedriver >/dev/null; then
    return
  fi
  apt_install "${browser_packages[@]}"
}

if [ "${1:-}" = mpi ]; then
  install_mpi || fail "MPI and MUMPS are required (SPARSEBODY_REQUIRE_MPI=1) but could not be set up; see above"
  touch $venv/.mpi
  exit
fi

make_venv
install_compiler
install_package
if ! install_browser; then
  [ "$require_browser" != 1 ] ||
    fail "Chromium is required (SPARSEBODY_REQUIRE_BROWSER=1); as root: apt-get install ${browser_packages[*]}"
  say "going on WITHOUT Chromium: 3-D pages are not tested, nor drawn to pictures."
  say "to add it, as root: apt-get install ${browser_packages[*]}"
fi
rm -f $venv/.cholmod
if install_cholmod; then
  touch $venv/.cholmod
elif [ "$require_cholmod" = 1 ]; then
  fail "CHOLMOD is required (SPARSEBODY_REQUIRE_CHOLMOD=1) but could not be set up; see above"
else
  say "going on WITHOUT CHOLMOD: its orderings and factorizations are not available."
  say "to add it, as root: apt-get install ${cholmod_packages[*]} python3-dev; then: make -B setup"
fi
touch $venv/.setup
say "done"
