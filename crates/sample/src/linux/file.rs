//! Kernel files: opened once, read again and again from their start.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, pread};

use crate::Absent;

/// A kernel file kept open. What is read is always its state at the read, from the first byte to the last.
///
/// A kept descriptor of a process's or control group's file never reads a successor of the same number or name: once
/// what it was opened of is gone, every read fails.
#[derive(Debug)]
pub struct KernelFile {
    fd: OwnedFd,
    name: &'static str,
}

/// How much of a kernel file is ever read. The largest real one here, a machine's `/proc/net/tcp`, stays below.
const LONGEST: usize = 16 << 20;

impl KernelFile {
    /// Opens `path` below `dir`. `name` is what errors call it.
    ///
    /// # Errors
    /// Whatever `openat` says.
    pub fn open(dir: impl AsFd, path: &str, name: &'static str) -> Result<KernelFile, Absent> {
        // Not blocking: a test's root, or a file somebody put over one of the kernel's, may be a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let fd = openat(dir, path, flags, Mode::empty()).map_err(|errno| Absent::failed(name, errno))?;
        Ok(KernelFile { fd, name })
    }

    /// Reads the whole file into `buffer`, which keeps its allocation from read to read.
    ///
    /// # Errors
    /// Whatever `pread` says; [`Why::Invalid`](crate::Why::Invalid) past 16 MiB.
    pub fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
        self.read_until(buffer, false)
    }

    /// Reads a file of one record, which the kernel gives whole in one read: saves the read that would see the end.
    ///
    /// # Errors
    /// As [`KernelFile::read`].
    pub fn read_record<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
        self.read_until(buffer, true)
    }

    fn read_until<'b>(&self, buffer: &'b mut Vec<u8>, one_read: bool) -> Result<&'b [u8], Absent> {
        if buffer.len() < 4096 {
            buffer.resize(4096, 0);
        }
        let mut filled = 0;
        loop {
            match pread(&self.fd, &mut buffer[filled..], filled as u64) {
                Ok(0) => return Ok(&buffer[..filled]),
                Ok(read) => {
                    filled += read;
                    // A short read is the end only of a file of one record; elsewhere the kernel stops where it likes.
                    if one_read && filled < buffer.len() {
                        return Ok(&buffer[..filled]);
                    }
                    if filled == buffer.len() {
                        if filled >= LONGEST {
                            return Err(Absent::invalid(self.name, "end within 16 MiB"));
                        }
                        buffer.resize(filled * 2, 0);
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Absent::failed(self.name, errno)),
            }
        }
    }

    /// The descriptor, for what is neither read nor parsed here.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

/// Opens a directory to look things up below: it costs one open and no read.
///
/// # Errors
/// Whatever `openat` says.
pub fn open_dir(dir: impl AsFd, path: &str, name: &'static str) -> Result<OwnedFd, Absent> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(dir, path, flags, Mode::empty()).map_err(|errno| Absent::failed(name, errno))
}
