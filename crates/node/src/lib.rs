//! The Node addon: handles and conversions, no logic. The only crate that knows Node.

#![allow(clippy::needless_pass_by_value, reason = "napi hands arguments over by value")]

mod gather;
mod ledger;
mod lock;
mod otlp;
mod run;
mod sampler;
mod schema;
mod store;
mod task;
mod usage;
