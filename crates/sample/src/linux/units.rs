//! The units of an agent: its memory from its processes', and each process as a unit.

use lnk_schema::{Measure, Name, Unit, UnitId, UnitKind, programs};

use crate::Why;
use crate::cost::Missing;
use crate::linux::sampler::Absences;
use crate::track::tree::Tracked;

/// How much memory that waits for its first read an agent's memory may leave out: one part in this many.
const LEFT_OUT_PART: u64 = 50;

/// An agent's memory: its processes', as far as they say. Absent while what hasn't been read yet could change it much.
pub(super) fn memory_of(members: &[&Tracked], id: &UnitId, absences: &mut Absences) -> (Option<f64>, bool) {
    let (mut known_bytes, mut unread_bytes, mut read, mut estimated) = (0_u64, 0_u64, 0, false);
    for member in members {
        match member.memory.in_use(member.sample.resident_bytes) {
            Ok(in_use) => {
                known_bytes = known_bytes.saturating_add(in_use.bytes);
                estimated |= in_use.estimated;
                read += 1;
            }
            Err(absent) => {
                if absent.why == Why::NotYet {
                    unread_bytes = unread_bytes.saturating_add(member.sample.resident_bytes);
                }
                // One that ended before it was read holds nothing any more.
                if absent.why != Why::Gone {
                    let measures = [Measure::MemoryUsed, Measure::MemoryPeak];
                    Missing::note(&mut absences.memory, id.as_str(), &measures, &absent);
                }
            }
        }
    }
    let enough = read > 0 && unread_bytes <= known_bytes / LEFT_OUT_PART;
    (enough.then_some(known_bytes as f64), estimated)
}

pub(super) fn process_unit(agent: &UnitId, known: &Tracked, since_ns: Option<u64>, ports: Option<usize>) -> Unit {
    let name = known.program.name;
    let kind = if name.is_some_and(programs::is_sandbox) { UnitKind::Sandbox } else { UnitKind::Process };
    let mut unit = Unit::new(UnitId::process(agent, known.pid()), kind);
    unit.parent = Some(agent.clone());
    unit.name = name.and_then(Name::new);
    unit.since_ns = since_ns;
    let memory = known.memory.in_use(known.sample.resident_bytes).ok().map(|in_use| in_use.bytes as f64);
    unit.values.set(Measure::MemoryUsed, memory);
    unit.values.set(Measure::MemoryPeak, memory.map(|bytes| known.memory.peak_bytes(bytes)));
    unit.values.set(Measure::CpuUsed, Some(known.sample.own_cpu_usec as f64 / 1e6));
    if let Some(Ok(disk)) = &known.sample.disk {
        unit.values.set(Measure::DiskRead, Some(disk.read as f64));
        unit.values.set(Measure::DiskWritten, Some(disk.written as f64));
    }
    unit.values.set(Measure::Processes, Some(1.0));
    unit.values.set(Measure::Ports, ports.map(|count| count as f64));
    unit
}

pub(super) fn found_id(machine: &UnitId, program: &str) -> UnitId {
    let id = format!("{machine}:{program}");
    // A machine's ID may be as long as a name may be: then its found agents stand in for themselves.
    Name::new(&id).unwrap_or_else(|| Name::stand_in("agent", id.as_bytes())).into()
}

pub(super) fn ticks_ns(ticks: u64, ticks_per_second: u64) -> u64 {
    let ns = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
