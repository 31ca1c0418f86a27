#!/usr/bin/env bash
# Runs a shell script as root in a virtual machine: a stock Debian kernel, pure control groups v2, two empty disks.
#
#   scripts/vm/run.sh [--program PATH[:NAME]]... [--file SOURCE:DESTINATION]... SCRIPT
#
# The guest is busybox, the given programs in /bin with the libraries they load, and the given files. The script
# finds /dev/vda and /dev/vdb (64 MiB each), the controllers io, memory, cpu and pids on in the root group, and modprobe
# for scsi_debug and sd_mod. Its output comes out here as it is written, its exit code is ours.
# 77: a VM can't be run here, and why is on stderr. 124: it didn't end in time. 125: the guest broke.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$here/../../.cache/vm
limit_seconds=180
# shellcheck source=scripts/vm/kernel.sh
source "$here/kernel.sh"

cannot() { echo "vm: can't run here: $1" >&2; exit 77; }
usage() { sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

need_tools() {
  local tool missing=()
  for tool in qemu-system-x86_64 busybox apt-get apt-cache dpkg-deb ldd; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] || cannot "${missing[*]} missing (Debian: apt-get install qemu-system-x86 busybox-static)"
  [ "$(uname -m)" = x86_64 ] || cannot "the guest is x86_64 and this machine is $(uname -m)"
  ldd "$(command -v busybox)" >/dev/null 2>&1 && cannot "busybox is not static (Debian: apt-get install busybox-static)"
  return 0
}

# A program at /bin/NAME, and each library at the path its loader will look for it.
add_program() {
  local root=$1 path=${2%%:*} name library
  [ -x "$path" ] || { echo "vm: $path is no program" >&2; exit 2; }
  name=$([[ $2 == *:* ]] && echo "${2#*:}" || basename "$path")
  install -D "$path" "$root/bin/$name"
  { ldd "$path" 2>/dev/null || true; } | grep -oE '/[^ ]+' | while read -r library; do
    [ -e "$root$library" ] || install -D "$(readlink -f "$library")" "$root$library"
  done
}

# Whether hardware virtualisation works, found out by booting: /dev/kvm may be there and a guest on it stand still.
kvm_works() {
  grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo && [ -w /dev/kvm ] || return 1
  printf '#!/bin/busybox sh\n/bin/busybox poweroff -f\n' >"$work/probe"
  mkdir -p "$work/probe-root/bin"
  cp "$(command -v busybox)" "$work/probe-root/bin/busybox"
  install "$work/probe" "$work/probe-root/init"
  pack "$work/probe-root" "$work/probe.cpio"
  timeout 10 qemu-system-x86_64 -accel kvm -cpu host "${machine[@]}" -initrd "$work/probe.cpio" -append panic=-1 </dev/null >/dev/null 2>&1
}

pack() { (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null) >"$2"; }

programs=()
files=()
while [ $# -gt 1 ]; do
  case $1 in
    --program) programs+=("$2") ;;
    --file) files+=("$2") ;;
    *) usage ;;
  esac
  shift 2
done
[ $# = 1 ] && [ -f "$1" ] || usage
script=$1

need_tools
mkdir -p "$cache"
work=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
kernel=$(kernel_folder "$cache")

root=$work/root
mkdir -p "$root/bin"
cp "$(command -v busybox)" "$root/bin/busybox"
install "$here/init" "$root/init"
install "$script" "$root/script"
for program in "${programs[@]}"; do add_program "$root" "$program"; done
for file in "${files[@]}"; do install -D "${file%%:*}" "$root/${file#*:}"; done
copy_modules "$kernel" "$root" virtio_pci virtio_blk loop dm-mod tcp_diag scsi_debug sd_mod
pack "$root" "$work/initramfs"
truncate -s 64M "$work/vda" "$work/vdb"

machine=(-m 768 -smp 2 -nodefaults -no-reboot -display none -kernel "$kernel"/boot/vmlinuz-*)
accelerator=(-accel tcg)
if kvm_works; then accelerator=(-accel kvm -cpu host); fi
status=0
timeout --foreground "$limit_seconds" qemu-system-x86_64 "${accelerator[@]}" "${machine[@]}" -initrd "$work/initramfs" \
  -append 'console=ttyS0 panic=-1' \
  -drive "if=virtio,format=raw,cache=unsafe,file=$work/vda" -drive "if=virtio,format=raw,cache=unsafe,file=$work/vdb" \
  -serial "file:$work/console" -serial stdio -serial "file:$work/code" </dev/null || status=$?

if [ "$status" = 124 ]; then
  echo "vm: stopped after $limit_seconds s" >&2
  exit 124
fi
code=$(tr -cd '0-9' <"$work/code" 2>/dev/null || true)
if [ -z "$code" ]; then
  echo "vm: the guest ended without an exit code (qemu: $status); its console ended with:" >&2
  tail -n 40 "$work/console" >&2 || true
  exit 125
fi
exit "$code"
