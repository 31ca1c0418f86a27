//! What one line says.

use lnk_schema::Measure;

/// One line's values: a turn's, or a start's or stop's. Each is finite, zero or more, and within its measure's bounds.
///
/// A measure that adds up is there once, its points summed; one that doesn't is there as often as the line said it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn(pub Vec<(Measure, f64)>);
