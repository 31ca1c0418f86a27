//! Asking the user's own systemd for a scope, where this process may make no group below its own: in a session of a
//! login, whose group is root's.
//!
//! This process asks for itself to be put in a scope of its own that is delegated to the user, as `systemd-run --user
//! --scope` has it; the command's group is then made below that like below any other. So the command is started by the
//! very process that was asked to run it, with its terminal, signals and exit code, and the scope stays until this process
//! has read what the group counted: one without processes is removed by the manager at once.
//!
//! Asked in D-Bus's words on the manager's private socket, the one that `systemctl --user` uses: where there is no bus of
//! the user's it is there all the same, and no program need be started.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lnk_sample::linux::cgroup::v2_path;
use lnk_sample::{Absent, Why};

const MANAGER: &str = "user manager";

/// How long all of it may take: somebody waits for the command to start.
const PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(1);

/// The longest answer that is read.
const LONGEST_ANSWER: u32 = 64 << 10;

const CALL: u8 = 1;
const RETURN: u8 = 2;
const ERROR: u8 = 3;

/// Puts this process in a new scope of this name, without `.scope`.
///
/// # Errors
/// Why it isn't in one: there is no manager, it refuses, or it takes too long.
pub(crate) fn enter_scope(name: &str) -> Result<(), Absent> {
    let scope = format!("{name}.scope");
    let until = Instant::now() + PATIENCE;
    let socket = connect(until).map_err(|error| Absent::new(Why::Unsupported, MANAGER, error.to_string()))?;
    ask(socket, &scope).map_err(|error| Absent::new(Why::Denied, MANAGER, error.to_string()))?;
    // The answer says that it is being done.
    while !is_in(&scope) {
        if Instant::now() >= until {
            return Err(Absent::new(Why::Timeout, MANAGER, "made no scope in time"));
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}

fn is_in(scope: &str) -> bool {
    v2_path(Path::new("/"), std::process::id())
        .is_ok_and(|path| path.rsplit(|byte| *byte == b'/').next() == Some(scope.as_bytes()))
}

fn connect(until: Instant) -> io::Result<UnixStream> {
    let user = rustix::process::geteuid();
    // Where nobody says, as after `su`, it is where logind has it.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map_or_else(|| PathBuf::from(format!("/run/user/{}", user.as_raw())), PathBuf::from);
    let socket = UnixStream::connect(runtime.join("systemd/private"))?;
    let left = until.saturating_duration_since(Instant::now()).max(STEP);
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))?;
    Ok(socket)
}

/// Says who this is, asks, and reads the answer.
fn ask(mut socket: UnixStream, scope: &str) -> io::Result<()> {
    // The user's number as text, and that as the hexadecimal numbers of its digits (SASL EXTERNAL, D-Bus specification).
    let user = rustix::process::geteuid().as_raw().to_string();
    let user: String = user.chars().flat_map(|digit| ['3', digit]).collect();
    socket.write_all(format!("\0AUTH EXTERNAL {user}\r\nBEGIN\r\n").as_bytes())?;
    socket.write_all(&start_scope(scope, std::process::id()))?;
    read_line(&mut socket)?;
    loop {
        let mut head = [0_u8; 16];
        socket.read_exact(&mut head)?;
        let (kind, rest) = parse_head(&head).ok_or_else(|| io::Error::other("answered what is no D-Bus"))?;
        let mut text = vec![0; rest];
        socket.read_exact(&mut text)?;
        match kind {
            RETURN => return Ok(()),
            ERROR => return Err(io::Error::other("refuses to make a scope")),
            // A signal, which is for others.
            _ => {}
        }
    }
}

/// The answer to who this is: `OK` and a number, or `REJECTED`.
fn read_line(socket: &mut UnixStream) -> io::Result<()> {
    let mut line = Vec::new();
    let mut byte = [0_u8; 1];
    while !line.ends_with(b"\r\n") {
        socket.read_exact(&mut byte)?;
        line.push(byte[0]);
        if line.len() > 256 {
            break;
        }
    }
    if line.starts_with(b"OK ") { Ok(()) } else { Err(io::Error::other("doesn't take this user for its own")) }
}

