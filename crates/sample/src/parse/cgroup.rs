//! `/proc/<pid>/cgroup`, and a group's `cgroup.procs`.

use super::{lines, number32};

/// A process's group in one hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership<'a> {
    /// The hierarchy's number; 0 is version 2.
    pub hierarchy: u32,
    /// The hierarchy's controllers, parted by commas; none of version 2.
    pub controllers: &'a [u8],
    /// The group, from the hierarchy's root; `/..` before it where it is outside our namespace.
    pub path: &'a [u8],
    /// Whether the group is gone: a zombie's may be.
    pub deleted: bool,
}

impl Membership<'_> {
    /// Whether this is the version 2 hierarchy.
    pub fn is_v2(&self) -> bool {
        self.hierarchy == 0 && self.controllers.is_empty()
    }

    /// Whether this is the hierarchy that has `controller`.
    pub fn has(&self, controller: &[u8]) -> bool {
        self.controllers.split(|byte| *byte == b',').any(|one| one == controller)
    }
}

/// Reads `/proc/<pid>/cgroup`, a line a hierarchy. Lines that can't be read are skipped.
pub fn parse_cgroup(file: &[u8]) -> impl Iterator<Item = Membership<'_>> {
    lines(file).filter_map(|line| {
        // The first two colons only: a path may have colons and blanks; the kernel refuses newlines in it.
        let mut fields = line.splitn(3, |byte| *byte == b':');
        let hierarchy = number32(fields.next()?)?;
        let controllers = fields.next()?;
        let path = fields.next()?;
        let kept = path.strip_suffix(b" (deleted)");
        let membership = Membership { hierarchy, controllers, path: kept.unwrap_or(path), deleted: kept.is_some() };
        path.starts_with(b"/").then_some(membership)
    })
}

/// Reads `cgroup.procs`: the group's own processes, not those of groups below it, and one perhaps twice. Processes
/// outside our pid namespace show as 0 and are left out.
pub fn parse_members(file: &[u8]) -> impl Iterator<Item = u32> {
    lines(file).filter_map(number32).filter(|pid| *pid != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_other_namespaces_are_left_out() {
        let file = include_bytes!("../../../../test/fixtures/proc/cgroup_procs_with_zeros");
        assert_eq!(parse_members(file).collect::<Vec<_>>(), [17, 4_194_303, 17]);
    }

    #[test]
    fn a_path_may_have_colons_and_blanks() {
        let file = include_bytes!("../../../../test/fixtures/proc/cgroup_hybrid_differing_paths");
        let all: Vec<_> = parse_cgroup(file).collect();
        assert_eq!(all.len(), 4);
        assert!(all[0].has(b"cpuacct") && all[0].has(b"cpu") && !all[0].has(b"cpua"));
        assert_eq!(all[1].path, b"/kubepods/a b:c");
        assert!(all[2].controllers == b"name=systemd" && !all[2].is_v2());
        assert!(all[3].is_v2() && all[3].path == b"/");
    }

    #[test]
    fn a_removed_group_is_told_from_its_path() {
        let one = parse_cgroup(b"0::/agents/main (deleted)\n").next().expect("a line");
        assert_eq!((one.path, one.deleted), (b"/agents/main".as_slice(), true));
    }

    #[test]
    fn what_is_no_membership_is_skipped() {
        assert_eq!(parse_cgroup(b"\n0\n0:\nx::/\n0::\n0::relative\n").count(), 0);
    }
}
