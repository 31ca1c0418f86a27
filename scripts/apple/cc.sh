#!/usr/bin/env bash
# A C compiler and linker for a Mac, as rustc and the `cc` crate call one: zig's, with its headers and stub of libSystem.
# ZIG is zig's program, ZIG_TARGET what zig calls the target.
set -euo pipefail

arguments=()
while (($#)); do
  case $1 in
    # Both say what ZIG_TARGET says, in words zig doesn't take.
    --target=* | -mmacosx-version-min=* | -mmacos-version-min=*) ;;
    -arch) shift ;;
    # The libc crate names it always; nothing here calls it, and zig has no stub of it. A call would be said to be undefined.
    -liconv) ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
exec "$ZIG" cc -target "$ZIG_TARGET" "${arguments[@]}"
