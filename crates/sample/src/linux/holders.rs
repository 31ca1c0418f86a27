//! Which processes hold the sockets that are listened on.
//!
//! The kernel lists listening sockets by inode and has no list of who holds one: that is told by each process's
//! descriptors, at some 4 µs each. So a process's descriptors are walked when it is new, when a socket turned up that
//! nobody is known to hold, and once in a while.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::linux::ports::{Listening, PortsReader, held_sockets, network_namespace};
use crate::track::tree::{Tracked, Tree};
use crate::{Absent, Identity, Why};

/// Looks after which every member's descriptors are walked all the same: a socket can be handed to another process.
const WALK_AGAIN: u64 = 60;

/// Looks after which the sockets of another network namespace are read again: it costs some 2 ms each.
const OTHERS_AGAIN: u64 = 6;

/// The listening sockets, and who of the agents' processes holds which.
#[derive(Debug)]
pub struct Holders {
    root: PathBuf,
    /// This program's own network namespace, which it stays in. `None`: it isn't told.
    own: Option<u64>,
    reader: Result<PortsReader, Absent>,
    listening: Vec<Listening>,
    inodes: FxHashSet<u64>,
    held: FxHashMap<Identity, Held>,
    others: FxHashMap<u64, Vec<Listening>>,
    looks: u64,
}

#[derive(Debug)]
struct Held {
    /// Its network namespace's inode. `None`: it doesn't say.
    namespace: Option<u64>,
    /// The sockets it holds. `Err`: its descriptors can't be listed.
    inodes: Result<Vec<u64>, Absent>,
}

impl Holders {
    /// Sockets of the system below `root`.
    pub fn open(root: &Path) -> Holders {
        Holders {
            root: root.to_path_buf(),
            own: network_namespace(root, std::process::id()).ok(),
            reader: PortsReader::open(root),
            listening: Vec::new(),
            inodes: FxHashSet::default(),
            held: FxHashMap::default(),
            others: FxHashMap::default(),
            looks: 0,
        }
    }

    /// Looks at the sockets listened on in this program's own network namespace and those of agents. Gives how many ports
    /// there are in its own.
    ///
    /// # Errors
    /// If the sockets can't be listed.
    pub fn look(&mut self, tree: &Tree) -> Result<usize, Absent> {
        self.looks += 1;
        self.listening = self.reader.as_mut().map_err(|absent| absent.clone())?.read()?.sockets;
        let inodes: FxHashSet<u64> = self.listening.iter().map(|socket| socket.inode).collect();
        let news = !inodes.is_subset(&self.inodes);
        self.inodes = inodes;
        let all = news || self.looks.is_multiple_of(WALK_AGAIN);

        let members: FxHashSet<Identity> =
            tree.members().filter(|known| !known.sample.zombie).map(|known| known.sample.identity).collect();
        self.held.retain(|identity, _| members.contains(identity));
        for identity in members {
            if all || !self.held.contains_key(&identity) {
                self.held.insert(identity, Held::read(&self.root, identity.pid));
            }
        }
        self.look_at_others();
        Ok(distinct(&self.listening))
    }

    /// Reads the sockets of the namespaces that only agents are in.
    fn look_at_others(&mut self) {
        let (Some(own), Ok(reader)) = (self.own, &mut self.reader) else { return };
        let mut seen = FxHashMap::default();
        for (identity, held) in &self.held {
            if let Some(namespace) = held.namespace.filter(|namespace| *namespace != own) {
                seen.entry(namespace).or_insert(identity.pid);
            }
        }
        self.others.retain(|namespace, _| seen.contains_key(namespace));
        for (namespace, pid) in seen {
            if self.looks.is_multiple_of(OTHERS_AGAIN) || !self.others.contains_key(&namespace) {
                self.others.insert(namespace, reader.read_of(pid).unwrap_or_default());
            }
        }
    }

    /// How many ports an agent listens on: those its processes hold and, where one's descriptors can't be listed, those
    /// made in its own control groups. `None` if neither can be told.
    pub fn of_agent(&self, members: &[&Tracked], groups: &[u64]) -> Option<usize> {
        let mut sockets = Vec::new();
        let (mut told, mut untold) = (false, false);
        for member in members {
            match self.of(member) {
                Some(held) => {
                    told = true;
                    sockets.extend(held);
                }
                None => untold = true,
            }
        }
        if untold && !groups.is_empty() {
            told = true;
            let made_here = |socket: &&Listening| socket.cgroup_id.is_some_and(|id| groups.binary_search(&id).is_ok());
            sockets.extend(self.listening.iter().filter(made_here));
        }
        told.then(|| distinct(sockets))
    }

    /// How many ports a process listens on. `None`: its descriptors can't be listed.
    pub fn of_process(&self, member: &Tracked) -> Option<usize> {
        self.of(member).map(distinct)
    }

    /// Why a process's ports can't be told.
    pub fn absent(&self, member: &Tracked) -> Option<&Absent> {
        self.held.get(&member.sample.identity)?.inodes.as_ref().err()
    }

    fn of(&self, member: &Tracked) -> Option<impl Iterator<Item = &Listening>> {
        let held = self.held.get(&member.sample.identity)?;
        let inodes = held.inodes.as_ref().ok()?;
        let others = held.namespace.and_then(|namespace| self.others.get(&namespace));
        // Most processes hold no socket at all, and need no look at those there are.
        let sockets = if inodes.is_empty() { &[] } else { others.unwrap_or(&self.listening).as_slice() };
        Some(sockets.iter().filter(|socket| inodes.contains(&socket.inode)))
    }
}

/// One port, however many addresses and sockets listen on it.
fn distinct<'s>(sockets: impl IntoIterator<Item = &'s Listening>) -> usize {
    sockets.into_iter().map(|socket| socket.port).collect::<FxHashSet<u16>>().len()
}

impl Held {
    fn read(root: &Path, pid: u32) -> Held {
        let inodes = held_sockets(root, pid).and_then(|held| match held.denied {
            0 => Ok(held.inodes),
            _ => Err(Absent::new(Why::Denied, "/proc/<pid>/fd", "some descriptors can't be looked at")),
        });
        Held { namespace: network_namespace(root, pid).ok(), inodes }
    }
}
