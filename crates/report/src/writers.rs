//! Whether anybody can still write to a file through a descriptor opened earlier.
//!
//! Only the kernel knows. It answers when asked for a read lease (`fcntl(2)`, `F_SETLEASE`), which it gives only while
//! no descriptor anywhere is open to write: it counts those of every process, also of those that we can't see.

use std::fs::File;

/// `true` only where it is sure that no descriptor is open to write. The lease is given back at once.
#[cfg(target_os = "linux")]
pub(crate) fn nobody_writes(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    /// Linux's number for it, on every architecture; the libc crate has none (include/uapi/asm-generic/fcntl.h).
    const F_SETSIG: libc::c_int = 10;
    let ask = |command, argument: libc::c_int| {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and both commands take an int by value.
        #[allow(unsafe_code, reason = "no safe wrapper has these two commands")]
        let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        answer == 0
    };
    // Somebody who opens the file while we have the lease has a signal sent to us: SIGIO, which ends a process that
    // doesn't expect it, unless another was asked for. SIGURG does nothing by default.
    ask(F_SETSIG, libc::SIGURG) && ask(libc::F_SETLEASE, libc::F_RDLCK) && {
        ask(libc::F_SETLEASE, libc::F_UNLCK);
        true
    }
}

/// macOS has no such question.
#[cfg(not(target_os = "linux"))]
pub(crate) fn nobody_writes(_file: &File) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn a_descriptor_open_to_write_is_noticed_wherever_the_name_went() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let writer = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(!nobody_writes(&reader));
        std::fs::rename(&path, folder.path().join("g")).unwrap();
        assert!(!nobody_writes(&reader));
        drop(writer);
        assert!(nobody_writes(&reader));
        // The lease is given back: opening to write doesn't wait.
        OpenOptions::new().append(true).open(folder.path().join("g")).unwrap();
    }
}
