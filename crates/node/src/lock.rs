//! The lock that says a watcher runs, for TypeScript.

use std::path::Path;
use std::time::Duration;

use lnk_store::{Holder, Lock, Taken};
use napi::{Error, Result};
use napi_derive::napi;
use serde_json::json;

/// The lock of a measure folder, held as long as this process lives.
#[napi(js_name = "Lock")]
pub struct BindingLock {
    lock: Option<Lock>,
    holder: Option<Holder>,
}

#[napi]
impl BindingLock {
    /// Asks for the lock; `holder()` then says who has it, if another does. Throws if `watch.lock` can't be locked.
    #[napi(constructor, catch_unwind)]
    pub fn new(folder: String, at_ms: f64) -> Result<BindingLock> {
        let at_ms = crate::store::whole(at_ms)?;
        match Lock::take(Path::new(&folder), at_ms).map_err(|error| Error::from_reason(error.to_string()))? {
            Taken::Ours(lock) => Ok(BindingLock { lock: Some(lock), holder: None }),
            Taken::Held(holder) => Ok(BindingLock { lock: None, holder: Some(holder) }),
        }
    }

    /// Whether this process has it.
    #[napi(getter, catch_unwind)]
    pub fn held(&self) -> bool {
        self.lock.is_some()
    }

    /// Another that has it, as `lockHolder` gives it; null if this process has it.
    #[napi(catch_unwind)]
    pub fn holder(&self) -> Option<String> {
        self.holder.map(json_of)
    }
}

fn json_of(Holder { pid, since_ms, is_watcher }: Holder) -> String {
    let since = since_ms.map(|ms| ms as f64 / 1000.0);
    json!({ "pid": pid, "since": since, "isWatcher": is_watcher }).to_string()
}

/// Who holds the lock of a measure folder, as JSON: `{pid, since, isWatcher}`, `since` in seconds since 1970; null if
/// nobody does. Not to be asked by the process that holds it. Throws if `watch.lock` can't be asked.
#[napi(catch_unwind)]
pub fn lock_holder(folder: String) -> Result<Option<String>> {
    let holder = lnk_store::holder(Path::new(&folder)).map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(holder.map(json_of))
}

/// Ends the watcher of a measure folder in order and waits until it has ended; gives back its process, or null if there
/// was none. Throws if it runs on, or isn't one to be signalled; the message says which.
#[napi(catch_unwind)]
pub fn stop_watcher(folder: String, patience_ms: u32) -> Result<Option<u32>> {
    lnk_store::stop(Path::new(&folder), Duration::from_millis(patience_ms.into()))
        .map_err(|error| Error::from_reason(error.to_string()))
}
