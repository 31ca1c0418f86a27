//! Control groups made for a test, and removed after it.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod loud;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A group made for one test, with the children in it and every group below; all gone when it is dropped.
pub struct Made {
    pub dir: PathBuf,
    pub children: Vec<Child>,
}

impl Made {
    /// Makes a group below the mount of a hierarchy. `None`, said loudly, where this user can't.
    pub fn new(mounted: &str, test: &str) -> Option<Made> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let point = mounts.lines().find(|line| line.contains(mounted)).and_then(|line| line.split(' ').nth(4));
        let Some(point) = point else {
            loud::not_tested(&format!("{test}: no control groups with{mounted}here"));
            return None;
        };
        let dir = Path::new(point).join(format!("lnk test:{}-{test}", std::process::id()));
        match fs::create_dir(&dir) {
            Ok(()) => Some(Made { dir, children: Vec::new() }),
            Err(error) => {
                loud::not_tested(&format!("{test}: a control group can't be made here: {error}"));
                None
            }
        }
    }

    pub fn v2(test: &str) -> Option<Made> {
        Made::new(" - cgroup2 ", test)
    }

    /// Its path as the kernel says it.
    pub fn path(&self) -> Vec<u8> {
        format!("/{}", self.dir.file_name().expect("a name").to_str().expect("text")).into_bytes()
    }

    /// Starts a shell that waits for its input to end, and puts it into the group at `below`.
    pub fn child(&mut self, below: &str, then: &str) -> u32 {
        let dir = self.dir.join(below);
        fs::create_dir_all(&dir).expect("a group below");
        let command = format!("read line; {then}");
        let child = Command::new("sh").args(["-c", &command]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.expect("a shell");
        let pid = child.id();
        fs::write(dir.join("cgroup.procs"), pid.to_string()).expect("the child to move");
        self.children.push(child);
        pid
    }

    pub fn end_children(&mut self) {
        for mut child in self.children.drain(..) {
            drop(child.kill());
            child.wait().expect("its end");
        }
    }

    /// Lets every child go on, and waits for it.
    pub fn finish_children(&mut self) {
        for mut child in self.children.drain(..) {
            drop(child.stdin.take());
            child.wait().expect("its end");
        }
    }

    pub fn remove(&self) {
        remove_groups(&self.dir);
    }
}

/// Removes a group and those below. A process that was reaped may hold its group for a moment.
pub fn remove_groups(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        remove_groups(&entry.path());
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::remove_dir(dir).is_err() && dir.exists() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(!dir.exists(), "{} stayed behind", dir.display());
}

impl Drop for Made {
    fn drop(&mut self) {
        self.end_children();
        self.remove();
    }
}
