//! A run of a command, for TypeScript.

use std::sync::Mutex;

use lnk_run::{Plan, Rest, RunError, Running};
use napi::bindgen_prelude::AsyncTask;
use napi::{Error, Result};
use napi_derive::napi;
use serde_json::json;

use crate::task::Work;

/// A command that runs, and this process around it.
#[napi(js_name = "Run")]
pub struct BindingRun {
    running: Mutex<Option<Running>>,
    who: String,
    rest: Rest,
}

#[napi]
impl BindingRun {
    /// Starts a command, once in a process's life. `plan` is JSON: `{words, variables: [[NAME, VALUE or null]],
    /// descriptors, group, folder, except}`. Throws where it can't be started; the message is then JSON: `{code, message}`.
    #[napi(constructor, catch_unwind)]
    pub fn new(plan: String) -> Result<BindingRun> {
        let failed =
            |code: i32, message: String| Error::from_reason(json!({ "code": code, "message": message }).to_string());
        let plan: Plan = serde_json::from_str(&plan).map_err(|error| failed(1, error.to_string()))?;
        let running = Running::start(plan).map_err(|error: RunError| failed(error.code, error.to_string()))?;
        let who = serde_json::to_string(&running.who()).map_err(|error| Error::from_reason(error.to_string()))?;
        let rest = running.rest();
        Ok(BindingRun { running: Mutex::new(Some(running)), who, rest })
    }

    /// Who it is, as JSON: `{pid, start, cgroup, groupDirs}`.
    #[napi(getter, catch_unwind)]
    pub fn who(&self) -> String {
        self.who.clone()
    }

    /// Seconds from its start until it first came to rest; null until then.
    #[napi(getter, catch_unwind)]
    pub fn started_in(&self) -> Option<f64> {
        self.rest.after().map(|after| after.as_secs_f64())
    }

    /// Waits until it has ended: what it took, as JSON. To be asked once.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn wait(&self) -> AsyncTask<Work<String>> {
        let running = self.running.lock().ok().and_then(|mut running| running.take());
        Work::hand_over(move || {
            let running = running.ok_or_else(|| Error::from_reason("this run was waited for already"))?;
            let outcome = running.wait().map_err(|error| Error::from_reason(error.to_string()))?;
            serde_json::to_string(&outcome).map_err(|error| Error::from_reason(error.to_string()))
        })
    }
}

/// The descriptors this process was started with. To be asked before it opens any of its own.
#[napi(catch_unwind)]
pub fn inherited_descriptors() -> Vec<i32> {
    lnk_run::inherited()
}

/// Ends this process at once as a command ended: with its exit code, or by its signal.
#[napi(catch_unwind)]
pub fn end_as(code: i32, signal: Option<i32>) {
    lnk_run::end_as(code, signal);
}