/// What a message is, and how many bytes come after its first 16: the rest of its heading, to a multiple of eight, and its
/// body.
fn parse_head(head: &[u8; 16]) -> Option<(u8, usize)> {
    let word = |at: usize| -> Option<u32> {
        let bytes = head.get(at..at + 4)?.try_into().ok()?;
        match head[0] {
            b'l' => Some(u32::from_le_bytes(bytes)),
            b'B' => Some(u32::from_be_bytes(bytes)),
            _ => None,
        }
    };
    let (body, fields) = (word(4)?, word(12)?);
    let fits = body <= LONGEST_ANSWER && fields <= LONGEST_ANSWER;
    fits.then(|| (head[1], (fields as usize).next_multiple_of(8) + body as usize))
}

/// A call of `StartTransientUnit(name, mode, properties, other units)`, signature `ssa(sv)a(sa(sv))`.
fn start_scope(scope: &str, pid: u32) -> Vec<u8> {
    let mut body = Message::default();
    body.text(scope);
    body.text("fail");
    body.array(8, |properties| {
        properties.property("PIDs", "au", |value| value.array(4, |pids| pids.word(pid)));
        properties.property("Delegate", "b", |value| value.word(1));
        properties.property("Description", "s", |value| value.text("What lnk measure run measures"));
    });
    body.array(8, |_| {});

    let mut message = Message(vec![b'l', CALL, 0, 1]);
    message.word(u32::try_from(body.0.len()).unwrap_or(0));
    message.word(1);
    message.array(8, |fields| {
        let mut field = |code: u8, signature: &str, text: &str| {
            fields.align(8);
            fields.0.push(code);
            fields.signature(signature);
            if signature == "g" { fields.signature(text) } else { fields.text(text) }
        };
        field(1, "o", "/org/freedesktop/systemd1");
        field(2, "s", "org.freedesktop.systemd1.Manager");
        field(3, "s", "StartTransientUnit");
        field(6, "s", "org.freedesktop.systemd1");
        field(8, "g", "ssa(sv)a(sa(sv))");
    });
    message.align(8);
    message.0.extend(body.0);
    message.0
}

/// A message's bytes, little end first, everything at a multiple of its own size.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn word(&mut self, word: u32) {
        self.align(4);
        self.0.extend(word.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.word(u32::try_from(text.len()).unwrap_or(0));
        self.0.extend(text.bytes().chain([0]));
    }

    fn signature(&mut self, text: &str) {
        self.0.push(u8::try_from(text.len()).unwrap_or(0));
        self.0.extend(text.bytes().chain([0]));
    }

    /// Its length counts from its first entry, which stands at a multiple of `entry`.
    fn array(&mut self, entry: usize, fill: impl FnOnce(&mut Message)) {
        self.word(0);
        let length_at = self.0.len() - 4;
        self.align(entry);
        let from = self.0.len();
        fill(self);
        let length = u32::try_from(self.0.len() - from).unwrap_or(0);
        self.0[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn property(&mut self, name: &str, signature: &str, value: impl FnOnce(&mut Message)) {
        self.align(8);
        self.text(name);
        self.signature(signature);
        value(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_aligned_and_says_its_own_lengths() {
        for name in ["a.scope", "lnk-run-1-0123.scope"] {
            let message = start_scope(name, 7);
            let head: [u8; 16] = message[..16].try_into().unwrap();
            assert_eq!(parse_head(&head), Some((CALL, message.len() - 16)));
            let fields = u32::from_le_bytes(head[12..].try_into().unwrap()) as usize;
            let body = &message[(16 + fields).next_multiple_of(8)..];
            assert_eq!(body.len(), u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize);
            assert_eq!(&body[4..4 + name.len()], name.as_bytes());
        }
    }

    #[test]
    fn an_answer_that_is_no_message_or_too_long_is_not_read() {
        let head = |order: u8, length: u32| {
            let mut head = [order, ERROR, 0, 1, 0, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0];
            head[4..8].copy_from_slice(&length.to_le_bytes());
            head
        };
        assert_eq!(parse_head(&head(b'l', 3)), Some((ERROR, 8 + 3)));
        assert_eq!(parse_head(&head(b'l', LONGEST_ANSWER + 1)), None);
        assert_eq!(parse_head(&head(b'x', 3)), None);
    }
}
