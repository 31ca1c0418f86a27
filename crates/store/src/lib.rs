//! What the watcher keeps, a line a look, and how a day is read back from it.
//!
//! A line is the commit: a look, and what its counters had been read to, are one write. Everything else (`now.json`,
//! `day.json`, `counted.json`, and minutes while fine files are there) can be made again from the lines.

mod append;
mod cache;
mod carry;
mod day;
mod digits;
mod error;
mod files;
mod json;
mod live;
mod load;
mod lock;
mod minute;
mod numbers;
mod pack;
mod read;
mod resume;
mod row;
mod side;
mod span;
mod store;
mod sums;
mod tidy;
mod window;
mod write;

pub use cache::{Cost, Now, read_now};
pub use day::{Day, DayUnit};
pub use error::StoreError;
pub use files::{Appending, Files, RealFiles};
pub use lock::{Holder, Lock, StopError, Taken, holder, stop};
pub use resume::{LastTotals, Resumed};
pub use store::{Settings, Store};
pub use window::{read_day, read_day_with, read_slices};
