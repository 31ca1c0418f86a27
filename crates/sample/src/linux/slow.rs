//! Reads that may block for as long as another process likes: both take its memory map's lock, which it may hold while
//! it is stuck. They are made on a thread of their own, and a look waits for it only so long.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lnk_schema::programs::harness_of_script;
use rustix::time::{ClockId, clock_gettime};

use crate::linux::file::KernelFile;
use crate::parse::cmdline::parse_cmdline;
use crate::parse::rollup::parse_rollup;
use crate::{Absent, Identity};

/// A read to make.
#[derive(Debug)]
pub struct Job {
    /// Of whom.
    pub identity: Identity,
    /// Which.
    pub ask: Ask,
    /// The file, kept open by the caller.
    pub file: Arc<KernelFile>,
}

/// What is asked of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The proportional set size, of `smaps_rollup`.
    Memory,
    /// The harness whose script is run, of `cmdline`.
    Script,
}

/// What came of it. Nothing else of what the files say leaves the thread.
#[derive(Debug)]
pub enum Answer {
    /// Bytes in use.
    Memory(Result<u64, Absent>),
    /// The harness's program.
    Script(Option<&'static str>),
}

/// A read that was made.
#[derive(Debug)]
pub struct Done {
    /// Of whom.
    pub identity: Identity,
    /// What came of it.
    pub answer: Answer,
    /// CPU time it took, in microseconds.
    pub usec: f64,
}

/// How long the thread may be silent with work before it is given up for stuck, and how many may be.
const STUCK_AFTER: Duration = Duration::from_secs(30);
const MOST_STUCK: usize = 3;

/// The thread, and what it has not answered yet.
#[derive(Debug)]
pub struct Slow {
    jobs: Sender<Job>,
    done: Receiver<Done>,
    waiting: usize,
    heard: Instant,
    /// Threads given up: each sits in a read that never came back, and ends when it does.
    stuck: usize,
}

impl Default for Slow {
    fn default() -> Self {
        let (jobs, done) = start();
        Slow { jobs, done, waiting: 0, heard: Instant::now(), stuck: 0 }
    }
}

fn start() -> (Sender<Job>, Receiver<Done>) {
    let (jobs, work) = channel::<Job>();
    let (answers, done) = channel();
    // A thread that can't be started leaves its channel closed: every read then waits for its turn for ever, and says so.
    let _ = std::thread::Builder::new().name("lnk-slow".into()).spawn(move || {
        let mut buffer = Vec::new();
        while let Ok(job) = work.recv() {
            let before = thread_cpu_usec();
            let answer = answer(&job, &mut buffer);
            let usec = thread_cpu_usec() - before;
            if answers.send(Done { identity: job.identity, answer, usec }).is_err() {
                return;
            }
        }
    });
    (jobs, done)
}

fn answer(job: &Job, buffer: &mut Vec<u8>) -> Answer {
    let file = job.file.read(buffer);
    match job.ask {
        Ask::Memory => Answer::Memory(file.and_then(|file| {
            let rollup = parse_rollup(file).ok_or_else(|| Absent::invalid("smaps_rollup", "Pss"))?;
            // Huge pages are in neither Rss nor Pss; those nobody shares are this process's.
            Ok((rollup.pss_kb + rollup.private_hugetlb_kb.unwrap_or(0)) * 1024)
        })),
        Ask::Script => Answer::Script(file.ok().and_then(harness_of_cmdline)),
    }
}

/// The harness that an interpreter's command line runs: `node /usr/bin/gemini`, `python3 -m aider`, `uv run aider`.
fn harness_of_cmdline(file: &[u8]) -> Option<&'static str> {
    let mut module = false;
    for argument in parse_cmdline(file).skip(1) {
        let argument = std::str::from_utf8(argument).ok()?;
        match argument {
            "-m" => module = true,
            "run" | "x" | "tool" if !module => {}
            _ if argument.starts_with('-') => {}
            script => return harness_of_script(script).map(|harness| harness.program),
        }
    }
    None
}

fn thread_cpu_usec() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

impl Slow {
    /// Asks for a read. Its answer comes from a later [`Slow::next`], perhaps at a later look.
    pub fn ask(&mut self, job: Job) {
        if self.waiting > 0 && self.heard.elapsed() > STUCK_AFTER && self.stuck < MOST_STUCK {
            (self.jobs, self.done) = start();
            self.stuck += 1;
            self.waiting = 0;
        }
        if self.waiting == 0 {
            self.heard = Instant::now();
        }
        if self.jobs.send(job).is_ok() {
            self.waiting += 1;
        }
    }

    /// The next answer, waited for until the deadline. `None`: there is none yet, or nothing was asked.
    pub fn next(&mut self, deadline: Instant) -> Option<Done> {
        if self.waiting == 0 {
            return None;
        }
        match self.done.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(done) => {
                self.waiting -= 1;
                self.heard = Instant::now();
                Some(done)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Threads given up for stuck.
    pub fn stuck(&self) -> usize {
        self.stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_is_known_by_the_script_or_module_it_runs() {
        let of = |line: &str| harness_of_cmdline(line.replace(' ', "\0").as_bytes());
        assert_eq!(of("node /usr/bin/gemini --yolo "), Some("gemini"));
        assert_eq!(of("node --max-old-space-size=4096 /usr/bin/claude "), Some("claude"));
        assert_eq!(of("python3 -u -m aider "), Some("aider"));
        assert_eq!(of("uv tool run aider "), Some("aider"));
        assert_eq!(of("node server.js claude "), None);
        assert_eq!(of("python3 -c claude.run() "), None);
        assert_eq!(of("node"), None);
        assert_eq!(harness_of_cmdline(b"node\0/home/\xff\xfe/claude\0"), None);
    }
}
