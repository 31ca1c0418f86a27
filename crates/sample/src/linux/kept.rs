//! Files and counters kept from look to look.

use std::os::fd::AsFd;

use super::file::KernelFile;
use crate::Absent;

/// A kernel file opened when it is first asked for, and anew once a read of it failed: a switched-off controller takes
/// its files away under an open descriptor, and a container's `/proc` may be replaced.
#[derive(Debug)]
pub(super) struct Kept {
    path: &'static str,
    name: &'static str,
    file: Option<KernelFile>,
}

impl Kept {
    pub(super) const fn new(path: &'static str, name: &'static str) -> Kept {
        Kept { path, name, file: None }
    }

    /// Reads it, from below `dir` if it has to be opened.
    pub(super) fn read<'b>(&mut self, dir: impl AsFd, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
        if let Some(file) = &self.file {
            if let Ok(length) = file.read(buffer).map(<[u8]>::len) {
                return Ok(&buffer[..length]);
            }
            self.file = None;
        }
        let file = KernelFile::open(dir, self.path, self.name)?;
        self.file.insert(file).read(buffer)
    }
}

/// A counter that never falls: where the kernel's does, it began anew, and what it had said stays counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counter {
    before: u64,
    last: u64,
}

impl Counter {
    /// Notes what the kernel's counter says now.
    pub(super) fn note(&mut self, now: u64) {
        if self.fell(now) {
            self.began_anew();
        }
        self.last = now;
    }

    /// Whether the kernel's counter began anew, if it says `now` now.
    pub(super) fn fell(self, now: u64) -> bool {
        now < self.last
    }

    /// Notes that the kernel's counter is another one now, however high it stands.
    pub(super) fn began_anew(&mut self) {
        self.before = self.total();
        self.last = 0;
    }

    pub(super) fn total(self) -> u64 {
        self.before.saturating_add(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_fell_counts_on_from_what_it_had() {
        let mut counter = Counter::default();
        let totals = [5, 9, 9, 2, 4, 0, 1].map(|now| {
            counter.note(now);
            counter.total()
        });
        assert_eq!(totals, [5, 9, 9, 11, 13, 13, 14]);
    }
}
