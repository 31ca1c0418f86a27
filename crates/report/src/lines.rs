//! Reading on in a file of lines: from where the last look left off, never more than a budget, never a line too long.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::UNIX_EPOCH;

use rustix::fs::{SeekFrom, seek};

/// The longest line that is read, in bytes without its newline.
pub(crate) const LONGEST_LINE: usize = 64 << 10;
/// The most that is read of an agent's files in a look, in bytes.
pub(crate) const MOST_A_LOOK: u64 = 4 << 20;
/// What is read at once: more than one line of the longest, so that every read ends a line or finds one too long.
const PIECE: usize = 128 << 10;
/// How many bytes before a place are remembered, as a hash, to know the place again.
const MARKED: usize = 256;

/// Which file it is. The birth time tells a file from a later one that got its inode's number again; zero where the
/// file system keeps none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub device: u64,
    pub inode: u64,
    pub born_ns: u64,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Identity {
        let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born_ns = born.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        Identity { device: metadata.dev(), inode: metadata.ino(), born_ns }
    }
}

/// How far a file has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes from the beginning: the end of a whole line, or within one that is too long.
    pub offset: u64,
    /// A hash of the [`MARKED`] bytes before the offset: a file that was cut and has grown past it again has others.
    pub mark: u64,
    /// The offset is within a line that is too long; it is stepped over to its end.
    pub skipping: bool,
}

impl Progress {
    /// The beginning of a file.
    pub(crate) const START: Progress = Progress { offset: 0, mark: EMPTY_HASH, skipping: false };
}

/// What a look came upon beside lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Lines that were too long.
    pub long: u64,
    /// The file's size when all whole lines up to there had been read; `None` where the budget ended first.
    pub to_end_at: Option<u64>,
}

/// Whether a file still holds what was before the place it was read to.
///
/// # Errors
/// What the system says on reading.
pub(crate) fn is_still(file: &File, size: u64, progress: Progress) -> io::Result<bool> {
    Ok(size >= progress.offset && mark_at(file, progress.offset)? == progress.mark)
}

/// Reads whole lines from `progress` on, which it moves, calling with each without its newline. What it reads is taken
/// off `budget`.
///
/// # Errors
/// What the system says on reading; lines before that have been given and `progress` is behind them.
pub(crate) fn read_on(
    file: &File,
    progress: &mut Progress,
    budget: &mut u64,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<Passed> {
    let (mut passed, mut at) = (Passed::default(), *progress);
    buffer.resize(PIECE, 0);
    let mut read = || -> io::Result<()> {
        loop {
            let most = usize::try_from(*budget).unwrap_or(PIECE).min(PIECE);
            let Some(piece) = buffer.get_mut(..most).filter(|piece| !piece.is_empty()) else { return Ok(()) };
            let got = read_at(file, piece, at.offset)?;
            *budget -= got as u64;
            let bytes = piece.get(..got).unwrap_or_default();
            let used = take_lines(bytes, &mut at.skipping, &mut passed.long, each);
            at.offset += used as u64;
            if got < most {
                passed.to_end_at = Some(at.offset + (got - used) as u64);
                return Ok(());
            }
            if used == 0 {
                return Ok(());
            }
            if bytes.last() == Some(&0) {
                at.offset = after_hole(file, at.offset)?;
            }
        }
    };
    let ended = read();
    if at != *progress {
        at.mark = mark_at(file, at.offset)?;
        *progress = at;
    }
    ended.map(|()| passed)
}

/// Calls with each whole line and says how many bytes were used up: all but the beginning of a last line.
///
/// NULs before a line are what a file system leaves after a power cut, or a writer without `O_APPEND` after a file
/// was cut: they are no part of the line.
fn take_lines(bytes: &[u8], skipping: &mut bool, long: &mut u64, each: &mut dyn FnMut(&[u8])) -> usize {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if !*skipping {
            let nuls = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
            if nuls > 0 {
                at += nuls;
                continue;
            }
        }
        let end = memchr::memchr(b'\n', rest);
        match end {
            Some(end) if *skipping => (*skipping, at) = (false, at + end + 1),
            None if *skipping => at = bytes.len(),
            Some(end) => {
                match rest.get(..end).filter(|line| line.len() <= LONGEST_LINE) {
                    Some(line) => each(line),
                    None => *long += 1,
                }
                at += end + 1;
            }
            None if rest.len() > LONGEST_LINE => {
                (*skipping, at) = (true, bytes.len());
                *long += 1;
            }
            None => break,
        }
    }
    at
}

/// Where data goes on after a hole at `offset`, so that a terabyte of nothing costs one call; `offset` where no hole
/// is, or the file system doesn't say.
fn after_hole(file: &File, offset: u64) -> io::Result<u64> {
    // Before asking: what is appended meanwhile is behind this size.
    let size = file.metadata()?.len();
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Ok(data.max(offset)),
        Err(rustix::io::Errno::NXIO) => Ok(size.max(offset)),
        Err(_) => Ok(offset),
    }
}

fn read_at(file: &File, mut into: &mut [u8], mut offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while !into.is_empty() {
        match file.read_at(into, offset) {
            Ok(0) => break,
            Ok(read) => {
                into = into.get_mut(read..).unwrap_or_default();
                (got, offset) = (got + read, offset + read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// FNV-1a's offset basis: the hash of no bytes.
const EMPTY_HASH: u64 = 0xcbf2_9ce4_8422_2325;

fn mark_at(file: &File, offset: u64) -> io::Result<u64> {
    let mut bytes = [0; MARKED];
    let length = usize::try_from(offset).unwrap_or(MARKED).min(MARKED);
    let before = bytes.get_mut(..length).unwrap_or_default();
    let got = read_at(file, before, offset - length as u64)?;
    let read = before.get(..got).unwrap_or_default();
    Ok(read.iter().fold(EMPTY_HASH, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that comes in two pieces, as a file cut there does.
    fn in_two(text: &[u8], cut: usize) -> (Vec<Vec<u8>>, u64) {
        let (mut lines, mut skipping, mut long) = (Vec::new(), false, 0);
        let used = take_lines(&text[..cut], &mut skipping, &mut long, &mut |line| lines.push(line.to_vec()));
        take_lines(&text[used..], &mut skipping, &mut long, &mut |line| lines.push(line.to_vec()));
        (lines, long)
    }

    #[test]
    fn lines_are_the_same_wherever_the_bytes_are_cut() {
        let text = b"one\n\0\0two\n\nthree\n\0\n\0";
        let expected: Vec<Vec<u8>> = [&b"one"[..], b"two", b"", b"three", b""].map(<[u8]>::to_vec).to_vec();
        for cut in 0..=text.len() {
            assert_eq!(in_two(text, cut), (expected.clone(), 0), "cut at {cut}");
        }
    }

    #[test]
    fn a_line_of_the_longest_is_read_and_one_longer_is_not() {
        for (length, read) in [(LONGEST_LINE - 1, true), (LONGEST_LINE, true), (LONGEST_LINE + 1, false)] {
            let text = [&vec![b'x'; length][..], b"\nafter\n"].concat();
            for cut in [0, 1, length - 1, length, length + 1, text.len()] {
                let (lines, long) = in_two(&text, cut);
                assert_eq!((lines.len(), long), if read { (2, 0) } else { (1, 1) }, "{length} cut at {cut}");
                assert_eq!(lines.last().unwrap(), b"after");
            }
        }
    }
}
