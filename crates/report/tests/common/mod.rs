//! What the tests share: an agent's home in a folder of its own, a harness's lines, a seeded generator.
#![allow(dead_code, missing_docs, clippy::unwrap_used, reason = "each test file uses its part")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use lnk_report::{Place, Positions, Read, Reader};
use lnk_schema::Measure;
use tempfile::TempDir;

pub const FILE: &str = ".lnk/measures.jsonl";

/// No line was read.
pub const NONE: [u64; 0] = [];

/// An agent's home, gone with the value.
pub struct Home(pub TempDir);

impl Home {
    pub fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".lnk")).unwrap();
        Home(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self) -> PathBuf {
        self.path().join(FILE)
    }

    /// The file's name with an ending.
    pub fn beside(&self, ending: &str) -> PathBuf {
        self.path().join(format!("{FILE}{ending}"))
    }

    pub fn place(&self) -> Place {
        Place::below(self.path(), Path::new(FILE)).unwrap()
    }

    pub fn reader(&self) -> Reader {
        self.reader_from(&Positions::default())
    }

    pub fn reader_from(&self, from: &Positions) -> Reader {
        Reader::of_turns(self.place(), from)
    }

    pub fn append(&self, bytes: impl AsRef<[u8]>) {
        append(&self.file(), bytes);
    }
}

pub fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes.as_ref()).unwrap();
}

/// A harness's line, with its newline: a turn that called `calls` tools, which tells it from every other.
pub fn line(calls: u64) -> String {
    let metric = format!(r#"{{"name":"link.tool_calls.sum","sum":{{"dataPoints":[{{"asInt":"{calls}"}}]}}}}"#);
    of_metrics(&metric)
}

pub fn of_metrics(metrics: &str) -> String {
    format!("{{\"resourceMetrics\":[{{\"scopeMetrics\":[{{\"metrics\":[{metrics}]}}]}}]}}\n")
}

/// A line of [`line`], made `length` bytes long without its newline by text that is to be dropped.
pub fn line_of_length(calls: u64, length: usize) -> String {
    let bare = line(calls);
    let text = "x".repeat(length - (bare.len() - 1) - r#""x":"","#.len());
    bare.replacen('{', &format!(r#"{{"x":"{text}","#), 1)
}

/// Which lines of [`line`] were read.
pub fn calls(read: &Read) -> Vec<u64> {
    let of_turn = |turn: &lnk_report::Turn| match turn.0[..] {
        [(Measure::ToolCalls, calls)] => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "written as a whole number")]
            let calls = calls as u64;
            calls
        }
        _ => panic!("no such line was written: {turn:?}"),
    };
    read.turns.iter().map(of_turn).collect()
}

/// Reads, and says that what was read is kept.
pub fn read_and_keep(reader: &mut Reader) -> Read {
    let read = reader.read();
    reader.kept(&read.up_to);
    read
}

/// Says that something is not tested here. Past what captures a test's output, which shows it only where a test failed.
pub fn not_tested(what: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}");
}

/// xorshift64*: a test that fails says its seed.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }
}
