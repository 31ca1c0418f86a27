//! What is kept of an agent from look to look.

use lnk_schema::Name;
use rustc_hash::FxHashMap;

use crate::request::Traffic;
use crate::track::tree::AgentKey;

/// Where an agent's running totals are from. Chosen once: two sources of one total don't agree, and a change would be
/// taken for growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Totals {
    /// Its control group's own count.
    ControlGroup,
    /// Its processes, added up.
    Processes,
}

/// An agent from its start to its end; one that starts again is another.
#[derive(Debug)]
pub struct AgentState {
    /// What the tree knows it by.
    pub key: AgentKey,
    /// When it started, as it was said.
    pub started_ns: Option<u64>,
    /// Its main processes, as they were said last.
    pub pids: Vec<u32>,
    /// When its totals began, once known.
    pub since_ns: Option<u64>,
    /// The most memory seen.
    pub peak_bytes: f64,
    /// Where its CPU time is from.
    pub cpu: Option<Totals>,
    /// Where its disk bytes are from.
    pub disk: Option<Totals>,
    network: Option<Network>,
}

/// What an agent's proxies carried, added up over their runs.
#[derive(Debug, Default)]
struct Network {
    runs: FxHashMap<Name, (u64, u64)>,
    received: u64,
    sent: u64,
}

impl AgentState {
    /// An agent of which nothing is known yet.
    pub fn new(key: AgentKey, started_ns: Option<u64>, pids: &[u32]) -> AgentState {
        AgentState {
            key,
            started_ns,
            pids: pids.to_vec(),
            since_ns: started_ns,
            peak_bytes: 0.0,
            cpu: None,
            disk: None,
            network: None,
        }
    }

    /// Whether what is said of it now is said of another start: its start time is another, or, where none is said, none of
    /// its main processes is left.
    pub fn is_another(&self, started_ns: Option<u64>, pids: &[u32]) -> bool {
        match (self.started_ns, started_ns) {
            (Some(before), Some(now)) => before != now,
            _ => !pids.is_empty() && !self.pids.is_empty() && !pids.iter().any(|pid| self.pids.contains(pid)),
        }
    }

    /// What each run of its proxies had carried before it was looked at: that isn't added.
    pub fn carried_before(&mut self, traffic: &[Traffic]) {
        for run in traffic {
            let network = self.network.get_or_insert_default();
            network.runs.insert(run.proxy.clone(), (run.received, run.sent));
        }
    }

    /// Of these runs of proxies, what each had carried when an earlier start of the agent was last looked at.
    pub fn had_carried(&self, traffic: &[Traffic]) -> Vec<Traffic> {
        let runs = self.network.iter().flat_map(|network| &network.runs);
        let told = runs.filter(|(proxy, _)| traffic.iter().any(|run| run.proxy == **proxy));
        told.map(|(proxy, &(received, sent))| Traffic { proxy: proxy.clone(), received, sent }).collect()
    }

    /// Adds what each run of its proxy carried since the last look. A run's count that fell began anew; a run that isn't
    /// told of for a look keeps its count, since it may be told of again.
    pub fn carried(&mut self, traffic: &[Traffic]) {
        for run in traffic {
            let network = self.network.get_or_insert_default();
            let (received, sent) = network.runs.insert(run.proxy.clone(), (run.received, run.sent)).unwrap_or_default();
            network.received = network.received.saturating_add(grown(received, run.received));
            network.sent = network.sent.saturating_add(grown(sent, run.sent));
        }
    }

    /// Bytes in and out through its proxies, if it ever had one.
    pub fn network(&self) -> Option<(u64, u64)> {
        self.network.as_ref().map(|network| (network.received, network.sent))
    }
}

fn grown(before: u64, now: u64) -> u64 {
    if now < before { now } else { now - before }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(proxy: &str, received: u64, sent: u64) -> Traffic {
        Traffic { proxy: Name::new(proxy).unwrap(), received, sent }
    }

    #[test]
    fn a_proxys_runs_add_up_whether_it_began_anew_below_or_above_its_count() {
        let mut agent = AgentState::new(AgentKey(1), None, &[]);
        assert_eq!(agent.network(), None);
        agent.carried(&[run("p-1", 100, 10)]);
        agent.carried(&[run("p-1", 130, 10)]);
        agent.carried(&[run("p-2", 500, 0)]);
        agent.carried(&[run("p-2", 20, 0)]);
        assert_eq!(agent.network(), Some((650, 10)));
        agent.carried(&[]);
        agent.carried(&[run("p-2", 25, 0)]);
        assert_eq!(agent.network(), Some((655, 10)));
    }

    #[test]
    fn what_a_proxy_had_carried_before_is_not_added_again() {
        let mut agent = AgentState::new(AgentKey(1), None, &[]);
        agent.carried_before(&[run("p-1", 100, 10)]);
        agent.carried(&[run("p-1", 130, 10), run("p-2", 5, 1)]);
        assert_eq!(agent.network(), Some((35, 1)));
    }

    #[test]
    fn another_start_is_told_by_its_time_else_by_its_processes() {
        let agent = AgentState::new(AgentKey(1), Some(5), &[10, 11]);
        assert!(agent.is_another(Some(6), &[10]));
        assert!(!agent.is_another(Some(5), &[99]));
        let agent = AgentState::new(AgentKey(1), None, &[10, 11]);
        assert!(agent.is_another(None, &[12]));
        assert!(!agent.is_another(None, &[11, 12]));
        assert!(!agent.is_another(None, &[]));
    }
}
