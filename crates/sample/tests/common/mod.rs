//! What tests on real processes share: the zoo, and waiting.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

pub mod kernel;
pub mod looking;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A real situation of processes, there as long as this value is. `examples/zoo/main.rs` lists them.
pub struct Zoo {
    program: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What the zoo told before it was ready: a line each.
    pub members: Vec<Value>,
}

impl Zoo {
    /// Makes a situation and waits until it is there.
    pub fn open<A: AsRef<OsStr>>(situation: &[A]) -> Zoo {
        Zoo::start(Command::new(Zoo::path()).args(situation))
    }

    /// Starts a command that runs the zoo, for one that sets it somewhere first.
    pub fn start(command: &mut Command) -> Zoo {
        let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the zoo starts");
        let input = program.stdin.take();
        let output = BufReader::new(program.stdout.take().unwrap());
        let mut zoo = Zoo { program, input, output, members: Vec::new() };
        zoo.members = zoo.lines_until("ready");
        zoo.members.pop();
        zoo
    }

    /// Where the zoo is: beside the tests, since a whole `cargo test` builds the examples, or where `LNK_TEST_ZOO` says.
    pub fn path() -> PathBuf {
        let path = std::env::var_os("LNK_TEST_ZOO").map_or_else(
            || std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/zoo"),
            PathBuf::from,
        );
        assert!(path.exists(), "{} is missing: cargo build -p lnk-sample --example zoo", path.display());
        path
    }

    /// The zoo's own pid: every member descends from it, or did.
    pub fn pid(&self) -> u32 {
        self.program.id()
    }

    /// The pids of the members with a role, in the order they came.
    pub fn pids(&self, role: &str) -> Vec<u32> {
        pids(&self.members, role)
    }

    /// The pid of the one member with a role.
    pub fn member(&self, role: &str) -> u32 {
        let pids = self.pids(role);
        assert_eq!(pids.len(), 1, "members with role {role}: {:?}", self.members);
        pids[0]
    }

    /// Gives a command. Returns the lines it made, the one with `done` last.
    pub fn command(&mut self, word: &str) -> Vec<Value> {
        writeln!(self.input.as_mut().unwrap(), "{word}").expect("the zoo reads");
        self.lines_until("done")
    }

    /// Ends the zoo as a crash would.
    pub fn kill(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }

    fn lines_until(&mut self, last: &str) -> Vec<Value> {
        let mut lines = Vec::<Value>::new();
        while lines.last().is_none_or(|line| line.get(last).is_none()) {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("the zoo's output");
            assert!(read > 0, "the zoo ended before it was {last}: {lines:?}");
            lines.push(serde_json::from_str(&line).expect("the zoo's JSON"));
        }
        lines
    }
}

impl Drop for Zoo {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.program.wait();
    }
}

/// The pids in the lines with a role.
pub fn pids(lines: &[Value], role: &str) -> Vec<u32> {
    let of_role = lines.iter().filter(|line| line["role"] == role);
    of_role.map(|line| u32::try_from(line["pid"].as_u64().unwrap()).unwrap()).collect()
}

/// Waits until something is so, ten seconds at most.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
