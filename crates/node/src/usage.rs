//! The usage scanner, for TypeScript.

use lnk_usage::{Answer, MAX_EVENT_BYTES, Usage, UsageScanner};
use napi_derive::napi;

/// Counts one answer's tokens as it passes, then another's: what Node does to make and to collect such an object costs more
/// than reading a short answer.
#[napi(js_name = "UsageScanner")]
pub struct BindingUsageScanner {
    /// As the answer began, for another like it.
    begun: Option<UsageScanner>,
    now: Option<UsageScanner>,
}

#[napi]
impl BindingUsageScanner {
    /// A scanner of nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> BindingUsageScanner {
        BindingUsageScanner { begun: None, now: None }
    }

    /// Begins an answer. `maxEventBytes` that isn't a positive number is the default.
    #[napi(catch_unwind)]
    pub fn begin(
        &mut self,
        method: String,
        path: String,
        status: u32,
        content_type: Option<String>,
        content_encoding: Option<String>,
        max_event_bytes: Option<f64>,
    ) {
        self.begun = Some(UsageScanner::new(&Answer {
            method: &method,
            path: &path,
            status: u16::try_from(status).unwrap_or(0),
            content_type: content_type.as_deref(),
            content_encoding: content_encoding.as_deref(),
            max_event_bytes: max_event_bytes.filter(|bytes| *bytes >= 1.0).map_or(MAX_EVENT_BYTES, saturating),
        }));
        self.again();
    }

    /// Begins another answer, of which the same is known as of the last one.
    #[napi(catch_unwind)]
    pub fn again(&mut self) {
        self.now.clone_from(&self.begun);
    }

    /// Reads the answer's next bytes. They are only borrowed.
    #[napi(catch_unwind)]
    pub fn push(&mut self, chunk: &[u8]) {
        if let Some(scanner) = &mut self.now {
            scanner.push(chunk);
        }
    }

    /// The answer is over: `[metered, input, output, cached, cacheWritten]`, or null if it was not a model's.
    #[napi(catch_unwind)]
    pub fn end(&mut self) -> Option<Vec<f64>> {
        let Usage { metered, input, output, cached, cache_written } = self.now.as_mut()?.end()?;
        Some(vec![f64::from(u8::from(metered)), input as f64, output as f64, cached as f64, cache_written as f64])
    }
}

/// Whether a request is for a model's answer.
#[napi(catch_unwind)]
pub fn is_answer(method: String, path: String) -> bool {
    lnk_usage::is_answer(&method, &path)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is what is wanted")]
fn saturating(value: f64) -> u64 {
    value as u64
}
