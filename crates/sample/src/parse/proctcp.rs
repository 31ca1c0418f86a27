//! `/proc/<pid>/net/tcp` and `tcp6`.

use super::{lines, number, number32, words};

/// One TCP socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpListener {
    /// Its port.
    pub port: u16,
    /// Its user.
    pub uid: u32,
    /// Its inode, as the links of `/proc/<pid>/fd` name it.
    pub inode: u64,
}

/// Reads either file's listening sockets. The heading, every other state, and what can't be read are skipped.
pub fn parse_proc_tcp(file: &[u8]) -> impl Iterator<Item = TcpListener> {
    lines(file).filter_map(|line| {
        let mut fields = words(line);
        let local = fields.nth(1)?;
        // 0A: TCP_LISTEN.
        if fields.nth(1)? != b"0A" {
            return None;
        }
        let uid = number32(fields.nth(3)?)?;
        let inode = number(fields.nth(1)?)?;
        // The address is in the machine's byte order, the port written plainly.
        let port = hex_port(&local[memchr::memrchr(b':', local)? + 1..])?;
        (port != 0).then_some(TcpListener { port, uid, inode })
    })
}

fn hex_port(text: &[u8]) -> Option<u16> {
    if text.len() != 4 {
        return None;
    }
    text.iter().try_fold(0_u16, |so_far, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(so_far << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_are_taken() {
        let file = include_bytes!("../../../../test/fixtures/proc/net_tcp_states");
        let read: Vec<_> = parse_proc_tcp(file).map(|one| (one.port, one.uid, one.inode)).collect();
        assert_eq!(read, [(8080, 1000, 20_100), (53, 101, 20_200)]);
    }

    #[test]
    fn the_longer_addresses_of_version_6_are_read() {
        let file = include_bytes!("../../../../test/fixtures/proc/net_tcp6_states");
        let read: Vec<_> = parse_proc_tcp(file).map(|one| (one.port, one.uid, one.inode)).collect();
        assert_eq!(read, [(443, 0, 31_000)]);
    }
}
