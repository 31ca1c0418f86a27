//! Whether `/proc` hides other users' processes from this one: its mount option `hidepid` (proc(5)).

use std::path::Path;

use rustix::fs::CWD;

use super::file::KernelFile;
use crate::parse::mountinfo::parse_mountinfo;
use crate::{Absent, Why};

/// The reason why the list of processes is not the machine's, if it isn't. The option alone doesn't say: root, and who
/// is in the mount's group, sees all the same. The first process, which is root's, tells.
pub fn read_hidden(root: &Path) -> Option<Absent> {
    let proc = root.join("proc");
    let mut buffer = Vec::new();
    let mounts = open(&proc, "self/mountinfo")?;
    let hides = hides(mounts.read(&mut buffer).ok()?);
    (hides && open(&proc, "1/stat").is_none())
        .then(|| Absent::new(Why::Hidden, "/proc", "is mounted with hidepid: it shows this user's own processes only"))
}

fn open(proc: &Path, file: &str) -> Option<KernelFile> {
    KernelFile::open(CWD, proc.join(file).to_str()?, "/proc").ok()
}

/// Whether the last mount of `/proc` has the option, and not the value it has where it's left out.
fn hides(mountinfo: &[u8]) -> bool {
    let last =
        parse_mountinfo(mountinfo).filter(|mount| mount.fs_type == b"proc" && mount.mount_point == b"/proc").last();
    let value = last.as_ref().and_then(|mount| mount.value(b"hidepid="));
    value.is_some_and(|value| value != b"0" && value != b"off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_where_proc_is_mounted_last() {
        let mount =
            |point: &str, options: &str| format!("22 1 0:21 / {point} rw,nosuid shared:2 - proc proc {options}\n");
        for (options, hidden) in [
            ("rw", false),
            ("rw,hidepid=0", false),
            ("rw,hidepid=off", false),
            ("rw,gid=4,hidepid=2", true),
            ("rw,hidepid=invisible", true),
            ("rw,hidepid=noaccess", true),
            ("rw,hidepid=ptraceable,subset=pid", true),
        ] {
            assert_eq!(hides(mount("/proc", options).as_bytes()), hidden, "{options}");
            let over = mount("/proc", "rw,hidepid=2") + &mount("/proc", options);
            assert_eq!(hides(over.as_bytes()), hidden, "{options}, over another");
        }
        assert!(!hides((mount("/proc", "rw") + &mount("/chroot/proc", "rw,hidepid=2")).as_bytes()));
    }
}
