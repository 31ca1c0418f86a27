//! What a number needs to be right over time: who belongs to whom, what was counted already, what is worth reading again.

pub mod agent;
pub mod pss;
pub mod resume;
mod settle;
pub mod tree;
