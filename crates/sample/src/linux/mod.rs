//! Linux: `/proc`, `/sys` and the control groups.

pub mod file;
pub mod process;
pub mod slow;
