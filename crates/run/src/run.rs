//! One run of a command, from before its start to what it took.

use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lnk_sample::parse::stat::parse_stat;
use lnk_sample::{Absent, DiskBytes};
use serde::{Deserialize, Serialize};

use crate::folder::Folder;
use crate::forks::Forks;
use crate::group::{OwnGroup, text_of};
use crate::look::{Left, Looker, Rest, Seen};
use crate::spawn::{Variable, spawn, words_as_given};
use crate::wait::{self, End, Reaped};
use crate::{RunError, signals};

/// A stop that takes longer isn't kept: whatever it was, it was no stop.
const LONGEST_STOP: Duration = Duration::from_secs(10);

/// What is to be run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The command's words: its program and its arguments.
    pub words: Vec<String>,
    /// What of its environment isn't this process's.
    pub variables: Vec<Variable>,
    /// The descriptors it is to have, as [`inherited`](crate::inherited) gave them when this process began.
    pub descriptors: Vec<i32>,
    /// What its control group is called, if one can be made.
    pub group: String,
    /// The folder whose growth is told.
    pub folder: PathBuf,
    /// A folder in it, maybe, whose growth isn't: the one this program itself writes to.
    pub except: PathBuf,
}

/// A command that runs.
pub struct Running {
    child: Child,
    start_ticks: Option<u64>,
    began: Instant,
    group: Result<OwnGroup, Absent>,
    forks: Result<Forks, Absent>,
    folder: Folder,
    looking: Result<(Sender<()>, JoinHandle<Looker>), Absent>,
    rest: Rest,
}

/// Who a command that runs is, as the watcher knows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Who {
    /// Its main process.
    pub pid: u32,
    /// When that started, in clock ticks since boot.
    pub start: Option<u64>,
    /// Its control group's version 2 path.
    pub cgroup: Option<String>,
    /// The directories of its control group: to be removed once it is empty.
    pub group_dirs: Vec<PathBuf>,
}

/// What a command took. What isn't known is null, and `absent` says why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Its exit code; null if it ended by a signal.
    pub code: Option<i32>,
    /// The signal's number.
    pub signal: Option<i32>,
    /// Seconds from its start to its end.
    pub wall: f64,
    /// Core-seconds of everybody it started.
    pub cpu: f64,
    /// Whose count that is: its control group's, or that of all who were reaped.
    pub cpu_by: &'static str,
    /// The most memory seen at one look, in bytes.
    pub peak: Option<u64>,
    /// How many looks saw it.
    pub looks: u64,
    /// The most memory the kernel charged its group with, page cache included, in bytes.
    pub group_peak: Option<u64>,
    /// The most memory the kernel saw any one of its processes hold, shared pages in full, in bytes.
    pub largest: u64,
    /// How many processes were started.
    pub started: Option<u64>,
    /// The most there were at one look.
    pub most_processes: usize,
    /// Bytes read from disk, and made to be written.
    pub disk_read: Option<u64>,
    /// See `disk_read`.
    pub disk_written: Option<u64>,
    /// Files and bytes its folder grew by.
    pub files: Option<i64>,
    /// See `files`.
    pub bytes: Option<i64>,
    /// Whether those two miss what changed in the first moments.
    pub about: bool,
    /// TCP ports it listened on.
    pub ports: Vec<u16>,
    /// Seconds from when it was last asked to end until it had.
    pub stop: Option<f64>,
    /// Who goes on after its end.
    pub left: Vec<Left>,
    /// What held it together: a control group of its own, one below a scope of the user's manager, or its reaper alone.
    pub held_by: &'static str,
    /// Whether its control group is gone.
    pub group_removed: bool,
    /// Why something isn't known, by its name.
    pub absent: Vec<(&'static str, String)>,
}

impl Running {
    /// Starts a command.
    ///
    /// # Errors
    /// [`RunError`], with the exit code a shell would give.
    pub fn start(plan: Plan) -> Result<Running, RunError> {
        let words = words_as_given(&plan.words);
        signals::catch();
        // Without it orphans get away, and are counted as far as they were seen.
        let _ = wait::become_reaper();
        let group = OwnGroup::make_or_ask(&plan.group);
        let looker = Looker::new(group.as_ref().ok().map(OwnGroup::path));
        let rest = looker.as_ref().map(Looker::rest).unwrap_or_default();
        let forks = Forks::listen();
        let folder = Folder::begin(plan.folder, &plan.except);
        let doors = group.as_ref().map(OwnGroup::doors).unwrap_or_default();
        let began = Instant::now();
        let child = spawn(&words, &plan.variables, plan.descriptors, doors).map_err(|error| {
            signals::release();
            if let Ok(group) = &group {
                group.remove();
            }
            RunError::new(plan.words.first().cloned().unwrap_or_default(), &error)
        })?;
        let pid = child.id();
        signals::hand_to(pid.cast_signed());
        if let Ok(forks) = &forks {
            forks.of(pid);
        }
        let start_ticks =
            std::fs::read(format!("/proc/{pid}/stat")).ok().and_then(|stat| Some(parse_stat(&stat)?.start_ticks));
        // One that has ended already was in it, or not: nothing is left to be seen of either.
        let group = match group {
            Ok(group) if start_ticks.is_some() && !group.has(pid) => {
                group.remove();
                Err(Absent::new(lnk_sample::Why::Denied, "control group", "can't be entered"))
            }
            group => group,
        };
        Ok(Running { child, start_ticks, began, group, forks, folder, looking: look(looker), rest })
    }

