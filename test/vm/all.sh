# Runs inside the VM, see scripts/vm/test.sh: first what the kernel does, then what the sampler makes of it,
# and last a command run in a group of its own, and in a scope of a user's manager.
failed=0
sh /kernel-facts.sh || failed=1
export LNK_TEST_ZOO=/bin/zoo
# One at a time: the tests share the machine's devices.
pure_v2 --ignored --test-threads=1 || failed=1
whole_run || failed=1
sh /scope.sh || failed=1
exit $failed
