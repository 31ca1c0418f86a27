//! The store, for TypeScript.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lnk_report::{Baseline, Counted};
use lnk_sample::request::Traffic;
use lnk_sample::track::resume::LastUnit;
use lnk_schema::UnitId;
use lnk_store::{Cost, Day, LastTotals, Now, Resumed, Settings, Store, StoreError};
use napi::bindgen_prelude::AsyncTask;
use napi::{Error, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;

use crate::sampler::BindingLook;
use crate::task::Work;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettingsJson {
    keep_fine_ms: u64,
    keep_minutes_ms: u64,
    processes: bool,
}

fn parse_settings(json: &str) -> Result<Settings> {
    let SettingsJson { keep_fine_ms, keep_minutes_ms, processes } =
        serde_json::from_str(json).map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(Settings { keep_fine_ms, keep_minutes_ms, processes })
}

fn failed(error: StoreError) -> Error {
    Error::from_reason(error.to_string())
}

/// A JavaScript number as a whole one.
pub fn whole(number: f64) -> Result<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    if (0.0..9_007_199_254_740_992.0).contains(&number) {
        Ok(number.round() as u64)
    } else {
        Err(Error::from_reason(format!("{number} is no time or size")))
    }
}

/// The store of a measure folder. Whoever has one holds the folder's lock.
#[napi(js_name = "Store")]
pub struct BindingStore {
    store: Arc<Store>,
    resumed: Resumed,
}

#[napi]
impl BindingStore {
    /// `settings` is JSON: `{keepFineMs, keepMinutesMs, processes}`. Throws if the folder can't be read, made or mended.
    #[napi(constructor, catch_unwind)]
    pub fn new(folder: String, settings: String) -> Result<BindingStore> {
        let (store, resumed) = Store::open(Path::new(&folder), parse_settings(&settings)?).map_err(failed)?;
        Ok(BindingStore { store: Arc::new(store), resumed })
    }

    /// What was kept before, as JSON: `{counted, lastLook, notes}`: what the last look had counted up to as text (null if
    /// that isn't sure), its time in seconds since 1970, and what was found and mended, a sentence each.
    #[napi(catch_unwind)]
    pub fn resumed(&self) -> String {
        json!({ "counted": self.resumed.counted, "lastLook": self.last_look(), "notes": self.resumed.notes })
            .to_string()
    }

    /// Settings that hold from the next look; JSON as the constructor's.
    #[napi(catch_unwind)]
    pub fn set(&self, settings: String) -> Result<()> {
        self.store.set(parse_settings(&settings)?);
        Ok(())
    }

    /// Keeps a look and, in the same write, `counted`: an object of JSON on one line. Gives back what went wrong beside it.
    /// Rejects if the look isn't kept.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn append(&self, look: &BindingLook, counted: String) -> AsyncTask<Work<Option<String>>> {
        let (store, look) = (self.store.clone(), look.share());
        Work::hand_over(move || {
            store.append(&look, &counted).map(|aside| aside.map(|error| error.to_string())).map_err(failed)
        })
    }

    /// Replaces `now.json` by the look kept last; `cpu` (core-seconds) and `memory` (bytes) are what the watcher costs.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn write_now(
        &self,
        look: &BindingLook,
        every_ms: f64,
        cpu: f64,
        memory: f64,
    ) -> Result<AsyncTask<Work<Option<String>>>> {
        let (store, report, look, every_ms) = (self.store.clone(), look.shown(), look.share(), whole(every_ms)?);
        let cost = Cost { cpu, memory: whole(memory)? };
        Ok(Work::hand_over(move || store.write_now(&look, every_ms, Some(cost), report).map(|()| None).map_err(failed)))
    }

    /// Replaces `day.json` and `counted.json`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn write_day(&self) -> AsyncTask<Work<Option<String>>> {
        let store = self.store.clone();
        Work::hand_over(move || store.write_day().map(|()| None).map_err(failed))
    }

    /// Compresses closed files and deletes old ones; gives back what went wrong, a sentence each.
    #[napi(catch_unwind, ts_return_type = "Promise<string[]>")]
    pub fn tidy(&self, now_ms: f64) -> Result<AsyncTask<Work<Vec<String>>>> {
        let (store, now_ms) = (self.store.clone(), whole(now_ms)?);
        Ok(Work::hand_over(move || Ok(store.tidy(now_ms).iter().map(ToString::to_string).collect())))
    }
}

impl BindingStore {
    /// Each unit's last totals, for the sampler.
    pub fn last_units(&self) -> impl Iterator<Item = LastUnit> + '_ {
        let counted = self.counted();
        self.resumed.totals.iter().cloned().filter_map(move |LastTotals { id, since_ns, totals }| {
            let runs = counted.proxies.get(&id).into_iter().flatten();
            let proxies = runs.map(|Baseline { run, counts: [received, sent, ..] }| Traffic {
                proxy: run.clone(),
                received: *received,
                sent: *sent,
            });
            Some(LastUnit { proxies: proxies.collect(), id, since_ns: since_ns?, totals })
        })
    }

    /// What everything had been counted up to at the last look.
    pub fn counted(&self) -> Counted {
        self.resumed.counted.as_deref().map(Counted::parse).unwrap_or_default()
    }

    /// The last look's time, in seconds since 1970.
    pub fn last_look(&self) -> Option<f64> {
        self.resumed.last_look_ms.map(|ms| ms as f64 / 1000.0)
    }
}

/// The 24 hours up to `at_ms` as JSON: `{day: {at, units: […]}, lastLook, skipped}`; `unit`: only this agent, its
/// processes, and the 24 hours each. Throws if the folder can't be read.
#[napi(catch_unwind)]
pub fn read_day(folder: String, at_ms: f64, unit: Option<String>) -> Result<String> {
    let unit = match unit.as_deref() {
        Some(text) => Some(UnitId::new(text).ok_or_else(|| Error::from_reason("that is no unit's ID"))?),
        None => None,
    };
    let day: Day = lnk_store::read_day(Path::new(&folder), whole(at_ms)?, unit.as_ref()).map_err(failed)?;
    let last_look = day.last_look_ms.map(|ms| ms as f64 / 1000.0);
    let text = serde_json::to_string(&day).map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(format!(r#"{{"day":{text},"lastLook":{},"skipped":{}}}"#, json!(last_look), json!(day.skipped)))
}

/// The watcher's last look as JSON: `{at, units: […], every, cost: {cpu, memory} | null, rates: {ID: cores}, report}`,
/// `every` in seconds, `rates` over the time since the look before, `report` as the look's own but only what a person is
/// shown of it; null if there is none to believe.
#[napi(catch_unwind)]
pub fn read_now(folder: String, at_ms: f64) -> Result<Option<String>> {
    let Some(Now { look, every_ms, cost, rates, report }) = lnk_store::read_now(Path::new(&folder), whole(at_ms)?)
    else {
        return Ok(None);
    };
    let text = serde_json::to_string(&look).map_err(|error| Error::from_reason(error.to_string()))?;
    let rates: BTreeMap<_, _> = rates.iter().map(|(id, rate)| (id.as_str(), rate)).collect();
    let rest = json!({ "every": every_ms as f64 / 1000.0, "cost": cost, "rates": rates, "report": report }).to_string();
    // Two objects made one: neither is empty.
    Ok(Some(format!("{},{}", &text[..text.len() - 1], &rest[1..])))
}
