//! Additions to the tokens files, for TypeScript.

use std::path::PathBuf;

use lnk_ledger::{Added, Counts, LedgerError, add};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Task};
use napi_derive::napi;

/// One addition, away from the event loop: it waits for the disk.
pub struct Addition {
    folder: PathBuf,
    name: String,
    counts: Counts,
    run: String,
    since: f64,
}

impl Addition {
    fn new(folder: String, name: String, counts: &[f64], run: String, since: f64) -> Addition {
        let at = |place: usize| counts.get(place).copied().map_or(0, saturating);
        let counts = Counts {
            requests: at(0),
            unmetered: at(1),
            input: at(2),
            output: at(3),
            cached: at(4),
            cache_written: at(5),
        };
        Addition { folder: folder.into(), name, counts, run, since }
    }

    fn add(&self) -> std::result::Result<Added, LedgerError> {
        add(&self.folder, &self.name, self.counts, &self.run, self.since)
    }
}

impl Task for Addition {
    type Output = Option<String>;
    type JsValue = Option<String>;

    fn compute(&mut self) -> Result<Self::Output> {
        set_aside(self.add())
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output)
    }
}

/// Adds `counts` (`requests, unmetered, input, output, cached, cacheWritten`) to `<folder>/<name>.json`. Answers where
/// a damaged file was set aside. Rejects where nothing was added.
#[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
pub fn add_tokens(folder: String, name: String, counts: &[f64], run: String, since: f64) -> AsyncTask<Addition> {
    AsyncTask::new(Addition::new(folder, name, counts, run, since))
}

/// As `addTokens`, before it returns: for a process that is about to end.
#[napi(catch_unwind)]
pub fn add_tokens_now(folder: String, name: String, counts: &[f64], run: String, since: f64) -> Result<Option<String>> {
    set_aside(Addition::new(folder, name, counts, run, since).add())
}

fn set_aside(added: std::result::Result<Added, LedgerError>) -> Result<Option<String>> {
    let added = added.map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(added.set_aside.map(|path| path.display().to_string()))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is what is wanted")]
fn saturating(value: f64) -> u64 {
    value as u64
}
