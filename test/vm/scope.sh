# A command of an ordinary user's, in a session whose control group is root's, under a user manager of systemd's own on
# pure control groups v2: as a login has it, but that nobody started that manager as a service.
set -e
user=1000
tree=/sys/fs/cgroup/user
runtime=/run/user/$user
mkdir -p "$tree/manager" "$tree/session" "$runtime" /run/systemd/system /units
chown $user "$tree/cgroup.procs" "$tree/manager" "$tree/manager/cgroup.procs" "$tree/manager/cgroup.subtree_control" "$runtime"
printf '[Unit]\nDescription=Nothing\n' >/units/default.target

as_user() {
  echo 0 >"$tree/$1/cgroup.procs"
  shift
  exec become --reuid $user --regid $user --clear-groups env HOME="$runtime" XDG_RUNTIME_DIR="$runtime" "$@"
}

(as_user manager SYSTEMD_UNIT_PATH=/units systemd --user) &
manager=$!
for _ in $(seq 100); do
  [ -S "$runtime/systemd/private" ] && break
  sleep 0.1
done
code=0
(as_user session LNK_TEST_HELD_BY=scope whole_run) || code=$?
kill -9 $manager
exit $code
