# What a kernel with pure control groups v2 does that the sampler relies on. Runs inside the VM:
#   scripts/vm/run.sh test/vm/kernel-facts.sh
# A kernel that changes one of these turns this red before it turns a number wrong.

root=/sys/fs/cgroup
failed=0
passed=0

# check NAME TEST: the test is a shell command, run here.
check() {
  if eval "$2" >/tmp/said 2>&1; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
    echo "  $2"
    sed 's/^/  /' /tmp/said
  fi
}

# Runs a command line in a group, to its end.
in_group() { sh -c 'echo 0 >"$1/cgroup.procs" && eval "$2"' sh "$1" "$2"; }
# The value after a word in a flat file: value FILE WORD.
value() { awk -v word="$2" '$1 == word { print $2 }' "$1"; }
# One device's counter in a group's io.stat, 0 where it has no line: io GROUP MAJOR:MINOR KEY.
io() {
  found=$(sed -n "s/^$2 .*$3=\([0-9]*\).*/\1/p" "$1/io.stat")
  echo "${found:-0}"
}
# Waits for a condition, five seconds at most.
until_true() {
  tries=0
  until eval "$1"; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || return 1
    usleep 50000
  done
}
end() {
  kill "$1"
  wait "$1" 2>/dev/null
}
drop_caches() { sync; echo 3 >/proc/sys/vm/drop_caches; }

groups() {
  mkdir $root/a $root/a/b
  check 'a child of a group with controllers has their files' \
    "[ -f $root/a/memory.current ] && [ -f $root/a/memory.peak ] && [ -f $root/a/io.stat ] && [ -f $root/a/pids.current ]"
  check 'below a group that enables nothing only cpu.stat is left' \
    "[ -f $root/a/b/cpu.stat ] && [ ! -e $root/a/b/memory.current ] && [ ! -e $root/a/b/io.stat ] && [ ! -e $root/a/b/pids.current ]"
  check 'there cgroup.controllers is empty' "[ -z \"\$(cat $root/a/b/cgroup.controllers)\" ]"
  check 'the root has cpu.stat, io.stat and memory.stat' \
    "[ -f $root/cpu.stat ] && [ -f $root/io.stat ] && [ -f $root/memory.stat ]"
  check 'the root has no memory.current, memory.peak, pids.current' \
    "[ ! -e $root/memory.current ] && [ ! -e $root/memory.peak ] && [ ! -e $root/pids.current ]"

  odd="$root/a/one: two:three"
  mkdir "$odd"
  check 'a path may hold spaces and colons' "[ \"\$(in_group '$odd' 'cat /proc/self/cgroup')\" = '0::/a/one: two:three' ]"
  check 'a group name with a newline is refused' "! mkdir \"$root/a/x
y\""

  sh -c 'echo 0 >/sys/fs/cgroup/a/b/cgroup.procs; exec sleep 1000' &
  member=$!
  until_true "grep -qx $member $root/a/b/cgroup.procs"
  check 'cgroup.procs is of the group itself, not of those below' "! grep -qx $member $root/a/cgroup.procs"
  check 'seen from another pid namespace a foreign member is 0' "[ \"\$(unshare -p -f cat $root/a/b/cgroup.procs)\" = 0 ]"
  end $member
  rmdir "$odd"

  mkdir $root/a/threads $root/a/threads/one
  echo threaded >$root/a/threads/one/cgroup.type
  check 'cgroup.procs of a threaded group can not be read' "! cat $root/a/threads/one/cgroup.procs && grep -qi 'not supported' /tmp/said"
  rmdir $root/a/threads/one $root/a/threads

  before=$(stat -c %i $root/a/b)
  exec 3<$root/a/b/cpu.stat
  rmdir $root/a/b
  check 'a kept file of a removed group says no such device' '! cat <&3 && grep -qi "no such device" /tmp/said'
  exec 3<&-
  mkdir $root/a/b
  check 'a group made again under the same name has another inode' "[ $before != $(stat -c %i $root/a/b) ]"

  # The parent becomes a program that never waits, so the child stays a zombie.
  sh -c 'sh -c "echo 0 >/sys/fs/cgroup/a/b/cgroup.procs" & echo $! >/tmp/zombie; exec sleep 1000' &
  parent=$!
  until_true 'grep -q "^State:.Z" /proc/$(cat /tmp/zombie)/status'
  rmdir $root/a/b
  check 'a zombie of a removed group has (deleted) after its path' 'grep -qx "0::/a/b (deleted)" /proc/$(cat /tmp/zombie)/cgroup'
  end $parent
  rmdir $root/a
}

cpu() {
  mkdir $root/a $root/a/b
  in_group $root/a/b 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
  used=$(value $root/a/cpu.stat usage_usec)
  check 'cpu.stat counts members of groups below that have ended' "[ $used -gt 100000 ]"
  rmdir $root/a/b
  check 'and keeps what a removed group below used' "[ \$(value $root/a/cpu.stat usage_usec) -ge $used ]"
  rmdir $root/a
}

