//! What is said whether a test passes or not.

use std::io::Write;

/// Says that something is not tested here. Past what captures a test's output, which shows it only where a test failed.
pub fn not_tested(what: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}");
}
