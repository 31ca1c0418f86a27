//! The kernel's own files, read as plainly as can be: what the sampler says is compared with them.

use std::fs;
use std::path::Path;

/// What `/proc/<pid>/stat` says after the name.
#[derive(Debug)]
pub struct Stat {
    pub state: String,
    pub parent: u32,
    pub session: u32,
    pub cpu_ticks: u64,
    pub children_cpu_ticks: u64,
    pub start_ticks: u64,
}

pub fn stat(pid: u32) -> Stat {
    let bytes = fs::read(format!("/proc/{pid}/stat")).expect("a live process");
    let name_end = bytes.iter().rposition(|byte| *byte == b')').unwrap();
    let rest = String::from_utf8(bytes[name_end + 2..].to_vec()).unwrap();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5) counts from 1 and the state is its third.
    let number = |field: usize| fields[field - 3].parse::<u64>().unwrap();
    Stat {
        state: fields[0].to_owned(),
        parent: number(4).try_into().unwrap(),
        session: number(6).try_into().unwrap(),
        cpu_ticks: number(14) + number(15),
        children_cpu_ticks: number(16) + number(17),
        start_ticks: number(22),
    }
}

pub fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// One number of a file with a name and a number a line.
pub fn number(pid: u32, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
