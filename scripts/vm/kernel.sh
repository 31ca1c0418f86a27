# Sourced by run.sh. The kernel: the newest cloud kernel of the Debian release this machine runs, from its own apt.

# Prints the folder that holds boot/ and lib/modules/ of the kernel, fetching it the first time.
kernel_folder() {
  local cache=$1 package folder download
  # The package without a version only names the one that has the kernel.
  package=$(LC_ALL=C apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }')
  [ -n "$package" ] || cannot "apt knows no linux-image-cloud-amd64 here (Debian has it; run 'apt-get update' first)"
  folder=$cache/$package
  if [ ! -d "$folder" ]; then
    download=$(mktemp -d "$cache/fetch.XXXXXX")
    # apt drops root to download, and its own user can't write below a home.
    (cd "$download" && apt-get -q -o APT::Sandbox::User=root download "$package") >"$download/log" 2>&1 ||
      { cat "$download/log" >&2; rm -rf "$download"; cannot "apt could not download $package"; }
    mkdir "$download/kernel"
    dpkg-deb --extract "$download"/*.deb "$download/kernel"
    # Whole or not at all, also when two runs fetch at once.
    mv -T "$download/kernel" "$folder" 2>/dev/null || [ -d "$folder" ]
    rm -rf "$download"
  fi
  echo "$folder"
}

# Copies the named modules, and those they need, below $root so that the guest's own modprobe finds them.
copy_modules() {
  local kernel=$1 root=$2 version lib module file
  shift 2
  version=$(basename "$kernel"/lib/modules/*)
  lib=$kernel/lib/modules/$version
  # The package leaves this file to its install script, which unpacking doesn't run.
  [ -f "$lib/modules.dep" ] || busybox depmod -b "$kernel" "$version"
  for module in "$@"; do
    grep -E "/$module\.ko(\.[a-z0-9]+)?:" "$lib/modules.dep" | tr -d ':' | tr ' ' '\n'
  done | sort -u | while read -r file; do
    [ -n "$file" ] && install -D "$lib/$file" "$root/lib/modules/$version/$file"
  done
  busybox depmod -b "$root" "$version"
}
