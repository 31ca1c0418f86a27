//! What a look says of itself: what each source cost, what is absent and why, how each agent was looked at.

use serde::Serialize;

use crate::cost::{Cost, Missing};
use crate::request::From;
use crate::track::agent::Totals;

/// One source at one look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReport {
    /// The file or call: `/proc/<pid>/stat`.
    pub source: &'static str,
    /// What it cost.
    #[serde(flatten)]
    pub cost: Cost,
    /// What it couldn't say.
    pub absent: Vec<Missing>,
}

/// How one agent was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// Its ID.
    pub id: String,
    /// Where it is known from.
    pub from: From,
    /// Where its CPU time is from: with a control group of its own, its processes are the group's.
    pub by: Totals,
    /// Where its disk bytes are from.
    pub disk_by: Totals,
    /// Members whose parent is gone.
    pub orphans: Vec<u32>,
    /// Whether part of its memory is carried forward from an earlier read by more than 2 %.
    pub estimated: bool,
}

/// A look's own report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Milliseconds since this sampler's look before, on the clock that no one sets.
    pub elapsed_ms: Option<f64>,
    /// Wall time the look took, in microseconds.
    pub micros: f64,
    /// Every source.
    pub sources: Vec<SourceReport>,
    /// Every agent.
    pub agents: Vec<AgentReport>,
}
