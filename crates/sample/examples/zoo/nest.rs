//! Making processes that tell of themselves and end when the zoo does.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::read;
use rustix::process::{Pid, WaitOptions, getpid, waitpid};

/// This process, as one that makes others. Single-threaded, so that a fork may do anything its parent may.
pub struct Nest {
    /// At its end once the zoo is gone: what processes with nothing to do wait for.
    life: PipeReader,
    /// Only the zoo itself holds it.
    hold: Option<PipeWriter>,
    heard: BufReader<PipeReader>,
    tell: PipeWriter,
}

impl Nest {
    pub fn new() -> io::Result<Nest> {
        let (life, hold) = pipe()?;
        let (heard, tell) = pipe()?;
        Ok(Nest { life, hold: Some(hold), heard: BufReader::new(heard), tell })
    }

    /// Forks. The child runs `body` and ends.
    pub fn fork(&mut self, body: impl FnOnce(&mut Nest) -> io::Result<()>) -> io::Result<Pid> {
        self.fork_by(
            // SAFETY: the process has one thread, so no lock is held by a thread the child lacks.
            || unsafe { libc::fork() },
            body,
        )
    }

    /// Forks a child that gets the pid `pid`, which nobody may have.
    pub fn fork_as(&mut self, pid: Pid, body: impl FnOnce(&mut Nest) -> io::Result<()>) -> io::Result<Pid> {
        let wanted = [pid.as_raw_nonzero().get()];
        let as_number = |value: i32| u64::from(value.unsigned_abs());
        // SAFETY: plain numbers, of which zero is "none" in every field.
        let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
        arguments.exit_signal = as_number(libc::SIGCHLD);
        arguments.set_tid = wanted.as_ptr() as u64;
        arguments.set_tid_size = 1;
        // SAFETY: without a flag or a stack clone3 is fork; the arguments outlive the call. One thread, as in `fork`.
        let clone = || unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of_val(&arguments)) };
        self.fork_by(|| i32::try_from(clone()).unwrap_or(-1), body)
    }

    fn fork_by(
        &mut self,
        fork: impl FnOnce() -> i32,
        body: impl FnOnce(&mut Nest) -> io::Result<()>,
    ) -> io::Result<Pid> {
        let pid = fork();
        if pid == 0 {
            self.hold = None;
            let code = i32::from(body(self).is_err());
            // SAFETY: ends this process without running what its parent registered to run at exit.
            unsafe { libc::_exit(code) }
        }
        Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
    }

    /// Waits until the zoo is gone.
    pub fn wait_for_end(&self) -> io::Result<()> {
        (&self.life).read(&mut [0]).map(drop)
    }

    /// Where the zoo's end can be seen, for a program that is run in place of this one.
    pub fn life(&self) -> &PipeReader {
        &self.life
    }

    /// Tells the zoo of this process, with more members if `more` has some (`,"port":80`).
    pub fn announce(&self, role: &str, more: &str) -> io::Result<()> {
        let line = format!("{{\"pid\":{},\"role\":\"{role}\"{more}}}\n", getpid().as_raw_nonzero());
        // One write: lines of several processes never mix.
        (&self.tell).write_all(line.as_bytes())
    }

    /// Prints what `count` processes told.
    pub fn show_announced(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count {
            let mut line = String::new();
            self.heard.read_line(&mut line)?;
            say(line.trim_end())?;
        }
        Ok(())
    }

    /// Says that the situation is there, once `count` processes have told of themselves.
    pub fn ready(&mut self, count: usize) -> io::Result<()> {
        self.show_announced(count)?;
        say("{\"ready\":true}")
    }

    /// Ends everything, once the input is at its end.
    pub fn end(mut self) -> io::Result<()> {
        while next_command()?.is_some() {}
        self.hold = None;
        while waitpid(None, WaitOptions::empty()).is_ok() {}
        Ok(())
    }
}

/// Waits for a child's end.
pub fn reap(pid: Pid) -> io::Result<()> {
    waitpid(Some(pid), WaitOptions::empty())?;
    Ok(())
}

/// Prints one line, at once.
pub fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The next line of the input, none at its end. Reads a byte at a time, since what a buffer has read `poll` can't see.
pub fn next_command() -> io::Result<Option<String>> {
    let input = io::stdin();
    let mut line = Vec::new();
    let mut byte = [0];
    while read(&input, &mut byte)? == 1 {
        if byte == *b"\n" {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
        line.extend(byte);
    }
    Ok(None)
}

/// Whether there is a command, or the end of the input, within a time.
pub fn command_within(time: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let wait = Timespec::try_from(time).map_err(io::Error::other)?;
    let mut wanted = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    Ok(poll(&mut wanted, Some(&wait))? > 0)
}

/// Runs a situation with one command: `act` each time `command` comes, until the input's end.
pub fn on(command: &str, mut act: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    while let Some(line) = next_command()? {
        if line != command {
            return Err(io::Error::other(format!("no such command: {line}")));
        }
        act()?;
        say("{\"done\":true}")?;
    }
    Ok(())
}
