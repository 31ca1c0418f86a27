//! Netlink's answers about sockets: `linux/netlink.h`, `linux/inet_diag.h`. Numbers are in the machine's byte order,
//! ports in the network's.

/// A message's heading, and one of the answer's that follows it.
const HEADING: usize = 16;
const SOCKET: usize = 72;

/// Kinds of messages.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// The bit of a message of a list that changed while it was made.
const CHANGED: u16 = 0x10;

/// Attributes of a socket.
const IPV6_ONLY: u16 = 11;
const CGROUP_ID: u16 = 21;

/// The state of a socket that listens: `TCP_LISTEN`.
const LISTEN: u8 = 10;

/// One message of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Which question it answers.
    pub sequence: u32,
    /// Whether what is listed changed meanwhile, so that a socket may be missing.
    pub changed: bool,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A socket that listens.
    Listener(DiagListener),
    /// The list is whole.
    Done,
    /// The kernel's number for why there is no list.
    Failed(i32),
    /// Another kind of message, or another state.
    Other,
}

/// A TCP socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiagListener {
    /// Its port.
    pub port: u16,
    /// Its inode, as the links of `/proc/<pid>/fd` name it.
    pub inode: u64,
    /// Its user.
    pub uid: u32,
    /// The inode of the version 2 group its maker was in when it was made. Since 5.8.
    pub cgroup_id: Option<u64>,
    /// Whether it leaves the same port of IP version 4 alone; of version 6 only.
    pub ipv6_only: Option<bool>,
}

/// Reads the messages of one datagram. Reading ends at the first that isn't whole.
pub fn parse_messages(mut datagram: &[u8]) -> impl Iterator<Item = Message> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(datagram, 0)?).ok()?;
        let message = datagram.get(..length).filter(|message| message.len() >= HEADING)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        let changed = u16_at(message, 6)? & CHANGED != 0;
        Some(Message { sequence: u32_at(message, 8)?, changed, body: body(u16_at(message, 4)?, &message[HEADING..]) })
    })
}

fn body(kind: u16, payload: &[u8]) -> Body {
    // The end of a list has a number too: why it ended early, or 0.
    let errno = || u32_at(payload, 0).map(u32::cast_signed);
    match kind {
        ERROR => Body::Failed(errno().unwrap_or(0).saturating_neg()),
        DONE => match errno() {
            Some(errno) if errno < 0 => Body::Failed(errno.saturating_neg()),
            _ => Body::Done,
        },
        SOCK_DIAG_BY_FAMILY => listener(payload).map_or(Body::Other, Body::Listener),
        _ => Body::Other,
    }
}

fn listener(payload: &[u8]) -> Option<DiagListener> {
    let socket = payload.get(..SOCKET)?;
    let port = u16::from_be_bytes([socket[4], socket[5]]);
    if socket[1] != LISTEN || port == 0 {
        return None;
    }
    let (uid, inode) = (u32_at(socket, 64)?, u64::from(u32_at(socket, 68)?));
    let mut listener = DiagListener { port, inode, uid, cgroup_id: None, ipv6_only: None };
    for (kind, value) in attributes(&payload[SOCKET..]) {
        match kind {
            CGROUP_ID => listener.cgroup_id = value.first_chunk().map(|id| u64::from_ne_bytes(*id)),
            IPV6_ONLY => listener.ipv6_only = value.first().map(|only| *only != 0),
            _ => {}
        }
    }
    Some(listener)
}

fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let attribute = rest.get(..length).filter(|attribute| attribute.len() >= 4)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits say how the value is packed.
        Some((u16_at(attribute, 2)? & 0x3fff, &attribute[4..]))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADING + payload.len()).expect("short");
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(9_u32.to_ne_bytes());
        message.extend(0_u32.to_ne_bytes());
        message.extend(payload);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut attribute = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        attribute.extend(value);
        attribute.resize(attribute.len().next_multiple_of(4), 0);
        attribute
    }

    fn socket(state: u8, port: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut socket = vec![0; SOCKET];
        socket[0] = 10;
        socket[1] = state;
        socket[4..6].copy_from_slice(&port.to_be_bytes());
        socket[64..68].copy_from_slice(&1000_u32.to_ne_bytes());
        socket[68..72].copy_from_slice(&0xfedc_ba98_u32.to_ne_bytes());
        socket.extend(attributes.concat());
        message(SOCK_DIAG_BY_FAMILY, 2, &socket)
    }

    /// An answer of two sockets and its end.
    pub(in crate::parse) fn answer() -> Vec<u8> {
        let attributes =
            [attribute(8, b"\0"), attribute(IPV6_ONLY, b"\x01"), attribute(CGROUP_ID, &333_u64.to_ne_bytes())];
        [socket(LISTEN, 8080, &attributes), socket(LISTEN, 53, &[]), message(DONE, 2, &0_u32.to_ne_bytes())].concat()
    }

    fn bodies(datagram: &[u8]) -> Vec<Body> {
        parse_messages(datagram).map(|message| message.body).collect()
    }

    #[test]
    fn a_socket_is_read_with_its_group() {
        let uid = 1000;
        let inode = 0xfedc_ba98;
        let first = DiagListener { port: 8080, inode, uid, cgroup_id: Some(333), ipv6_only: Some(true) };
        let second = DiagListener { port: 53, inode, uid, cgroup_id: None, ipv6_only: None };
        assert_eq!(bodies(&answer()), [Body::Listener(first), Body::Listener(second), Body::Done]);
        assert!(parse_messages(&answer()).all(|message| message.sequence == 9 && !message.changed));
    }

    #[test]
    fn sockets_of_other_states_and_without_a_port_are_none() {
        assert_eq!(bodies(&[socket(1, 80, &[]), socket(LISTEN, 0, &[])].concat()), [Body::Other, Body::Other]);
    }

    #[test]
    fn a_failure_is_told_from_either_kind_of_end() {
        assert_eq!(bodies(&message(ERROR, 0, &(-95_i32).to_ne_bytes())), [Body::Failed(95)]);
        assert_eq!(bodies(&message(DONE, 2, &(-2_i32).to_ne_bytes())), [Body::Failed(2)]);
        assert_eq!(bodies(&message(DONE, 2, b"")), [Body::Done]);
    }

    #[test]
    fn a_list_that_changed_meanwhile_says_so() {
        let datagram = message(DONE, 2 | CHANGED, &0_u32.to_ne_bytes());
        assert!(parse_messages(&datagram).next().expect("a message").changed);
    }

    #[test]
    fn lengths_that_lie_end_the_reading() {
        for length in [0_u32, 1, 15, 17, u32::MAX] {
            let mut datagram = message(DONE, 2, b"");
            datagram[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(bodies(&datagram), [], "{length}");
        }
        for length in [0_u16, 3, 200, u16::MAX] {
            let mut lying = attribute(CGROUP_ID, &333_u64.to_ne_bytes());
            lying[..2].copy_from_slice(&length.to_ne_bytes());
            let [Body::Listener(one)] = bodies(&socket(LISTEN, 80, &[lying]))[..] else { panic!("no socket") };
            assert_eq!(one.cgroup_id, None, "{length}");
        }
    }
}
