//! Looking at a system.
