//! What others say of the agents, for TypeScript.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lnk_report::{Beside, Gatherer, Place, Told};
use lnk_schema::Name;
use napi::bindgen_prelude::AsyncTask;
use napi::{Error, Result};
use napi_derive::napi;
use serde_json::json;

use crate::sampler::BindingLook;
use crate::store::BindingStore;
use crate::task::Work;

/// Follows what routes, harnesses and starters say of the agents. One gathering at a time: after each, `join` and `counted`
/// have what it found, until `kept` or `goBack`.
#[napi(js_name = "Gatherer")]
pub struct BindingGatherer(Arc<Mutex<Gatherer>>);

fn lock(gatherer: &Mutex<Gatherer>) -> MutexGuard<'_, Gatherer> {
    // A gathering that panicked found nothing, and everything is found again.
    gatherer.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl BindingGatherer {
    /// Goes on from the last look of a store; `tokens` is the folder of tokens files, `started` when the watcher did, in
    /// seconds since 1970, `boot` which start of the machine this is.
    #[napi(constructor, catch_unwind)]
    pub fn new(tokens: String, store: &BindingStore, started: f64, boot: Option<String>) -> BindingGatherer {
        let mut counted = store.counted();
        counted.boot = boot.as_deref().and_then(Name::new);
        let gatherer = Gatherer::new(Path::new(&tokens), counted, store.last_look().unwrap_or(started));
        BindingGatherer(Arc::new(Mutex::new(gatherer)))
    }

    /// Reads what was said since, at `at` in seconds since 1970. `told` is a look's request, of which each agent may also
    /// have `running`, `home`, `measures` and `settings`. Gives what went wrong, a sentence each. Takes a second at most
    /// for the files of others.
    #[napi(catch_unwind, ts_return_type = "Promise<string[]>")]
    pub fn gather(&self, told: String, at: f64) -> AsyncTask<Work<Vec<String>>> {
        let gatherer = self.0.clone();
        Work::hand_over(move || {
            let told = Told::from_json(&told).map_err(Error::from_reason)?;
            let problems = lock(&gatherer).gather(&told, at);
            Ok(problems.iter().map(|(agent, note)| format!("{agent}: {note}")).collect())
        })
    }

    /// A look with what was found.
    #[napi(catch_unwind)]
    pub fn join(&self, look: &BindingLook) -> BindingLook {
        look.with(lock(&self.0).join(&look.share()))
    }

    /// What the line of a look with what was found is to say: an object of JSON on one line.
    #[napi(catch_unwind)]
    pub fn counted(&self) -> String {
        lock(&self.0).counted().to_json()
    }

    /// What was found is in a line that was kept.
    #[napi(catch_unwind)]
    pub fn kept(&self) {
        lock(&self.0).kept();
    }

    /// What was found could not be kept: the next gathering finds it again.
    #[napi(catch_unwind)]
    pub fn go_back(&self) {
        lock(&self.0).go_back();
    }
}

/// Adds up what a harness says from now on, beside whoever else reads it.
#[napi(js_name = "Turns")]
pub struct BindingTurns(Mutex<Beside>);

#[napi]
impl BindingTurns {
    /// `file` is below `home`. Throws if it isn't.
    #[napi(constructor, catch_unwind)]
    pub fn new(home: String, file: String) -> Result<BindingTurns> {
        let place = Place::below(Path::new(&home), Path::new(&file));
        let place = place.ok_or_else(|| Error::from_reason("a harness's file is not below its home"))?;
        Ok(BindingTurns(Mutex::new(Beside::begin(place))))
    }

    /// Reads what was said since, and gives what was said in all as JSON: numbers by name, of what was said.
    #[napi(catch_unwind)]
    pub fn read(&self) -> String {
        let mut beside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        beside.read();
        let said: BTreeMap<&str, f64> = beside.said().map(|(measure, value)| (measure.name(), value)).collect();
        json!(said).to_string()
    }
}
