//! TCP ports that are listened on: by netlink, which is asked for listening sockets alone, else by `/proc/net/tcp`, which
//! walks every connection's table and takes a hundred times as long.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, openat, readlinkat_raw, statat};
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, socket_with};

use super::file::{KernelFile, open_dir};
use crate::parse::number;
use crate::parse::proctcp::{TcpListener, parse_proc_tcp};
use crate::parse::sockdiag::{Body, DiagListener, parse_messages};
use crate::{Absent, Why};

const DIAG: &str = "sock_diag";
const TCP: &str = "/proc/<pid>/net/tcp";
const FDS: &str = "/proc/<pid>/fd";

/// The families of Internet addresses, 4 and 6, by the kernel's numbers.
const FAMILIES: [u8; 2] = [2, 10];

/// How long the kernel may take over an answer, which is made at once.
const DEADLINE: Duration = Duration::from_secs(1);

/// One socket that listens. Several may have one port: of either family, of several addresses, or shared on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listening {
    /// Its port.
    pub port: u16,
    /// Its inode: who has it open says [`held_sockets`].
    pub inode: u64,
    /// The inode of the version 2 group its maker was in when it was made: a socket that was handed over keeps it.
    /// `None` before Linux 5.8, and where the kernel was asked through `/proc`.
    pub cgroup_id: Option<u64>,
    /// The user it belongs to.
    pub uid: u32,
}

/// The sockets that listen in our network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listeners {
    /// Each socket once, sorted.
    pub sockets: Vec<Listening>,
    /// Why netlink couldn't be asked, and `/proc` was.
    pub without_diag: Option<Absent>,
}

/// Asks for listening sockets, over one netlink socket.
#[derive(Debug)]
pub struct PortsReader {
    proc_dir: OwnedFd,
    socket: Option<OwnedFd>,
    sequence: u32,
    buffer: Vec<u8>,
}

impl PortsReader {
    /// Opens `proc` below `root`: `/`, or what stands for it in a test.
    ///
    /// # Errors
    /// Whatever opening says.
    pub fn open(root: &Path) -> Result<PortsReader, Absent> {
        Ok(PortsReader { proc_dir: open_proc(root)?, socket: None, sequence: 0, buffer: Vec::new() })
    }

    /// Reads the listening sockets of our own network namespace.
    ///
    /// # Errors
    /// If neither netlink nor `/proc` has them.
    pub fn read(&mut self) -> Result<Listeners, Absent> {
        match self.ask_both() {
            Ok(sockets) => Ok(Listeners { sockets: sorted(sockets), without_diag: None }),
            Err(absent) => {
                // What was left in it would answer the next question.
                self.socket = None;
                let sockets = read_proc_tcp(&self.proc_dir, "self", &mut self.buffer)?;
                Ok(Listeners { sockets: sorted(sockets), without_diag: Some(absent) })
            }
        }
    }

    /// Reads the listening sockets of the network namespace `pid` is in, which needs no privilege.
    ///
    /// # Errors
    /// [`Why::Gone`] if the process is.
    pub fn read_of(&mut self, pid: u32) -> Result<Vec<Listening>, Absent> {
        read_proc_tcp(&self.proc_dir, &pid.to_string(), &mut self.buffer).map(sorted)
    }

    fn ask_both(&mut self) -> Result<Vec<Listening>, Absent> {
        let mut sockets = Vec::new();
        for family in FAMILIES {
            match self.ask(family, &mut sockets) {
                // A machine with version 6 switched off.
                Err(absent) if family != FAMILIES[0] && absent.why == Why::Unsupported => {}
                result => result?,
            }
        }
        Ok(sockets)
    }

    fn ask(&mut self, family: u8, sockets: &mut Vec<Listening>) -> Result<(), Absent> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => open_diag()?,
        };
        let socket = self.socket.insert(socket);
        let found = sockets.len();
        // A list that changed while it was made may lack a socket; one that changes at every try is taken as it is.
        for _ in 0..3 {
            sockets.truncate(found);
            self.sequence = self.sequence.wrapping_add(1);
            send_question(socket, family, self.sequence)?;
            if !receive(socket, self.sequence, &mut self.buffer, sockets)? {
                break;
            }
        }
        Ok(())
    }
}

