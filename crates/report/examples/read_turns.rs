//! Reads a harness's file to its end, as the watcher does, and prints what it says as one JSON object:
//! `{"turns":[[["link.turns.sum",1]]],"passedOver":0,"notes":[]}`. For tests of what writes such files.
//!
//! `read_turns HOME FILE`: a file below the home, or relative to it.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a program for tests")]

use std::collections::BTreeSet;
use std::path::Path;

use lnk_report::{Place, Positions, Reader};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let place = Place::below(Path::new(&arguments[0]), Path::new(&arguments[1])).unwrap();
    let mut reader = Reader::of_turns(place, &Positions::default());
    let (mut turns, mut passed_over, mut notes) = (Vec::new(), 0, BTreeSet::new());
    let mut before = Positions::default();
    loop {
        // What is read is not said to be kept, so the file is left as it is.
        let read = reader.read();
        for turn in read.turns {
            turns.push(turn.0.iter().map(|(measure, value)| (measure.full_name(), *value)).collect::<Vec<_>>());
        }
        passed_over += read.passed_over;
        notes.extend(read.notes.iter().map(ToString::to_string));
        if read.up_to == before {
            break;
        }
        before = read.up_to;
    }
    println!("{}", serde_json::json!({ "turns": turns, "passedOver": passed_over, "notes": notes }));
}
