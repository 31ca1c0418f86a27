//! Looks as requests of OTLP over HTTP with JSON (opentelemetry-proto 1.x, `ExportMetricsServiceRequest`).
//!
//! A unit is a resource. A level or a peak is a gauge; a total, a step or what is counted per turn is a cumulative,
//! monotonic sum; a time that doesn't add up is a gauge with a point each. What is absent has no point, and what has no
//! point no metric. 64-bit numbers are decimal strings, as proto3's JSON has them.

mod exporter;
mod request;
mod sums;
mod units;

pub use exporter::{Exporter, encode_levels};
pub use units::encode_units;
