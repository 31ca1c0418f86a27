//! Additions to the tokens files, for TypeScript.

use std::path::Path;

use lnk_ledger::{Counts, add};
use napi::bindgen_prelude::AsyncTask;
use napi::{Error, Result};
use napi_derive::napi;

use crate::task::Work;

/// Adds `counts` (`requests, unmetered, input, output, cached, cacheWritten`) to `<folder>/<name>.json`. Answers where
/// a damaged file was set aside. Rejects where nothing was added.
#[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
pub fn add_tokens(
    folder: String,
    name: String,
    counts: &[f64],
    run: String,
    since: f64,
) -> AsyncTask<Work<Option<String>>> {
    let counts = counts_of(counts);
    Work::hand_over(move || add_now(&folder, &name, counts, &run, since))
}

/// As `addTokens`, before it returns: for a process that is about to end.
#[napi(catch_unwind)]
pub fn add_tokens_now(folder: String, name: String, counts: &[f64], run: String, since: f64) -> Result<Option<String>> {
    add_now(&folder, &name, counts_of(counts), &run, since)
}

fn add_now(folder: &str, name: &str, counts: Counts, run: &str, since: f64) -> Result<Option<String>> {
    let added =
        add(Path::new(folder), name, counts, run, since).map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(added.set_aside.map(|path| path.display().to_string()))
}

fn counts_of(counts: &[f64]) -> Counts {
    let at = |place: usize| counts.get(place).copied().map_or(0, saturating);
    Counts { requests: at(0), unmetered: at(1), input: at(2), output: at(3), cached: at(4), cache_written: at(5) }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is what is wanted")]
fn saturating(value: f64) -> u64 {
    value as u64
}
