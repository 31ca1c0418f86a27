//! Standing around a command as if nobody stood there: its control group, its signals, its end, and what it took.
//!
//! The command is started by the very process that was asked to run it, with that one's standard streams, in its process
//! group and session: a terminal, a pipe and whoever waits see no difference, and no byte passes through. A process may
//! have one run in its life: signals and orphans are a process's, and go to the one command there is.
//!
//! Why not a program of its own between the two: it would be one more thing to ship for each platform, and would change
//! nothing but the memory it holds. Why not Node's `child_process`: it can be nobody's reaper, reaps only children of its
//! own, hears of no child that stops, can't tell a terminal's signal from another program's, and starts a child with what
//! Node made of signals, limits and descriptors.

mod folder;
mod forks;
mod group;
mod look;
mod manager;
mod run;
mod signals;
mod spawn;
mod wait;

pub use group::OwnGroup;
pub use look::{Left, Rest};
pub use run::{Outcome, Plan, Running, Who};
pub use signals::end_as;
pub use spawn::{Variable, inherited};

/// The command could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{program} {why}")]
pub struct RunError {
    program: String,
    why: String,
    /// The exit code a shell would give: 127 if there is no such program, 126 if it can't be run.
    pub code: i32,
}

impl RunError {
    fn new(program: String, error: &std::io::Error) -> RunError {
        // A folder of the PATH that this user may not enter makes the whole search end with that (execvp(3)).
        let searched = !program.contains('/');
        let missing = error.kind() == std::io::ErrorKind::NotFound || (searched && !is_on_path(&program));
        let why = if missing { "was not found".to_owned() } else { format!("can't be run: {error}") };
        RunError { program, why, code: if missing { 127 } else { 126 } }
    }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
