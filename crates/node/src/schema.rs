//! The schema, for TypeScript.

use lnk_schema::{Kind, Measure, RollUp, SaidBy};
use napi_derive::napi;

/// The measures table as JSON: `[{name, unit, kind, rollUp, saidBy}]`, names with their `link.`.
#[napi(catch_unwind)]
pub fn measures() -> String {
    let rows: Vec<_> = Measure::ALL
        .iter()
        .map(|measure| {
            serde_json::json!({
                "name": measure.full_name(),
                "unit": measure.unit(),
                "kind": match measure.kind() {
                    Kind::Level => "level",
                    Kind::Peak => "peak",
                    Kind::Total => "total",
                    Kind::Step => "step",
                    Kind::Turn => "turn",
                },
                "rollUp": match measure.roll_up() {
                    RollUp::Sum => "sum",
                    RollUp::Max => "max",
                    RollUp::Own => "own",
                },
                "saidBy": match measure.said_by() {
                    SaidBy::Look => "look",
                    SaidBy::Proxy => "proxy",
                    SaidBy::Harness => "harness",
                    SaidBy::Route => "route",
                    SaidBy::RouteElseHarness => "route, else harness",
                    SaidBy::Times => "times",
                    SaidBy::Relay => "relay",
                },
            })
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// This addon's version, which must be the package's own.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
