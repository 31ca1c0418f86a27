//! Linux: `/proc`, `/sys` and the control groups.

pub mod cgroup;
pub mod disks;
pub mod file;
pub mod groups;
pub mod hidden;
pub mod holders;
mod kept;
pub mod layout;
pub mod machine;
pub mod network;
mod one_agent;
pub mod ports;
pub mod process;
pub mod sampler;
pub mod slow;
mod units;
