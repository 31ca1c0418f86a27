//! Starting the command as it would have been started without this process: with the words, the descriptors, the limits
//! and the signals it would have had. Node changes some of each as it starts.

#![allow(unsafe_code, reason = "what a child does between fork and exec, and limits, have no safe face")]

use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

/// A variable of the command's environment: set, or taken out of it.
pub type Variable = (String, Option<String>);

/// Starts it with these descriptors, in the groups that these doors lead to.
///
/// # Errors
/// Whatever fork or exec say.
pub(crate) fn spawn(
    words: &[OsString],
    variables: &[Variable],
    descriptors: Vec<RawFd>,
    doors: Vec<RawFd>,
) -> io::Result<Child> {
    let [program, arguments @ ..] = words else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let limit = parents_open_files();
    // SAFETY: between fork and exec the closure only makes system calls that are async-signal-safe, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            for door in &doors {
                // One that stays shut is noticed from outside: then the command has no group.
                libc::write(*door, b"0".as_ptr().cast(), 1);
            }
            for descriptor in &descriptors {
                let flags = libc::fcntl(*descriptor, libc::F_GETFD);
                if flags >= 0 {
                    libc::fcntl(*descriptor, libc::F_SETFD, flags & !libc::FD_CLOEXEC);
                }
            }
            if let Some(limit) = &limit {
                libc::setrlimit(libc::RLIMIT_NOFILE, limit);
            }
            // Node ignores these two, and what is ignored stays so through exec.
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            Ok(())
        });
    }
    command.spawn()
}

/// The command's words as they were given, byte for byte: Node has made text of them. `words` stand where the kernel's own
/// list doesn't end with as many.
pub(crate) fn words_as_given(words: &[String]) -> Vec<OsString> {
    let as_text = || words.iter().map(OsString::from).collect();
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return as_text() };
    let Some(line) = line.strip_suffix(b"\0") else { return as_text() };
    let given: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let Some(last) = given.len().checked_sub(words.len()).and_then(|from| given.get(from..)) else { return as_text() };
    let same = last.iter().zip(words).all(|(bytes, text)| String::from_utf8_lossy(bytes) == text.as_str());
    if same { last.iter().map(|bytes| OsString::from_vec(bytes.to_vec())).collect() } else { as_text() }
}

/// The descriptors this process was started with: all of them Node has marked to be closed at exec, its own among them.
/// The three standard ones, and of the rest what Node has none of: files, sockets, terminals, and single ends of pipes
/// (`diff <(a) <(b)`). Of pipes with both ends here, which libuv has some of, only make's jobserver, which it says of
/// itself. To be asked before anything of this process's own is
/// opened, a server's socket too: those would be the command's as well.
pub fn inherited() -> Vec<RawFd> {
    let standard = vec![0, 1, 2];
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return standard };
    let open: Vec<(RawFd, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, std::fs::read_link(entry.path()).ok()?))
        })
        .collect();
    let jobserver = std::env::var("MAKEFLAGS").map(|flags| parse_jobserver(&flags)).unwrap_or_default();
    let passed = open.iter().filter(|(number, link)| {
        let starts = |start: &str| link.as_os_str().as_encoded_bytes().starts_with(start.as_bytes());
        let both_ends = starts("pipe:") && open.iter().filter(|(_, other)| other == link).count() > 1;
        // The list's own descriptor is a directory of /proc.
        let nodes = starts("anon_inode:") || starts("/proc/") || (both_ends && !jobserver.contains(number));
        *number > 2 && !nodes
    });
    standard.into_iter().chain(passed.map(|(number, _)| *number)).collect()
}

/// The descriptors that make names: `-j --jobserver-auth=3,4` (before 4.2 `--jobserver-fds`).
fn parse_jobserver(flags: &str) -> Vec<RawFd> {
    let said = flags
        .split_whitespace()
        .find_map(|flag| flag.strip_prefix("--jobserver-auth=").or_else(|| flag.strip_prefix("--jobserver-fds=")));
    said.into_iter().flat_map(|pair| pair.split(',')).filter_map(|number| number.parse().ok()).collect()
}

/// The limit of open files as whoever started this process has it: Node raises its own to the most allowed, and a program
/// that closes every descriptor there may be would then take long.
fn parents_open_files() -> Option<libc::rlimit> {
    // Its file and not prlimit(2), which says nothing of other users' processes: root's, where this is run by su or setpriv.
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", std::os::unix::process::parent_id())).ok()?;
    let parents = parse_open_files(&limits)?;
    let mut own = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes a structure that outlives it.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut own) } == 0;
    (read && parents.rlim_max == own.rlim_max).then_some(parents)
}

/// The soft and the hard limit of open files, of `/proc/<pid>/limits`.
fn parse_open_files(limits: &str) -> Option<libc::rlimit> {
    let mut numbers = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace();
    Some(libc::rlimit { rlim_cur: numbers.next()?.parse().ok()?, rlim_max: numbers.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_says_which_descriptors_are_its_jobservers() {
        assert_eq!(parse_jobserver(" -j8 --jobserver-auth=3,4 -- A=b"), [3, 4]);
        assert_eq!(parse_jobserver("w -j --jobserver-fds=5,6"), [5, 6]);
        assert_eq!(parse_jobserver("--jobserver-auth=fifo:/tmp/GMfifo7"), Vec::<RawFd>::new());
        assert_eq!(parse_jobserver(""), Vec::<RawFd>::new());
    }

    #[test]
    fn the_limit_of_open_files_is_told_from_the_others() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax processes 9 9 processes\nMax open files   1024   524288   files \n";
        assert_eq!(parse_open_files(limits).map(|limit| (limit.rlim_cur, limit.rlim_max)), Some((1024, 524_288)));
        assert!(parse_open_files("Max open files unlimited unlimited files\n").is_none());
    }
}
