//! What looks like usage isn't counted, and what is usage in disguise is, however the answer is cut.

mod common;

#[test]
fn only_usage_is_usage() {
    for case in common::look_alikes::cases() {
        case.check();
    }
}
