//! What a number needs to be right over time.
