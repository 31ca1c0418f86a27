//! What is told of the agents before a look: where their files are, and what their proxies counted.

use std::path::PathBuf;

use lnk_schema::{Name, UnitId};
use serde::Deserialize;

use crate::counter::Counter;
use crate::note::Refused;
use crate::open::Place;

/// The agents, and whose they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The machine's ID.
    pub machine: UnitId,
    /// The agents, running or not.
    pub agents: Vec<Agent>,
}

/// An agent, as its list tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its ID.
    pub id: UnitId,
    /// Its name.
    pub name: Option<Name>,
    /// Whose it is.
    pub owner: Option<Name>,
    /// The teams it is in.
    pub teams: Vec<Name>,
    /// When it started, in seconds since 1970, where that is said: of one that runs, or did until just now.
    pub started: Option<f64>,
    /// Whether it runs.
    pub running: bool,
    /// The file its harness reports its turns in, or why that isn't read.
    pub turns: Option<Result<Place, Refused>>,
    /// The file of its starts and stops.
    pub times: Option<Place>,
    /// What its proxies counted; `None` where that isn't known now.
    pub proxies: Option<Vec<Proxy>>,
}

/// One run of an agent's proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Proxy {
    /// Bytes in and out, and the six counts of a tokens file: zero where it counts no tokens.
    pub counter: Counter<8>,
    /// Whether it carries the agent's model.
    pub model: bool,
}

#[derive(Deserialize)]
struct RawTold {
    machine: RawMachine,
    #[serde(default)]
    agents: Vec<RawAgent>,
}

#[derive(Deserialize)]
struct RawMachine {
    id: String,
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
    #[serde(default)]
    running: bool,
    #[serde(default)]
    started: Option<f64>,
    #[serde(default)]
    home: Option<PathBuf>,
    #[serde(default)]
    measures: Option<PathBuf>,
    #[serde(default)]
    settings: Option<PathBuf>,
    #[serde(default)]
    traffic: Option<Vec<RawProxy>>,
}

#[derive(Deserialize)]
struct RawProxy {
    proxy: String,
    #[serde(default)]
    since: Option<f64>,
    #[serde(rename = "in")]
    received: u64,
    #[serde(rename = "out")]
    sent: u64,
    #[serde(default)]
    model: bool,
    #[serde(default)]
    tokens: Option<RawTokens>,
}

#[derive(Deserialize)]
struct RawTokens {
    requests: u64,
    unmetered: u64,
    input: u64,
    output: u64,
    cached: u64,
    cache_written: u64,
}

impl Told {
    /// Reads JSON: `{machine: {id}, agents: [{id, name, owner, teams, running, started, home, measures, settings, traffic:
    /// [{proxy, since, in, out, model, tokens}]}]}`. What breaks the rule of names is left out.
    ///
    /// # Errors
    /// In words, if it isn't that, or the machine's ID is none.
    pub fn from_json(json: &str) -> Result<Told, String> {
        let raw: RawTold = serde_json::from_str(json).map_err(|error| format!("the agents: {error}"))?;
        let machine = Name::new(&raw.machine.id).ok_or("the agents: the machine's ID is none")?;
        Ok(Told { machine: machine.into(), agents: raw.agents.into_iter().filter_map(Agent::of).collect() })
    }
}

impl Agent {
    fn of(raw: RawAgent) -> Option<Agent> {
        let turns = raw.home.map(|home| {
            let measures = raw.measures.unwrap_or_else(|| PathBuf::from(".lnk/measures.jsonl"));
            Place::below(&home, &measures).ok_or(Refused::Elsewhere)
        });
        let times = raw.settings.and_then(|settings| Place::below(&settings, "times.jsonl".as_ref()));
        Some(Agent {
            id: Name::new(&raw.id)?.into(),
            name: raw.name.as_deref().and_then(Name::new),
            owner: raw.owner.as_deref().and_then(Name::new),
            teams: raw.teams.iter().filter_map(|team| Name::new(team)).collect(),
            started: raw.started,
            running: raw.running,
            turns,
            times,
            proxies: raw.traffic.map(|proxies| proxies.into_iter().filter_map(Proxy::of).collect()),
        })
    }
}

impl Proxy {
    fn of(raw: RawProxy) -> Option<Proxy> {
        let RawProxy { received, sent, model, .. } = raw;
        let [requests, unmetered, input, output, cached, cache_written] = raw.tokens.map_or([0; 6], |tokens| {
            let RawTokens { requests, unmetered, input, output, cached, cache_written } = tokens;
            [requests, unmetered, input, output, cached, cache_written]
        });
        let counts = [received, sent, requests, unmetered, input, output, cached, cache_written];
        // One that doesn't say when it began is taken to have begun before anybody watched.
        let since = raw.since.unwrap_or(0.0);
        Some(Proxy { counter: Counter { run: Name::new(&raw.proxy)?, since, counts }, model })
    }
}
