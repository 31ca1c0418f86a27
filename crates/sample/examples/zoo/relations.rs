//! Who is whose child, and who a process is.

use std::ffi::CString;
use std::io::{self, Read, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process, setsid};

use crate::nest::{Nest, on, reap};
use crate::work::burn_ms;

pub fn double_fork(nest: &mut Nest) -> io::Result<()> {
    let child = nest.fork(|nest| {
        let parent = rustix::process::getpid();
        nest.fork(|nest| {
            until_adopted(parent);
            nest.announce("daemon", "")?;
            nest.wait_for_end()
        })?;
        Ok(())
    })?;
    reap(child)?;
    nest.ready(1)
}

/// Waits until the parent is no longer `parent`.
fn until_adopted(parent: rustix::process::Pid) {
    while rustix::process::getppid() == Some(parent) {
        std::thread::yield_now();
    }
}

pub fn own_session(nest: &mut Nest) -> io::Result<()> {
    nest.fork(|nest| {
        setsid()?;
        nest.announce("leader", "")?;
        nest.wait_for_end()
    })?;
    nest.ready(1)
}

pub fn zombie(nest: &mut Nest) -> io::Result<()> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let zombie = nest.fork(|nest| nest.announce("zombie", ""))?;
    // Waits for its end and leaves it unreaped.
    waitid(WaitId::Pid(zombie), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    nest.ready(1)?;
    on("reap", || reap(zombie))
}

pub fn orphan(nest: &mut Nest) -> io::Result<()> {
    let parent = nest.fork(|nest| {
        nest.fork(|nest| {
            nest.announce("child", "")?;
            nest.wait_for_end()
        })?;
        nest.announce("parent", "")?;
        nest.wait_for_end()
    })?;
    nest.ready(2)?;
    on("orphan", || {
        kill_process(parent, Signal::KILL)?;
        reap(parent)
    })
}

pub fn exec(nest: &mut Nest) -> io::Result<()> {
    let (mut go_read, mut go_write) = pipe()?;
    // Closed by the exec itself: at its end the new program is there.
    let (mut gone_read, gone_write) = pipe()?;
    nest.fork(|nest| {
        nest.announce("before", "")?;
        go_read.read_exact(&mut [0])?;
        let life = nest.life().try_clone()?;
        Err(Command::new("cat").stdin(Stdio::from(life)).stdout(Stdio::null()).exec())
    })?;
    drop(gone_write);
    nest.ready(1)?;
    on("exec", || {
        go_write.write_all(b"x")?;
        gone_read.read(&mut [0]).map(drop)
    })
}

pub fn named(nest: &mut Nest, names: &[&[u8]]) -> io::Result<()> {
    for name in names {
        let name = CString::new(*name)?;
        nest.fork(|nest| {
            rustix::thread::set_name(&name)?;
            nest.announce("named", "")?;
            nest.wait_for_end()
        })?;
        // One after the other, so that the lines come in the order of the arguments.
        nest.show_announced(1)?;
    }
    nest.ready(0)
}

pub fn pid_reuse(nest: &mut Nest) -> io::Result<()> {
    let pid = nest.fork(|nest| {
        burn_ms(50);
        nest.announce("first", "")?;
        nest.wait_for_end()
    })?;
    nest.ready(1)?;
    on("reuse", || {
        kill_process(pid, Signal::KILL)?;
        reap(pid)?;
        nest.fork_as(pid, |nest| {
            nest.announce("second", "")?;
            nest.wait_for_end()
        })?;
        nest.show_announced(1)
    })
}
