//! What a look is asked for: the machine's name, and the agents that are known of.

use lnk_schema::{Name, UnitId};
use serde::Deserialize;

use crate::DiskBytes;

/// Where an agent is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// Link's own list.
    Link,
    /// A run of `lnk measure run`.
    Run,
    /// Its program, found among the processes.
    Found,
}

/// A request, with every name and ID by the rule. What breaks it was left out.
#[derive(Debug, Clone)]
pub struct Request {
    /// The machine's ID.
    pub machine: UnitId,
    /// The machine's name.
    pub machine_name: Option<Name>,
    /// The agents, in the order of their claims.
    pub agents: Vec<Agent>,
    /// Whether to find agents by their program too.
    pub found: bool,
}

/// An agent that is known of.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its ID.
    pub id: UnitId,
    /// Its name.
    pub name: Option<Name>,
    /// Whose it is.
    pub owner: Option<Name>,
    /// The teams it is in.
    pub teams: Vec<Name>,
    /// Where it is known from.
    pub from: From,
    /// Its main processes.
    pub pids: Vec<u32>,
    /// When it started, in nanoseconds since 1970.
    pub started_ns: Option<u64>,
    /// The version 2 path of its control group.
    pub group: Option<String>,
    /// The name of its service, which is the last part of its group's path.
    pub service: Option<String>,
    /// What each run of its proxy carried.
    pub traffic: Vec<Traffic>,
    /// Starts of it that are over, the oldest first, as whoever stood around them counted them to their end.
    pub ended: Vec<Ended>,
}

/// What a start of an agent that is over came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// When it started, in nanoseconds since 1970.
    pub started_ns: u64,
    /// CPU time, in microseconds.
    pub cpu_usec: u64,
    /// Disk bytes, where they are known.
    pub disk: Option<DiskBytes>,
    /// The most memory seen, in bytes, where any was.
    pub peak_bytes: Option<u64>,
}

/// What one run of a proxy carried so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Tells one run of a proxy from the next.
    pub proxy: Name,
    /// Bytes in.
    pub received: u64,
    /// Bytes out.
    pub sent: u64,
}

#[derive(Deserialize)]
struct RawRequest {
    machine: RawMachine,
    #[serde(default)]
    agents: Vec<RawAgent>,
    #[serde(default)]
    found: bool,
}

#[derive(Deserialize)]
struct RawMachine {
    id: String,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct RawAgent {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    teams: Vec<String>,
    from: From,
    #[serde(default)]
    pids: Vec<u32>,
    #[serde(default)]
    started: Option<f64>,
    #[serde(default)]
    cgroup: Option<String>,
    #[serde(default)]
    unit: Option<String>,
    #[serde(default)]
    traffic: Vec<RawTraffic>,
    #[serde(default)]
    ended: Vec<RawEnded>,
}

#[derive(Deserialize)]
struct RawEnded {
    started: f64,
    cpu: f64,
    #[serde(default)]
    read: Option<u64>,
    #[serde(default)]
    written: Option<u64>,
    #[serde(default)]
    peak: Option<u64>,
}

#[derive(Deserialize)]
struct RawTraffic {
    proxy: String,
    #[serde(rename = "in")]
    received: u64,
    #[serde(rename = "out")]
    sent: u64,
}

impl Request {
    /// Reads a request's JSON: `{machine: {id, name}, agents: [{id, name, owner, teams, from, pids, started, cgroup, unit,
    /// traffic: [{proxy, in, out}], ended: [{started, cpu, read, written, peak}]}], found}`; times in seconds.
    ///
    /// # Errors
    /// In words, if it isn't that, or the machine's ID is none.
    pub fn from_json(json: &str) -> Result<Request, String> {
        let raw: RawRequest = serde_json::from_str(json).map_err(|error| format!("the request: {error}"))?;
        let machine = Name::new(&raw.machine.id).ok_or("the request: the machine's ID is none")?;
        Ok(Request {
            machine: machine.into(),
            machine_name: raw.machine.name.as_deref().and_then(Name::new),
            agents: raw.agents.into_iter().filter_map(Agent::of).collect(),
            found: raw.found,
        })
    }
}

impl Agent {
    fn of(raw: RawAgent) -> Option<Agent> {
        let traffic = raw
            .traffic
            .into_iter()
            .filter_map(|raw| Some(Traffic { proxy: Name::new(&raw.proxy)?, received: raw.received, sent: raw.sent }));
        Some(Agent {
            id: Name::new(&raw.id)?.into(),
            name: raw.name.as_deref().and_then(Name::new),
            owner: raw.owner.as_deref().and_then(Name::new),
            teams: raw.teams.iter().filter_map(|team| Name::new(team)).collect(),
            from: raw.from,
            pids: raw.pids,
            started_ns: raw.started.and_then(nanoseconds),
            group: raw.cgroup,
            service: raw.unit,
            traffic: traffic.collect(),
            ended: raw.ended.iter().filter_map(Ended::of).collect(),
        })
    }
}

impl Ended {
    fn of(raw: &RawEnded) -> Option<Ended> {
        let disk = raw.read.zip(raw.written).map(|(read, written)| DiskBytes { read, written });
        // A hundred cores for a century: what is more is no CPU time.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and not negative")]
        let cpu_usec = (0.0..=3.2e11).contains(&raw.cpu).then_some((raw.cpu * 1e6).round() as u64)?;
        Some(Ended { started_ns: nanoseconds(raw.started)?, cpu_usec, disk, peak_bytes: raw.peak })
    }
}

/// Nanoseconds of seconds since 1970, if they are between then and the year 2500.
fn nanoseconds(seconds: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and not negative")]
    let nanoseconds = (seconds * 1e9) as u64;
    (0.0..1.7e10).contains(&seconds).then_some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_the_rule_is_left_out_and_the_rest_stays() {
        let request = Request::from_json(
            r#"{"machine":{"id":"mch_7f","name":"two words"},"found":true,"agents":[
                {"id":"agt 1","from":"link"},{"id":"__proto__","from":"link"},
                {"id":"agt_1","name":"main","owner":"a\u001b[31m","teams":["t1","t 2"],"from":"run","pids":[3],"started":1.5}]}"#,
        )
        .unwrap();
        assert_eq!(request.machine_name, None);
        let [agent] = request.agents.as_slice() else { panic!("{:?}", request.agents) };
        assert_eq!((agent.owner.as_ref(), agent.teams.len(), agent.from), (None, 1, From::Run));
        assert_eq!(agent.started_ns, Some(1_500_000_000));
    }

    #[test]
    fn what_is_no_request_says_what_is_wrong() {
        for bad in ["", "[]", r#"{"machine":{"id":"a b"}}"#, r#"{"machine":{"id":"m"},"agents":[{"id":"a"}]}"#] {
            assert!(Request::from_json(bad).unwrap_err().starts_with("the request: "), "{bad}");
        }
    }
}
