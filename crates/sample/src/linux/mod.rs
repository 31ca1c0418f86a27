//! Linux: `/proc`, `/sys` and the control groups.

pub mod file;
