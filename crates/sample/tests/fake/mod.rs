//! A directory tree that stands for a kernel's: text files and links, in a temporary folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

pub struct Tree(TempDir);

impl Tree {
    pub fn new() -> Tree {
        Tree(TempDir::new().expect("a temporary folder"))
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in place: a descriptor of it sees the new text, as it would of the kernel's.
    pub fn write(&self, path: &str, text: &str) -> &Tree {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
        fs::write(path, text).expect("a file");
        self
    }

    pub fn dir(&self, path: &str) -> &Tree {
        fs::create_dir_all(self.root().join(path)).expect("a folder");
        self
    }

    /// A block device, as `sys/dev/block/<number>` links to it.
    pub fn block(&self, number: &str, name: &str, sequence: u64) -> &Tree {
        self.write(&format!("sys/devices/{name}/diskseq"), &format!("{sequence}\n"));
        self.dir(&format!("sys/devices/{name}/slaves")).dir("sys/dev/block");
        symlink(format!("../../devices/{name}"), self.root().join("sys/dev/block").join(number)).expect("a link");
        self
    }
}