memory() {
  mkdir $root/a $root/b $root/late
  head -c 25165824 /dev/zero >/mnt/file
  drop_caches
  in_group $root/a 'cat /mnt/file >/dev/null'
  check 'what a reader left in the page cache stays charged to its group' \
    "[ \$(cat $root/a/memory.current) -gt 24000000 ] && [ \$(value $root/a/memory.stat anon) -lt 1000000 ]"
  in_group $root/b 'cat /mnt/file >/dev/null'
  check 'a second reader of the same file is charged next to nothing' "[ \$(cat $root/b/memory.current) -lt 4000000 ]"
  in_group $root/b 'head -c 10485760 /dev/zero >/tmp/kept'
  check 'tmpfs stays charged when its writer is gone' "[ \$(value $root/b/memory.stat shmem) -ge 10485760 ]"
  rm /tmp/kept

  # A shell that holds 8 MiB, then moves: what it touched stays where it was touched.
  mkfifo /tmp/go
  sh -c 'echo 0 >/sys/fs/cgroup/late/cgroup.procs; big=$(head -c 8388608 /dev/zero | tr "\0" x); echo $$ >/tmp/mover; read x </tmp/go; : ${#big}' &
  mover=$!
  until_true '[ -s /tmp/mover ]'
  stayed=$(cat $root/late/memory.current)
  mkdir $root/new
  echo $mover >$root/new/cgroup.procs
  check 'memory does not move with the process that touched it' \
    "[ $stayed -gt 8388608 ] && [ \$(cat $root/late/memory.current) -gt 8388608 ] && [ \$(cat $root/new/memory.current) -lt 1000000 ]"
  mkdir $root/late/inner
  echo $mover >$root/late/inner/cgroup.procs
  echo +memory >$root/late/cgroup.subtree_control
  check 'a controller enabled later begins at nothing' "[ \$(cat $root/late/inner/memory.current) -lt 1000000 ]"
  echo go >/tmp/go
  wait $mover
  echo -memory >$root/late/cgroup.subtree_control
  rmdir $root/late/inner $root/late $root/new $root/a $root/b
  rm /mnt/file
}

disk() {
  mkdir $root/a $root/a/b $root/idle
  echo +io +memory >$root/a/cgroup.subtree_control
  check 'io.stat of a group without I/O is there and empty' "[ -f $root/idle/io.stat ] && [ -z \"\$(cat $root/idle/io.stat)\" ]"
  rmdir $root/idle

  vdb=$(cat /sys/block/vdb/dev)
  in_group $root/a/b 'dd if=/dev/zero of=/mnt/out bs=1M count=8 2>/dev/null'
  check 'a buffered write is not counted before it is written back' "[ \$(io $root/a/b $vdb wbytes) -lt 8388608 ]"
  sync
  check 'after it, all of it is' "until_true '[ \$(io $root/a/b $vdb wbytes) -ge 8388608 ]'"
  in_group $root/a/b 'dd if=/dev/zero of=/mnt/never bs=1M count=4 2>/dev/null; rm /mnt/never'
  wrote=$(io $root/a/b $vdb wbytes)
  sync
  check 'what is deleted before it is written back is never counted' "[ \$((\$(io $root/a/b $vdb wbytes) - $wrote)) -lt 4194304 ]"
  kept=$(io $root/a $vdb wbytes)
  rmdir $root/a/b
  check 'a group keeps the bytes of a removed group below' "[ \$(io $root/a $vdb wbytes) -ge $kept ]"
  mkdir $root/a/b

  modprobe sd_mod
  modprobe scsi_debug dev_size_mb=16
  # This link comes last, after /dev/sda.
  until_true '[ -f /sys/block/sda/dev ]'
  sda=$(cat /sys/block/sda/dev)
  in_group $root/a/b 'dd if=/dev/sda of=/dev/null bs=1M count=4 2>/dev/null'
  check 'a read is counted with its read-ahead' "[ \$(io $root/a $sda rbytes) -ge 4194304 ]"
  echo 1 >/sys/block/sda/device/delete
  check 'the line of a removed device goes' "until_true '! grep -q ^$sda $root/a/io.stat'"
  rmmod scsi_debug

  head -c 8388608 /dev/zero >/mnt/image
  losetup /dev/loop0 /mnt/image
  drop_caches
  before=$(io $root/a $vdb rbytes)
  in_group $root/a/b 'dd if=/dev/loop0 of=/dev/null bs=1M 2>/dev/null'
  check 'a read through a loop is counted on the loop and on the disk below' \
    "[ \$(io $root/a 7:0 rbytes) -ge 8388608 ] && [ \$((\$(io $root/a $vdb rbytes) - $before)) -ge 8388608 ]"
  losetup -d /dev/loop0
  check 'a loop taken down keeps its line' "[ \$(io $root/a 7:0 rbytes) -ge 8388608 ]"
  rmdir $root/a/b $root/a
}

mkdir -p /mnt
mke2fs /dev/vdb >/dev/null 2>&1
mount -t ext4 /dev/vdb /mnt
groups
cpu
memory
disk
umount /mnt
echo "$(uname -r): $passed passed, $failed failed"
[ $failed = 0 ]
