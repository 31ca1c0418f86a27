//! Looking at a system: what each process, control group and device says of itself, from outside.
//!
//! [`parse`] turns bytes into numbers and touches nothing. `linux` opens and reads, a file a source. [`track`] keeps
//! what a number needs to be right over time: who a process is, what it last said, when a counter began anew.

mod absent;
pub mod cost;
pub mod parse;
pub mod report;
pub mod request;

#[cfg(target_os = "linux")]
pub mod linux;
mod system;
pub mod track;

pub use absent::{Absent, Why};
pub use system::{DiskBytes, Identity, ProcessSample, Processes, Program};
