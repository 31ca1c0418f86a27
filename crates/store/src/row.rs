//! A unit as a line knows it.

use lnk_schema::{Kind, Look, Measure, Name, Unit, UnitId, UnitKind};

use crate::numbers::{Numbers, to_whole};

/// What a unit is, carried from its first line in a file to its later ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    /// Absent only where the line that said it could not be read.
    pub kind: Option<UnitKind>,
    pub parent: Option<UnitId>,
    pub name: Option<Name>,
    pub owner: Option<Name>,
    pub teams: Vec<Name>,
    /// When its totals began, in nanoseconds since 1970.
    pub since_ns: Option<u64>,
}

/// A unit of one look, or of one minute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub id: UnitId,
    pub names: Names,
    pub numbers: Numbers,
    /// One value a turn or answer; in a minute's, a sum has one.
    pub turns: Vec<(Measure, u64)>,
}

impl Row {
    fn of(unit: &Unit) -> Row {
        let names = Names {
            kind: Some(unit.kind),
            parent: unit.parent.clone(),
            name: unit.name.clone(),
            owner: unit.owner.clone(),
            teams: unit.teams.clone(),
            since_ns: unit.since_ns,
        };
        let turns = unit.turns.iter().filter(|(m, value)| m.kind() == Kind::Turn && value.is_finite() && *value >= 0.0);
        let turns = turns.map(|&(measure, value)| (measure, to_whole(measure, value))).collect();
        Row { id: unit.id.clone(), names, numbers: Numbers::of(&unit.values), turns }
    }
}

/// The rows of a look; `processes`: those of its processes too.
pub(crate) fn rows_of(look: &Look, processes: bool) -> Vec<Row> {
    let kept = |unit: &&Unit| processes || !matches!(unit.kind, UnitKind::Process | UnitKind::Sandbox);
    look.units.iter().filter(kept).map(Row::of).collect()
}
