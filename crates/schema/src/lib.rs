//! The vocabulary of `lnk measure`: the measures and how each adds up, units and their names, a look.
//!
//! Nothing here does I/O, and nothing here knows a system: `sample`, `report` and `store` all speak these words.

mod look;
mod measures;
mod names;
pub mod programs;
mod whole;

pub use look::{Look, Unit, UnitKind, Values, add_up};
pub use measures::{Kind, Measure, RollUp, SaidBy};
pub use names::{Name, UnitId};
pub use whole::{decimals, to_value, to_whole};
