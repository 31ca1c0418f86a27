//! Network interfaces: which of them reach outside, and what each has carried.

use std::os::fd::OwnedFd;

use rustc_hash::FxHashMap;
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, openat};

use super::file::KernelFile;
use super::kept::Counter;
use crate::parse::netdev::NetDev;
use crate::parse::number32;

/// Bytes through network interfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkBytes {
    /// Received.
    pub received: u64,
    /// Sent.
    pub sent: u64,
}

/// What the machine's own interfaces have carried, added up. Of one that went away, what it carried stays counted.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    look: u64,
    known: FxHashMap<Box<[u8]>, Known>,
    /// By number: an interface keeps it through a change of name, and one made again gets another.
    carried: FxHashMap<u32, (Counter, Counter)>,
}

#[derive(Debug)]
struct Known {
    look: u64,
    /// The file that says an interface's number, kept open: it can't be read once the interface is gone, whatever is
    /// called the same by then. `None` of an interface without a device: bridges, tunnels, bonds and containers'
    /// carry what a physical one does too.
    ifindex: Option<KernelFile>,
}

impl Interfaces {
    /// Notes what every interface says at one look. `class` is `/sys/class/net`.
    pub(super) fn note<'a>(&mut self, class: &OwnedFd, each: impl Iterator<Item = NetDev<'a>>, buffer: &mut Vec<u8>) {
        self.look += 1;
        for net in each {
            let Some(ifindex) = self.ifindex(class, net.name, buffer) else { continue };
            let (received, sent) = self.carried.entry(ifindex).or_default();
            received.note(net.rx_bytes);
            sent.note(net.tx_bytes);
        }
        let look = self.look;
        self.known.retain(|_, known| known.look == look);
    }

    /// The number of an interface with a device behind it.
    fn ifindex(&mut self, class: &OwnedFd, name: &[u8], buffer: &mut Vec<u8>) -> Option<u32> {
        if let Some(known) = self.known.get_mut(name) {
            known.look = self.look;
            match &known.ifindex {
                None => return None,
                Some(file) => {
                    if let Ok(text) = file.read_record(buffer) {
                        return number32(text.trim_ascii());
                    }
                }
            }
        }
        let known = Known { look: self.look, ifindex: open_ifindex(class, name) };
        let number = known.ifindex.as_ref().and_then(|file| number32(file.read_record(buffer).ok()?.trim_ascii()));
        self.known.insert(name.into(), known);
        number
    }

    /// What they have carried. `None` if there never was one.
    pub(super) fn total(&self) -> Option<NetworkBytes> {
        let each = self.carried.values();
        each.map(|(received, sent)| NetworkBytes { received: received.total(), sent: sent.total() }).reduce(|a, b| {
            NetworkBytes { received: a.received.saturating_add(b.received), sent: a.sent.saturating_add(b.sent) }
        })
    }
}

fn open_ifindex(class: &OwnedFd, name: &[u8]) -> Option<KernelFile> {
    // The kernel refuses such names; a name from a file must not lead elsewhere all the same.
    if name.contains(&b'/') || matches!(name, b"." | b"..") {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(class, name, flags, Mode::empty()).ok()?;
    accessat(&dir, "device", Access::EXISTS, AtFlags::empty()).ok()?;
    KernelFile::open(&dir, "ifindex", "ifindex").ok()
}
