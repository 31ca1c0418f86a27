//! How many processes were started, by the kernel's own word for each: its process connector, which tells root alone (and
//! since Linux 6.6 others of their own), and only outside of containers.

#![allow(unsafe_code, reason = "poll, and a socket's buffer past the limit, have no safe face here")]

use std::collections::HashSet;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use lnk_sample::{Absent, Why};
use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with};

const CONNECTOR_NAME: &str = "proc connector";
/// `CN_IDX_PROC` and `CN_VAL_PROC` (linux/connector.h).
const PROC: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`.
const LISTEN: u32 = 1;
/// `PROC_EVENT_FORK` and `PROC_EVENT_EXIT` (`linux/cn_proc.h`).
const FORK: u32 = 1;
const EXIT: u32 = 0x8000_0000;
/// A netlink heading, and a connector message's after it.
const EVENT_AT: usize = 16 + 20;
/// Where in an event what it tells begins: after what, CPU and time.
const DATA_AT: usize = EVENT_AT + 16;
/// Some 100,000 events: the machine's other programs' too.
const BUFFER_BYTES: libc::c_int = 8 << 20;

/// How long events are let come together.
const TOGETHER_MS: libc::c_int = 20;

/// Listens from before the command starts until it has ended.
#[derive(Debug)]
pub(crate) struct Forks {
    /// The main process, once it is known.
    main: Arc<AtomicU32>,
    /// Closed to end listening.
    end: PipeWriter,
    thread: JoinHandle<Counted>,
}

/// What was told so far.
#[derive(Debug, Default)]
struct Counted {
    /// As it came, until it is known whose matter.
    early: Vec<(u32, u32)>,
    alive: HashSet<u32>,
    started: u64,
    lost: bool,
}

impl Forks {
    /// Begins to listen.
    ///
    /// # Errors
    /// The kernel doesn't let this process.
    pub(crate) fn listen() -> Result<Forks, Absent> {
        if is_contained() {
            return Err(Absent::new(Why::Unsupported, CONNECTOR_NAME, "tells nothing in a container"));
        }
        let socket = open()?;
        let failed = |error: std::io::Error| Absent::new(Why::Invalid, CONNECTOR_NAME, error.to_string());
        let (ended, end) = std::io::pipe().map_err(failed)?;
        let main = Arc::new(AtomicU32::new(0));
        let known = Arc::clone(&main);
        let thread = std::thread::Builder::new().name("lnk-forks".into());
        let thread = thread.spawn(move || read_until(&socket, &ended, &known)).map_err(failed)?;
        Ok(Forks { main, end, thread })
    }

    /// Names the main process.
    pub(crate) fn of(&self, main: u32) {
        self.main.store(main, Ordering::SeqCst);
    }

    /// Ends listening: how many processes there were, the main one and all its descendants.
    ///
    /// # Errors
    /// [`Why::Unsupported`] where nothing was told, as in a container; [`Why::Invalid`] where some of it was lost.
    pub(crate) fn count(self) -> Result<u64, Absent> {
        drop(self.end);
        let absent = |why, detail| Absent::new(why, CONNECTOR_NAME, detail);
        let counted = self.thread.join().map_err(|_| absent(Why::Invalid, "the thread that read it panicked"))?;
        if counted.lost {
            return Err(absent(Why::Invalid, "told of more than could be read"));
        }
        if counted.started == 0 {
            return Err(absent(Why::Unsupported, "tells this process nothing"));
        }
        Ok(counted.started)
    }
}

impl Counted {
    /// Notes a process that was started, with its parent, or with 0 one that ended; `main` is 0 while it isn't known.
    fn note(&mut self, event: (u32, u32), main: u32) {
        if main == 0 {
            self.early.push(event);
            return;
        }
        self.note_early(main);
        self.add(event, main);
    }

    fn note_early(&mut self, main: u32) {
        for event in std::mem::take(&mut self.early) {
            self.add(event, main);
        }
    }

    fn add(&mut self, (parent, child): (u32, u32), main: u32) {
        // A number is given out again: the main process is the first that has it.
        let is_main = child == main && self.started == 0;
        if child == 0 {
            self.alive.remove(&parent);
        } else if is_main || self.alive.contains(&parent) {
            self.alive.insert(child);
            self.started += 1;
        }
    }
}

/// Whether this process is in another name space of processes than the kernel's own first one, by whose numbers everything
/// is told. That one's own number is fixed (`PROC_PID_INIT_INO` in `linux/proc_ns.h`).
fn is_contained() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() != "pid:[4026531836]")
}

fn open() -> Result<OwnedFd, Absent> {
    let failed = |errno: Errno| Absent::failed(CONNECTOR_NAME, errno);
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(CONNECTOR)).map_err(failed)?;
    // SAFETY: the option's value outlives the call. Without the right to pass the limit the buffer stays small.
    unsafe {
        let size = std::ptr::from_ref(&BUFFER_BYTES).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size, 4);
    }
    bind(&socket, &SocketAddrNetlink::new(0, PROC)).map_err(failed)?;
    send(&socket, &question(), SendFlags::empty()).map_err(failed)?;
    Ok(socket)
}

/// A netlink message that holds a connector message that asks to be told.
fn question() -> [u8; 40] {
    let mut message = [0_u8; 40];
    message[..4].copy_from_slice(&40_u32.to_ne_bytes());
    // NLMSG_DONE.
    message[4..6].copy_from_slice(&3_u16.to_ne_bytes());
    message[16..20].copy_from_slice(&PROC.to_ne_bytes());
    message[20..24].copy_from_slice(&PROC.to_ne_bytes());
    message[32..34].copy_from_slice(&4_u16.to_ne_bytes());
    message[36..40].copy_from_slice(&LISTEN.to_ne_bytes());
    message
}

/// Reads until it is to end, and then what has come by then.
fn read_until(socket: &OwnedFd, ended: &PipeReader, main: &AtomicU32) -> Counted {
    let mut counted = Counted::default();
    let mut buffer = [0_u8; 4096];
    let mut is_last = false;
    loop {
        match recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((_, length)) => {
                if let Some(event) = event_of(&buffer[..length.min(buffer.len())]) {
                    counted.note(event, main.load(Ordering::SeqCst));
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if is_last => {
                counted.note_early(main.load(Ordering::SeqCst));
                return counted;
            }
            Err(Errno::AGAIN) => is_last = wait(socket, ended),
            // ENOBUFS among them.
            Err(_) => return Counted { lost: true, ..counted },
        }
    }
}

/// Waits for the next event, and then a little for those that come with it: one wake for each would take a fifth of what a
/// short process itself does. Whether it is to end.
fn wait(socket: &OwnedFd, ended: &PipeReader) -> bool {
    let asked = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [asked(ended.as_raw_fd()), asked(socket.as_raw_fd())];
    // SAFETY: both entries outlive the calls, the second of which is given the first alone.
    unsafe {
        libc::poll(both.as_mut_ptr(), 2, -1);
        if both[0].revents == 0 {
            libc::poll(both.as_mut_ptr(), 1, TOGETHER_MS);
        }
    }
    both[0].revents != 0
}

/// A process that was started, with its parent; or with 0 one that ended. Threads are neither.
fn event_of(message: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    match word(EVENT_AT)? {
        FORK => {
            let (parent, pid, child) = (word(DATA_AT + 4)?, word(DATA_AT + 8)?, word(DATA_AT + 12)?);
            (pid == child).then_some((parent, child))
        }
        EXIT => {
            let (pid, process) = (word(DATA_AT)?, word(DATA_AT + 4)?);
            (pid == process).then_some((process, 0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descendants_are_counted_whoever_had_their_numbers_before_or_has_them_after() {
        // 7 had a child before it was ours; 9's number is given to somebody else's child once it has ended.
        let events = [(7, 8), (1, 7), (7, 9), (8, 20), (9, 10), (9, 0), (1, 9), (9, 11), (10, 12), (1, 7), (1, 13)];
        let started = |main, known_from: usize| {
            let mut counted = Counted::default();
            for (at, event) in events.into_iter().enumerate() {
                counted.note(event, if at < known_from { 0 } else { main });
            }
            counted.note_early(main);
            counted.started
        };
        assert_eq!((started(7, 0), started(7, 5), started(7, 11)), (4, 4, 4));
        assert_eq!(started(99, 3), 0);
    }
}
