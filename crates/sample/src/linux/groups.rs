//! Whether an agent has a control group of its own, and which.

use std::path::Path;

use crate::linux::cgroup::{Group, v2_path};
use crate::linux::layout::Layout;
use crate::request::Agent;
use crate::track::tree::{AgentKey, Tracked, Tree};
use crate::{Absent, Why};

/// Finds the group of an agent: the one that is said to be its own, else its service's, else the one its main process
/// is in, if nobody else can be meant by it.
///
/// # Errors
/// The reason why it has none: then its processes are its tree's.
pub fn find(layout: &Layout, root: &Path, tree: &Tree, key: AgentKey, agent: Option<&Agent>) -> Result<Group, Absent> {
    if let Some(path) = agent.and_then(|agent| agent.group.as_deref()) {
        return Group::open(layout, path.as_bytes());
    }
    let main = tree
        .members_of(key)
        .filter(|known| known.root)
        .min_by_key(|known| known.sample.identity.start)
        .ok_or_else(|| Absent::new(Why::NotYet, "control group", "has no main process"))?;
    let path = v2_path(root, main.pid())?;
    if let Some(service) = agent.and_then(|agent| agent.service.as_deref())
        && path.rsplit(|byte| *byte == b'/').next() == Some(service.as_bytes())
    {
        return Group::open(layout, &path);
    }
    let mut group = Group::open(layout, &path)?;
    let members = group.subtree()?.members;
    if is_own(tree, main, key, &members) { Ok(group) } else { Err(shared()) }
}

fn shared() -> Absent {
    Absent::new(Why::Unsupported, "control group", "is shared with programs that aren't the agent's")
}

/// Whether a group is an agent's own: nobody in it is older than its main process, as a shell that started it would be,
/// its main process's parent is outside, and no other agent is in it.
fn is_own(tree: &Tree, main: &Tracked, key: AgentKey, members: &[u32]) -> bool {
    let is_in = |pid: &u32| members.binary_search(pid).is_ok();
    !is_in(&main.sample.parent)
        && members.iter().filter_map(|pid| tree.get(*pid)).all(|member| {
            // Of those that started in one tick, by their numbers.
            let born = |known: &Tracked| (known.sample.identity.start, known.pid());
            let older = born(member) < born(main);
            !older && member.key.is_none_or(|other| other == key)
        })
}
