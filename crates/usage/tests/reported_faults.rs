//! Faults others reported of their counting don't happen here, however the answer is cut.

mod common;

#[test]
fn every_reported_fault_counts_right() {
    for case in common::reported::cases() {
        case.check();
    }
}