fn open_proc(root: &Path) -> Result<OwnedFd, Absent> {
    let path = root.join("proc");
    open_dir(CWD, path.to_str().ok_or_else(|| Absent::invalid("/proc", "path in UTF-8"))?, "/proc")
}

fn failed(errno: Errno) -> Absent {
    match errno {
        // What a receive that took too long says.
        Errno::AGAIN => Absent::new(Why::Timeout, DIAG, "didn't answer"),
        // The kernel was built, or runs, without it.
        Errno::NOENT => Absent::new(Why::Unsupported, DIAG, "is not in this kernel"),
        errno => Absent::failed(DIAG, errno),
    }
}

fn open_diag() -> Result<OwnedFd, Absent> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG));
    let socket = socket.map_err(failed)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(DEADLINE)).map_err(failed)?;
    Ok(socket)
}

/// Asks for one family's listening TCP sockets: `inet_diag_req_v2`, behind a netlink heading.
fn send_question(socket: &OwnedFd, family: u8, sequence: u32) -> Result<(), Absent> {
    let mut question = [0_u8; 72];
    question[..4].copy_from_slice(&72_u32.to_ne_bytes());
    // SOCK_DIAG_BY_FAMILY; NLM_F_REQUEST and NLM_F_DUMP.
    question[4..6].copy_from_slice(&20_u16.to_ne_bytes());
    question[6..8].copy_from_slice(&0x301_u16.to_ne_bytes());
    question[8..12].copy_from_slice(&sequence.to_ne_bytes());
    question[16] = family;
    // IPPROTO_TCP, and of its states TCP_LISTEN alone.
    question[17] = 6;
    question[20..24].copy_from_slice(&(1_u32 << 10).to_ne_bytes());
    sendto(socket, &question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map_err(failed)?;
    Ok(())
}

/// Takes in one answer. Says whether the list changed while it was made.
fn receive(
    socket: &OwnedFd,
    sequence: u32,
    buffer: &mut Vec<u8>,
    sockets: &mut Vec<Listening>,
) -> Result<bool, Absent> {
    // The kernel never makes a datagram of a list longer than this.
    buffer.resize(buffer.len().max(32 << 10), 0);
    let mut changed = false;
    loop {
        let (length, sender) = match recvfrom(socket, &mut buffer[..], RecvFlags::TRUNC) {
            Ok((_, length, sender)) => (length, sender),
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        // Any process may send to a netlink socket; the kernel's own number is 0.
        if !sender.is_some_and(|sender| SocketAddrNetlink::try_from(sender).is_ok_and(|sender| sender.pid() == 0)) {
            continue;
        }
        let datagram = buffer.get(..length).ok_or_else(|| Absent::invalid(DIAG, "datagram within 32 KiB"))?;
        for message in parse_messages(datagram).filter(|message| message.sequence == sequence) {
            changed |= message.changed;
            match message.body {
                Body::Listener(listener) => sockets.push(listener.into()),
                Body::Done => return Ok(changed),
                Body::Failed(errno @ 1..4096) => return Err(failed(Errno::from_raw_os_error(errno))),
                Body::Failed(_) => return Err(Absent::invalid(DIAG, "reason for its failure")),
                Body::Other => {}
            }
        }
    }
}

impl From<DiagListener> for Listening {
    fn from(listener: DiagListener) -> Listening {
        let DiagListener { port, inode, uid, cgroup_id, .. } = listener;
        Listening { port, inode, cgroup_id, uid }
    }
}

fn sorted(mut sockets: Vec<Listening>) -> Vec<Listening> {
    sockets.sort_unstable();
    sockets.dedup();
    sockets
}

fn read_proc_tcp(proc_dir: impl AsFd, pid: &str, buffer: &mut Vec<u8>) -> Result<Vec<Listening>, Absent> {
    let mut sockets = Vec::new();
    let mut read = |file: &str| {
        let text = KernelFile::open(&proc_dir, &format!("{pid}/net/{file}"), TCP)?.read(buffer)?;
        let listening = |TcpListener { port, uid, inode }| Listening { port, inode, cgroup_id: None, uid };
        sockets.extend(parse_proc_tcp(text).map(listening));
        Ok(())
    };
    read("tcp")?;
    match read("tcp6") {
        // A machine with version 6 switched off.
        Err(Absent { why: Why::Gone, .. }) => {}
        result => result?,
    }
    Ok(sockets)
}

/// The inode of the network namespace `pid` is in: ours is that of our own process. `root` as in [`PortsReader::open`].
///
/// # Errors
/// [`Why::Denied`] of other users' processes.
pub fn network_namespace(root: &Path, pid: u32) -> Result<u64, Absent> {
    let stat = statat(open_proc(root)?, format!("{pid}/ns/net"), AtFlags::empty());
    stat.map(|stat| stat.st_ino).map_err(|errno| Absent::failed("/proc/<pid>/ns/net", errno))
}

/// The sockets a process has open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldSockets {
    /// Their inodes, sorted, each once.
    pub inodes: Vec<u64>,
    /// How many of its descriptors the kernel won't tell of.
    pub denied: u32,
}

/// Looks through every descriptor of a process, 4 µs each: only worth it of an agent's process, and after the listening
/// inodes changed.
///
/// # Errors
/// [`Why::Denied`] of other users' processes; [`Why::Gone`] if it is.
pub fn held_sockets(root: &Path, pid: u32) -> Result<HeldSockets, Absent> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(open_proc(root)?, format!("{pid}/fd"), flags, Mode::empty());
    let dir = dir.map_err(|errno| Absent::failed(FDS, errno))?;
    let mut held = HeldSockets::default();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(Absent::failed(FDS, errno)),
        };
        // Long enough for a socket's; a path's is cut, and isn't one.
        let mut link = [0_u8; 64];
        match readlinkat_raw(&dir, entry.file_name(), &mut link[..]) {
            Ok(length) => held.inodes.extend(socket_inode(&link[..length])),
            Err(Errno::ACCESS | Errno::PERM) => held.denied += 1,
            // Closed meanwhile; "." and ".." are no links.
            Err(_) => {}
        }
    }
    held.inodes.sort_unstable();
    held.inodes.dedup();
    Ok(held)
}