    /// Who it is.
    pub fn who(&self) -> Who {
        let group = self.group.as_ref().ok();
        Who {
            pid: self.child.id(),
            start: self.start_ticks,
            cgroup: group.and_then(|group| text_of(group.path())),
            group_dirs: group.map(|group| group.dirs().to_vec()).unwrap_or_default(),
        }
    }

    /// When it first came to rest, as soon as that is known.
    pub fn rest(&self) -> Rest {
        self.rest.clone()
    }

    /// Waits until it has ended, and says what it took.
    ///
    /// # Errors
    /// If it can't be waited for.
    pub fn wait(self) -> io::Result<Outcome> {
        let pid = self.child.id();
        let (end, reaped) = wait::until_ended(pid.cast_signed())?;
        signals::allow_writing();
        let wall = reaped.ended_at.saturating_duration_since(self.began);
        let started = self.forks.and_then(Forks::count);
        let (seen, left) = match self.looking.map(|(stop, thread)| {
            drop(stop);
            thread.join()
        }) {
            Ok(Ok(looker)) => looker.end(reaped.left),
            Ok(Err(_)) => (absent_seen("the thread that looked panicked"), Vec::new()),
            Err(absent) => (absent_seen(&absent.to_string()), Vec::new()),
        };
        let mut outcome = outcome_of(end, wall, &reaped, seen, left);
        let stop = reaped.asked_to_end.filter(|stop| *stop <= LONGEST_STOP);
        outcome.stop = stop.map(|stop| stop.as_secs_f64());
        outcome.note_group(self.group);
        outcome.started = outcome.taken("started", started);
        let growth = outcome.taken("files", self.folder.end());
        outcome.files = growth.map(|growth| growth.files);
        outcome.bytes = growth.map(|growth| growth.bytes);
        outcome.about = growth.is_some_and(|growth| growth.about);
        Ok(outcome)
    }
}

fn look(looker: Result<Looker, Absent>) -> Result<(Sender<()>, JoinHandle<Looker>), Absent> {
    let looker = looker?;
    let (stop, stopped) = channel();
    let thread = std::thread::Builder::new().name("lnk-look".into());
    let thread = thread.spawn(move || looker.look_until(&stopped));
    let failed = |error: io::Error| Absent::new(lnk_sample::Why::Invalid, "thread", error.to_string());
    Ok((stop, thread.map_err(failed)?))
}

fn absent_seen(why: &str) -> Seen {
    let absent = Absent::new(lnk_sample::Why::Invalid, "looking", why.to_owned());
    Seen { peak_absent: Some(absent.clone()), ports_absent: Some(absent), ..Seen::default() }
}

fn outcome_of(end: End, wall: Duration, reaped: &Reaped, seen: Seen, left: Vec<Left>) -> Outcome {
    let cpu_usec = left.iter().map(|left| left.cpu_usec).sum::<u64>() + reaped.cpu_usec;
    let add = |sum: DiskBytes, of: DiskBytes| DiskBytes { read: sum.read + of.read, written: sum.written + of.written };
    let disk = left.iter().try_fold(reaped.disk, |sum, left| Some(add(sum, left.disk?)));
    let (code, signal) = match end {
        End::Code(code) => (Some(code), None),
        End::Signal(signal) => (None, Some(signal)),
    };
    let mut outcome = Outcome {
        code,
        signal,
        wall: wall.as_secs_f64(),
        cpu: cpu_usec as f64 / 1e6,
        cpu_by: "processes",
        peak: seen.peak_bytes,
        looks: seen.looks,
        group_peak: None,
        largest: reaped.largest_bytes,
        started: None,
        most_processes: seen.most_processes,
        disk_read: disk.map(|disk| disk.read),
        disk_written: disk.map(|disk| disk.written),
        files: None,
        bytes: None,
        about: false,
        ports: seen.ports.into_iter().collect(),
        stop: None,
        left,
        held_by: "reaper",
        group_removed: true,
        absent: Vec::new(),
    };
    if disk.is_none() {
        outcome.absent.push(("disk", "a process didn't say (/proc/<pid>/io)".to_owned()));
    }
    if let Some(absent) = seen.peak_absent {
        outcome.absent.push(("peak", absent.to_string()));
    } else if outcome.peak.is_none() {
        outcome.absent.push(("peak", "it ended before it could be read".to_owned()));
    }
    if let Some(absent) = seen.ports_absent {
        outcome.absent.push(("ports", absent.to_string()));
    }
    outcome
}

impl Outcome {
    /// Takes a value; the reason it isn't there is kept.
    fn taken<T>(&mut self, name: &'static str, value: Result<T, Absent>) -> Option<T> {
        value.map_err(|absent| self.absent.push((name, absent.to_string()))).ok()
    }

    fn note_group(&mut self, group: Result<OwnGroup, Absent>) {
        let Some(mut group) = self.taken("group", group) else { return };
        self.held_by = if group.is_in_scope() { "scope" } else { "control-group" };
        // Its count has everybody, those nobody waited for among them.
        if let Some(usec) = self.taken("groupCpu", group.group().cpu_usage_usec()) {
            self.cpu = usec as f64 / 1e6;
            self.cpu_by = "control-group";
        }
        self.group_peak = self.taken("groupPeak", group.peak_bytes());
        self.group_removed = group.remove();
    }
}
