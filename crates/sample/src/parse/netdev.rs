//! `/proc/net/dev`.

use super::{lines, number, words};

/// What one interface has received and sent since it appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetDev<'a> {
    /// Its name; an alias's has a colon.
    pub name: &'a [u8],
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
}

/// Reads `/proc/net/dev`. The two lines of heading, and what can't be read, are skipped.
pub fn parse_netdev(file: &[u8]) -> impl Iterator<Item = NetDev<'_>> {
    lines(file).filter_map(|line| {
        // The last colon: `eth0:1` is a name. No blank need follow it.
        let colon = memchr::memrchr(b':', line)?;
        let mut columns = words(&line[colon + 1..]);
        let rx_bytes = number(columns.next()?)?;
        let tx_bytes = number(columns.nth(7)?)?;
        let name = line[..colon].trim_ascii();
        (!name.is_empty()).then_some(NetDev { name, rx_bytes, tx_bytes })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_keeps_the_colon_in_its_name() {
        let file = include_bytes!("../../../../test/fixtures/proc/net_dev_alias_with_colon");
        let read: Vec<_> = parse_netdev(file).map(|net| (net.name, net.rx_bytes, net.tx_bytes)).collect();
        assert_eq!(read, [(b"lo".as_slice(), 3193, 3193), (b"eth0", 374_330_303, 869_134), (b"eth0:1", 7, 8)]);
    }

    #[test]
    fn a_line_too_short_is_skipped() {
        assert_eq!(parse_netdev(b"  eth0: 1 2 3\n eth1:\n : 1 2 3 4 5 6 7 8 9\n").count(), 0);
    }
}
