//! Looks as OTLP, for TypeScript.

use lnk_schema::UnitId;
use napi::bindgen_prelude::Buffer;
use napi::{Error, Result};
use napi_derive::napi;

use crate::sampler::BindingLook;
use crate::store::whole;

/// What a sender keeps: the running totals of every unit, and the last look.
#[napi(js_name = "Exporter")]
pub struct BindingExporter(lnk_otlp::Exporter);

#[napi]
impl BindingExporter {
    /// `start_ms`: when totals of what is counted per look or turn begin, in milliseconds since 1970.
    #[napi(constructor, catch_unwind)]
    pub fn new(start_ms: f64) -> Result<BindingExporter> {
        Ok(BindingExporter(lnk_otlp::Exporter::new(whole(start_ms)?)))
    }

    /// Takes a look up, once, whether it is sent or not.
    #[napi(catch_unwind)]
    pub fn add(&mut self, look: &BindingLook) {
        self.0.add(look.share());
    }

    /// How many units of the last look are to be sent.
    #[napi(getter, catch_unwind)]
    pub fn units(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The body of a request of some of the units to be sent, from one place up to another; null if they have no point.
    #[napi(catch_unwind)]
    pub fn encode(&self, from: u32, to: u32) -> Option<Buffer> {
        self.0.encode(from as usize, to as usize).map(|text| text.into_bytes().into())
    }

    /// The ID of a unit to be sent, by its place.
    #[napi(catch_unwind)]
    pub fn unit_id(&self, place: u32) -> Option<String> {
        self.0.unit_id(place as usize).map(ToString::to_string)
    }

    /// Sends a unit no more. What is no ID is of no unit.
    #[napi(catch_unwind)]
    pub fn leave_out(&mut self, id: String) {
        if let Some(id) = UnitId::new(&id) {
            self.0.leave_out(id);
        }
    }
}

/// The body of a request of a look's levels and peaks alone; null if it has none.
#[napi(catch_unwind)]
pub fn encode_levels(look: &BindingLook) -> Option<Buffer> {
    lnk_otlp::encode_levels(&look.share()).map(|text| text.into_bytes().into())
}

/// A request of units given as JSON: `{at, machine?, units: [{id, kind, parent?, name?, owner?, teams?, since?,
/// measures: {NAME: value}}]}`, `at` and `since` in nanoseconds since 1970 as decimal strings; null if no unit has a
/// measure. Throws if it isn't that, and says what isn't.
#[napi(catch_unwind)]
pub fn encode_units(json: String) -> Result<Option<String>> {
    lnk_otlp::encode_units(&json).map_err(Error::from_reason)
}
