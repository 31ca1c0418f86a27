//! Real process situations, for tests to look at from outside.
//!
//! `zoo SITUATION [ARGUMENT]...` makes it, says on its standard output which processes are in it, one JSON line each
//! (`{"pid":7,"role":"child"}`), then `{"ready":true}`. From then on each line on its standard input is a command of
//! the situation, answered by the lines it makes and one with `"done"`. At the end of its input it ends all it made.
//! What it made ends with it too, however it ends.
//!
//! | situation | what is there at `ready` | commands |
//! |---|---|---|
//! | `double-fork` | `daemon`: its parent ended, its parent is now init | |
//! | `setsid` | `leader`: a session of its own | |
//! | `zombie` | `zombie`: ended, not waited for | `reap` |
//! | `orphan` | `parent` and its `child` | `orphan`: the parent ends |
//! | `exec` | `before`: this program | `exec`: it becomes `cat`, with the same pid |
//! | `named BYTES...` | a `named` each, with these bytes as its name (15 at most) | |
//! | `pid-reuse` | `first`, having used some 50 ms of CPU | `reuse`: it ends, and a `second` of the same pid starts (as root) |
//! | `unreaped MS` | nothing: this process ignores SIGCHLD | `burn`: a child uses MS of CPU and ends; its time is nobody's |
//! | `short-lived PER_SECOND` | children that use 1 ms each, coming all the time | `stop`: tells how many, and their CPU time |
//! | `churn COUNT SECONDS` | COUNT children that live 10 to 200 ms each, replaced as they end, for that long | `join`: waits for the last |
//! | `shared-memory MIB` | this process and two `sharer`s, all three mapping the same MIB of touched 4 KiB pages | |
//! | `disk FILE MIB` | `writer`, waiting | `go`: it writes the file, syncs it, reads it from the disk and ends |
//! | `listen KIND:PORT...` | a `KIND` each with its port (0: any): `v4`, `v6` (of both families), `v6-only`, `reuse-port` (two holders, a socket each), `inherited` (two holders of one socket) | |

#![allow(unsafe_code, reason = "forks, and switches of this process that no safe library has")]

#[cfg(target_os = "linux")]
mod nest;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod relations;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;

    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<&[u8]> = arguments.iter().map(|word| word.as_bytes()).collect();
    let mut nest = nest::Nest::new()?;
    match words.as_slice() {
        [b"double-fork"] => relations::double_fork(&mut nest),
        [b"setsid"] => relations::own_session(&mut nest),
        [b"zombie"] => relations::zombie(&mut nest),
        [b"orphan"] => relations::orphan(&mut nest),
        [b"exec"] => relations::exec(&mut nest),
        [b"named", names @ ..] => relations::named(&mut nest, names),
        [b"pid-reuse"] => relations::pid_reuse(&mut nest),
        [b"unreaped", ms] => work::unreaped(&mut nest, number(ms)?),
        [b"short-lived", per_second] => work::short_lived(&mut nest, number(per_second)?),
        [b"churn", count, seconds] => work::churn(&mut nest, number(count)?, number(seconds)?),
        [b"shared-memory", mib] => work::shared_memory(&mut nest, number(mib)?),
        [b"disk", file, mib] => work::disk(&mut nest, file, number(mib)?),
        [b"listen", sockets @ ..] => ports::listen(&mut nest, sockets),
        _ => Err(std::io::Error::other("no such situation: they are listed at the top of this program's source")),
    }?;
    nest.end()
}

#[cfg(target_os = "linux")]
fn number<N: std::str::FromStr>(word: &[u8]) -> std::io::Result<N> {
    let number = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    number.ok_or_else(|| std::io::Error::other("not a number"))
}

#[cfg(not(target_os = "linux"))]
fn main() {}
