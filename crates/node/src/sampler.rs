//! The sampler and its looks, for TypeScript.

use std::path::Path;
use std::sync::Arc;

use lnk_sample::Why;
use lnk_sample::cost::Missing;
use lnk_sample::linux::sampler::Sampler;
use lnk_sample::report::{AgentReport, Report, SourceReport};
use lnk_sample::request::Request;
use lnk_schema::Look;
use napi::{Error, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::store::BindingStore;

/// CPU milliseconds a look may spend on reading memory, where the caller doesn't say.
const MEMORY_BUDGET_MS: f64 = 5.0;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    pss_budget_ms: Option<f64>,
    root: Option<String>,
}

/// Looks at this machine, again and again: what is kept from look to look makes each one cheap and right.
#[napi(js_name = "Sampler")]
pub struct BindingSampler(Sampler);

#[napi]
impl BindingSampler {
    /// `options` is JSON: `{pssBudgetMs?, root?}`. Throws if there is no `/proc` to look at.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String) -> Result<BindingSampler> {
        let options: Options = serde_json::from_str(&options).map_err(|error| Error::from_reason(error.to_string()))?;
        let root = options.root.as_deref().unwrap_or("/");
        let budget = options.pss_budget_ms.filter(|ms| ms.is_finite() && *ms > 0.0).unwrap_or(MEMORY_BUDGET_MS);
        let sampler =
            Sampler::open(Path::new(root), budget).map_err(|absent| Error::from_reason(absent.to_string()))?;
        Ok(BindingSampler(sampler))
    }

    /// Goes on from the last look a store has, so that no total falls or begins anew. `same_boot`: whether the machine is
    /// known not to have been started anew since.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, store: &BindingStore, same_boot: bool) {
        self.0.resume(store.last_units(), same_boot);
    }

    /// Looks. `request` is JSON: `{machine: {id, name}, agents: […], found}`. Throws if it isn't, or if the system gives
    /// no list of processes.
    #[napi(catch_unwind)]
    pub fn look(&mut self, request: String) -> Result<BindingLook> {
        let request = Request::from_json(&request).map_err(Error::from_reason)?;
        let (look, report) = self.0.look(&request).map_err(|absent| Error::from_reason(absent.to_string()))?;
        Ok(BindingLook { look: Arc::new(look), report })
    }
}

/// One look.
#[napi(js_name = "Look")]
pub struct BindingLook {
    /// Shared with the threads that keep it.
    look: Arc<Look>,
    report: Report,
}

#[napi]
impl BindingLook {
    /// The units as JSON: `{at, units: [{id, kind, parent, name, owner, teams, measures: {NAME: {now}}}]}`.
    #[napi(catch_unwind)]
    pub fn json(&self) -> Result<String> {
        serde_json::to_string(&*self.look).map_err(|error| Error::from_reason(error.to_string()))
    }

    /// What the look says of itself as JSON: `{elapsedMs, micros, sources: […], agents: […]}`.
    #[napi(catch_unwind)]
    pub fn report(&self) -> Result<String> {
        serde_json::to_string(&self.report).map_err(|error| Error::from_reason(error.to_string()))
    }
}

impl BindingLook {
    /// What of its report a person is shown: agents with a process that lost its parent or with memory that is an
    /// estimate, and what couldn't be read, in words of ours alone.
    pub fn shown(&self) -> Value {
        let Report { agents, sources, .. } = &self.report;
        let agents = agents.iter().filter(|agent| agent.estimated || !agent.orphans.is_empty());
        let agents = agents.map(|AgentReport { id, orphans, estimated, .. }| {
            json!({ "id": id, "orphans": orphans, "estimated": estimated })
        });
        let absent = |source: &SourceReport| -> Vec<Value> {
            // Ordinary at any look: a process that ended, a difference that needs another look.
            let missing = source.absent.iter().filter(|missing| !matches!(missing.why, Why::Gone | Why::NotYet));
            missing
                .map(|Missing { measures, why, count, .. }| {
                    let names: Vec<String> = measures.iter().map(|measure| measure.full_name()).collect();
                    json!({ "measures": names, "why": why, "count": count })
                })
                .collect()
        };
        let sources = sources.iter().map(|source| (source.source, absent(source))).filter(|(_, all)| !all.is_empty());
        let sources = sources.map(|(source, absent)| json!({ "source": source, "absent": absent }));
        json!({ "agents": agents.collect::<Vec<_>>(), "sources": sources.collect::<Vec<_>>() })
    }

    /// The look itself, for a thread that keeps it.
    pub fn share(&self) -> Arc<Look> {
        self.look.clone()
    }

    /// The same with other units.
    pub fn with(&self, look: Look) -> BindingLook {
        BindingLook { look: Arc::new(look), report: self.report.clone() }
    }
}
