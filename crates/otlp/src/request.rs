//! The text of one request.

use std::fmt::Write;

use lnk_schema::{Look, Measure, Unit, UnitId, UnitKind, decimals, to_value};

/// A measure's points in one request. Times are in nanoseconds since 1970, values as [`lnk_schema::to_whole`] makes them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Points {
    /// How much there is at a time, or at several.
    Gauge(Vec<(u64, u64)>),
    /// What was added up since a time, if that is known.
    Sum { start_ns: Option<u64>, points: Vec<(u64, u64)> },
}

/// `ExportMetricsServiceRequest`, a resource a unit.
pub(crate) struct Request {
    text: String,
    is_empty: bool,
}

/// What a unit's points take, about, so that the text is laid out once.
const BYTES_A_UNIT: usize = 2048;

impl Request {
    pub fn new(units: usize) -> Request {
        let mut text = String::with_capacity(units * BYTES_A_UNIT);
        text.push_str(r#"{"resourceMetrics":["#);
        Request { text, is_empty: true }
    }

    /// Adds a unit; one without a point isn't there.
    pub fn add(&mut self, unit: &Unit, machine: Option<&UnitId>, measures: impl Iterator<Item = (Measure, Points)>) {
        let before = self.text.len();
        if !self.is_empty {
            self.text.push(',');
        }
        self.push_resource(unit, machine);
        let scope = concat!(
            r#","scopeMetrics":[{"scope":{"name":"lnk-measure","version":""#,
            env!("CARGO_PKG_VERSION"),
            r#""},"metrics":["#
        );
        self.text.push_str(scope);
        let empty = self.text.len();
        for (measure, points) in measures {
            if self.text.len() > empty {
                self.text.push(',');
            }
            self.push_metric(measure, &points);
        }
        if self.text.len() == empty {
            self.text.truncate(before);
        } else {
            self.text.push_str("]}]}");
            self.is_empty = false;
        }
    }

    /// The request, or nothing if no unit has a point.
    pub fn finish(mut self) -> Option<String> {
        self.text.push_str("]}");
        (!self.is_empty).then_some(self.text)
    }

    // No text here is escaped: a name or an ID can't hold what JSON would have escaped.

    fn push_resource(&mut self, unit: &Unit, machine: Option<&UnitId>) {
        self.text.push_str(r#"{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"link"}}"#);
        self.push_attribute("service.instance.id", unit.id.as_str());
        self.push_attribute("link.unit.id", unit.id.as_str());
        self.push_attribute("link.unit.kind", unit.kind.as_str());
        let optional = [
            ("link.unit.parent", unit.parent.as_ref().map(UnitId::as_str)),
            ("link.unit.name", unit.name.as_ref().map(lnk_schema::Name::as_str)),
            ("link.machine.id", machine.map(UnitId::as_str)),
            ("link.owner.id", unit.owner.as_ref().map(lnk_schema::Name::as_str)),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                self.push_attribute(key, value);
            }
        }
        if !unit.teams.is_empty() {
            self.text.push_str(r#",{"key":"link.team.ids","value":{"arrayValue":{"values":["#);
            for (place, team) in unit.teams.iter().enumerate() {
                self.text.push_str(if place == 0 { r#"{"stringValue":""# } else { r#",{"stringValue":""# });
                self.text.push_str(team.as_str());
                self.text.push_str(r#""}"#);
            }
            self.text.push_str("]}}}");
        }
        self.text.push_str("]}");
    }

    fn push_attribute(&mut self, key: &str, value: &str) {
        for part in [r#",{"key":""#, key, r#"","value":{"stringValue":""#, value, r#""}}"#] {
            self.text.push_str(part);
        }
    }

    fn push_metric(&mut self, measure: Measure, points: &Points) {
        for part in [r#"{"name":"link."#, measure.name(), r#"","#] {
            self.text.push_str(part);
        }
        if !measure.unit().is_empty() {
            for part in [r#""unit":""#, measure.unit(), r#"","#] {
                self.text.push_str(part);
            }
        }
        match points {
            Points::Gauge(points) => {
                self.text.push_str(r#""gauge":{"dataPoints":["#);
                self.push_points(measure, None, points);
                self.text.push_str("]}}");
            }
            Points::Sum { start_ns, points } => {
                self.text.push_str(r#""sum":{"dataPoints":["#);
                self.push_points(measure, *start_ns, points);
                self.text.push_str(r#"],"aggregationTemporality":2,"isMonotonic":true}}"#);
            }
        }
    }

    fn push_points(&mut self, measure: Measure, start_ns: Option<u64>, points: &[(u64, u64)]) {
        for (place, &(at_ns, whole)) in points.iter().enumerate() {
            self.text.push_str(if place == 0 { "{" } else { ",{" });
            if let Some(start) = start_ns {
                // Writing to a `String` never fails.
                let _ = write!(self.text, r#""startTimeUnixNano":"{start}","#);
            }
            let _ = if decimals(measure) == 0 {
                // A point's integer is signed: a sum stops at the largest there is.
                let whole = whole.min(i64::MAX.unsigned_abs());
                write!(self.text, r#""timeUnixNano":"{at_ns}","asInt":"{whole}"}}"#)
            } else {
                write!(self.text, r#""timeUnixNano":"{at_ns}","asDouble":{}}}"#, to_value(measure, whole))
            };
        }
    }
}

/// The machine a look is of.
pub(crate) fn machine_of(look: &Look) -> Option<&UnitId> {
    look.units.iter().find(|unit| unit.kind == UnitKind::Machine).map(|unit| &unit.id)
}
