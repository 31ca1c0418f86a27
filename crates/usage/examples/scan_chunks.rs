//! What scanning the bytes on standard input costs, beside a bare read of them: `scan_chunks PATH CONTENT-TYPE CHUNK-BYTES`.
//! Prints one line of JSON: `read_ns` and `scan_ns`, each the best pass over all of them.
#![allow(clippy::print_stdout, reason = "it prints its result")]

use std::env;
use std::hint::black_box;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use lnk_usage::{Answer, MAX_EVENT_BYTES, UsageScanner};

/// As long as anything may be noisy.
const WORK: Duration = Duration::from_millis(300);

fn bare_read(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(u64::from(byte)))
}

fn best(mut work: impl FnMut()) -> u128 {
    let mut best = Duration::MAX;
    let began = Instant::now();
    while began.elapsed() < WORK {
        let start = Instant::now();
        // Several times, or the clock is most of what is measured.
        (0..16).for_each(|_| work());
        best = best.min(start.elapsed() / 16);
    }
    best.as_nanos()
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, content_type, chunk_bytes] = arguments.as_slice() else {
        return Err(io::Error::other("usage: scan_chunks PATH CONTENT-TYPE CHUNK-BYTES"));
    };
    let chunk_bytes: usize = chunk_bytes.parse().map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let read = best(|| {
        for chunk in bytes.chunks(chunk_bytes) {
            black_box(bare_read(black_box(chunk)));
        }
    });
    let scan = best(|| {
        let mut scanner = UsageScanner::new(&Answer {
            method: "POST",
            path,
            status: 200,
            content_type: Some(content_type),
            content_encoding: None,
            max_event_bytes: 8 * MAX_EVENT_BYTES,
        });
        for chunk in bytes.chunks(chunk_bytes) {
            scanner.push(black_box(chunk));
        }
        black_box(scanner.end());
    });
    println!("{{\"read_ns\":{read},\"scan_ns\":{scan}}}");
    Ok(())
}