/// `socket:[123]`.
fn socket_inode(link: &[u8]) -> Option<u64> {
    number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn without_netlink_the_slow_way_finds_the_same_and_the_next_look_asks_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        let mut reader = PortsReader::open(Path::new("/")).expect("a reader");
        let found = |listeners: &Listeners| {
            let sockets = listeners.sockets.iter().filter(|socket| socket.port == port);
            sockets.map(|socket| socket.inode).collect::<Vec<_>>()
        };
        let quick = reader.read().expect("a list");
        assert_eq!(quick.without_diag, None);
        // A netlink family whose kernel side isn't there, as that of sock_diag may not be.
        let absent = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(rustix::net::netlink::USERSOCK),
        );
        reader.socket = Some(absent.expect("a socket"));
        let slow = reader.read().expect("a list");
        assert_eq!(slow.without_diag.as_ref().map(|absent| absent.file), Some(DIAG));
        assert_eq!((found(&slow).len(), found(&slow)), (1, found(&quick)));
        assert_eq!(reader.read().expect("a list").without_diag, None);
    }

    #[test]
    fn only_links_to_sockets_are_sockets() {
        assert_eq!(socket_inode(b"socket:[123]"), Some(123));
        for link in [b"socket:[]".as_slice(), b"socket:[1", b"pipe:[1]", b"/socket:[1]", b""] {
            assert_eq!(socket_inode(link), None);
        }
    }
}
